import { type Clock, sleep } from '../../lib/clock.ts';
import { DeadlineError, watchSilence } from '../../lib/deadline.ts';
import type { TransportResponse } from '../../lib/transport.ts';
import { LOG_EVENTS_TYPE, LOG_PATH, type LogEvent, parseLogEvent } from '../../reach/log-stream.ts';
import { splitLines } from '../../runtime/kube/json-stream.ts';

/** A log that is being read. */
export interface LogFollower {
  /** Monotonic milliseconds since which the operator has not answered; undefined while it answers. */
  readonly silentSince: number | undefined;
  /** Reads the rest after the end of the run, for at most this time, and stops. Resolves to false if text may be missing. */
  finish(limitMs: number): Promise<boolean>;
}

/** Begins to copy the log of a GpuInstance to stdout. The signal stops it at once. */
export type FollowLog = (name: string, signal: AbortSignal) => LogFollower;

export interface LogReader {
  /** Sends a GET for a path of the operator; rejects if it does not answer. */
  readonly open: (
    path: string,
    options: { readonly accept: string; readonly signal: AbortSignal },
  ) => Promise<TransportResponse>;
  readonly clock: Clock;
  readonly namespace: string;
  /** Position of the text that the caller has; without it the whole text that is there is written. */
  readonly since?: string | undefined;
  /** Writes text of the program, unchanged. */
  readonly write: (text: string) => void;
  /** Called before the first text of another machine. */
  readonly replaced?: (() => void) | undefined;
  /** Prints a line for people. */
  readonly print: (line: string) => void;
}

const RETRY_MS = 2_000;
/** Retry interval after a refusal that only a person ends. */
const REFUSED_RETRY_MS = 30_000;
/** Silence after which a connection counts as dead. Reading again from the last position repeats nothing. */
const MAX_SILENCE_MS = 180_000;
const MAX_MESSAGE_BYTES = 1024;
const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Follows nothing: the operator has no address for logs. */
export const noLog: FollowLog = () => ({ silentSince: undefined, finish: async () => false });

/**
 * Returns a follower of the operator's log stream. After a broken stream it continues from the position of the last text
 * that it wrote, so that no line is lost or doubled.
 */
export function logFollower(reader: LogReader): FollowLog {
  return (name, signal) => new StreamFollower(reader, name, signal);
}

/** Reaction to the end of one stream. */
type Next = { readonly type: 'done' } | { readonly type: 'again'; readonly afterMs: number };

const DONE: Next = { type: 'done' };
const AGAIN: Next = { type: 'again', afterMs: RETRY_MS };

class StreamFollower implements LogFollower {
  silentSince: number | undefined;
  readonly #reader: LogReader;
  readonly #path: string;
  readonly #ended: Promise<void>;
  readonly #stop = new AbortController();
  #position: string | undefined;
  /** Text after the position: it is written with the next one, and read again if the stream breaks off before. */
  #pending = '';
  #printed: string | undefined;
  #isComplete = false;

  constructor(reader: LogReader, name: string, signal: AbortSignal) {
    this.#reader = reader;
    this.#position = reader.since;
    this.#path = `${LOG_PATH}/${reader.namespace}/${name}`;
    signal.addEventListener('abort', () => this.#stop.abort(signal.reason), { once: true });
    // An abort is the only rejection.
    this.#ended = this.#run().catch(() => {});
  }

  async finish(limitMs: number): Promise<boolean> {
    const limit = new AbortController();
    const isLate = sleep(this.#reader.clock, limitMs, limit.signal).then(
      () => true,
      () => false,
    );
    const isWhole = !(await Promise.race([this.#ended.then(() => false), isLate]));
    limit.abort();
    this.#stop.abort();
    await this.#ended;
    return isWhole && this.#isComplete;
  }

  async #run(): Promise<void> {
    const { clock } = this.#reader;
    for (;;) {
      const next = await this.#followOnce().catch((error: unknown) => this.#broken(error));
      if (next.type === 'done') return;
      await sleep(clock, next.afterMs, this.#stop.signal);
    }
  }

  #broken(error: unknown): Next {
    this.#stop.signal.throwIfAborted();
    this.silentSince ??= this.#reader.clock.monotonic();
    this.#print(`The log is interrupted: ${error instanceof Error ? error.message : String(error)}`);
    return AGAIN;
  }

  async #followOnce(): Promise<Next> {
    const scope = new AbortController();
    const signal = AbortSignal.any([scope.signal, this.#stop.signal]);
    const silence = watchSilence(this.#reader.clock, MAX_SILENCE_MS, () =>
      scope.abort(new DeadlineError(`no answer for ${MAX_SILENCE_MS / 1000} s`)),
    );
    this.#pending = '';
    const since = this.#position === undefined ? '' : `&since=${encodeURIComponent(this.#position)}`;
    try {
      const reply = await this.#reader.open(`${this.#path}?follow=true${since}`, {
        accept: LOG_EVENTS_TYPE,
        signal,
      });
      try {
        if (reply.status !== 200) return await this.#refused(reply);
        this.silentSince = undefined;
        return await this.#read(received(reply.body, () => silence.broken()));
      } finally {
        reply.destroy();
      }
    } finally {
      silence.end();
    }
  }

  async #read(body: AsyncIterable<Buffer>): Promise<Next> {
    let isLog = false;
    for await (const line of splitLines(body, MAX_LINE_BYTES)) {
      const event = parseLogEvent(line);
      if (event === undefined) continue;
      isLog = true;
      const next = this.#take(event);
      if (next) return next;
    }
    if (isLog) return { type: 'again', afterMs: 0 };
    // Another server, or a proxy: without a pause this would ask without end.
    this.#print('The log is interrupted: the reply of --log-url is no log.');
    return AGAIN;
  }

  #take(event: LogEvent): Next | undefined {
    if (event.type === 'text') {
      this.#printed = undefined;
      this.#pending += event.text;
      if (event.position !== undefined) this.#flush(event.position);
      return undefined;
    }
    this.#print(event.message);
    if (event.reason === 'Replaced') this.#reader.replaced?.();
    if (event.type === 'note') return undefined;
    this.#isComplete = event.reason === 'Complete';
    if (this.#isComplete || event.reason === 'Deleted') {
      this.#flush(this.#position);
      return DONE;
    }
    return event.reason === 'Forbidden' ? { type: 'again', afterMs: REFUSED_RETRY_MS } : AGAIN;
  }

  #flush(position: string | undefined): void {
    if (this.#pending !== '') this.#reader.write(this.#pending);
    this.#pending = '';
    this.#position = position;
  }

  async #refused({ status, body }: TransportResponse): Promise<Next> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= MAX_MESSAGE_BYTES) break;
    }
    const text = Buffer.concat(chunks).subarray(0, MAX_MESSAGE_BYTES).toString('utf8').trim();
    if (status >= 500 && status !== 501) this.silentSince ??= this.#reader.clock.monotonic();
    else this.silentSince = undefined;
    this.#print(`No log: ${text === '' ? `HTTP ${status}` : text}`);
    // The marketplace has no log of containers, or the run has finished and its machine is gone.
    if (status === 501 || status === 410) return DONE;
    return status === 401 || status === 403 ? { type: 'again', afterMs: REFUSED_RETRY_MS } : AGAIN;
  }

  /** Prints a line unless it was the last one. */
  #print(line: string): void {
    if (line === this.#printed) return;
    this.#printed = line;
    this.#reader.print(line);
  }
}

async function* received(body: AsyncIterable<Uint8Array>, onChunk: () => void): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    onChunk();
    yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
  }
}
