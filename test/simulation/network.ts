import type { Random } from '../../src/lib/random.ts';
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from '../../src/lib/transport.ts';
import type { Machine } from './machine.ts';
import type { Scheduler } from './scheduler.ts';

/** Annotation of the bookmark after the initial state of a watch. */
const END_OF_INITIAL_STATE = 'k8s.io/initial-events-end';

/** Fate of one call. Delays are milliseconds per leg. */
export interface Fate {
  readonly requestMs: number;
  readonly responseMs: number;
  /** The request never arrives; its caller sees a broken connection. */
  readonly loseRequest?: boolean;
  /** The server acts, but its answer never arrives. */
  readonly loseResponse?: boolean;
  /** The server acts a second time, that much later, unless it refused. */
  readonly duplicateAfterMs?: number;
  /** The caller's connection breaks at once, the server acts that much later. */
  readonly lateMs?: number;
  /** The process dies at that point. */
  readonly crash?: 'before' | 'after';
  /** Answered in the server's place, without any effect. */
  readonly refusal?: {
    readonly status: number;
    readonly body: string;
    readonly headers?: Record<string, string>;
  };
  /** The answer's `Date` is that far from the time of the service. */
  readonly dateOffMs?: number;
  /** The answer says that a cache has held it for so long. */
  readonly ageSeconds?: number;
  /** Bytes of a stream reach the reader that much later each time. */
  readonly chunkDelayMs?: () => number;
  /** The stream is cut after so many chunks. */
  readonly cutAfterChunks?: number;
  /** Chunks that are dropped without a trace. */
  readonly dropChunk?: (isInitial: boolean) => boolean;
}

export interface NetworkOptions {
  readonly scheduler: Scheduler;
  readonly machine: Machine;
  readonly random: Random;
  readonly server: Transport;
  /** Decides each call's fate. */
  readonly fate: (request: TransportRequest) => Fate;
  readonly onCrash: (machine: Machine) => void;
  /**
   * Returns a listener that receives the complete response after its caller has read it; undefined for other
   * requests.
   */
  readonly listenerOf?: (request: TransportRequest) => ((body: string) => void) | undefined;
}

/** Returns a transport to a server for one process: two legs that take time and may fail, and a crash at either end. */
export function networkTo(options: NetworkOptions): Transport {
  const { machine } = options;
  return (request) =>
    new Promise<TransportResponse>((resolve, reject) => {
      if (!machine.alive) return;
      const fate = options.fate(request);
      if (fate.crash === 'before') return options.onCrash(machine);
      const call = new OneCall(options, request, fate);
      call.begin(resolve, reject);
    });
}

const broken = (sent: boolean): TransportError =>
  new TransportError(sent ? 'the connection was reset' : 'the connection was refused', { sent });

class OneCall {
  readonly #options: NetworkOptions;
  readonly #request: TransportRequest;
  readonly #fate: Fate;
  readonly #isStream: boolean;

  constructor(options: NetworkOptions, request: TransportRequest, fate: Fate) {
    this.#options = options;
    this.#request = request;
    this.#fate = fate;
    this.#isStream = request.path.includes('watch=true');
  }

  begin(resolve: (response: TransportResponse) => void, reject: (error: unknown) => void): void {
    const { scheduler, machine, server } = this.#options;
    const { signal } = this.#request;
    const fate = this.#fate;
    const fail = (error: unknown) => machine.deliver(() => reject(error));
    if (signal?.aborted) {
      fail(signal.reason);
      return;
    }
    signal?.addEventListener('abort', () => fail(signal.reason), { once: true });
    if (fate.loseRequest) {
      scheduler.after(fate.requestMs, () => fail(broken(true)));
      return;
    }
    if (fate.lateMs !== undefined) scheduler.after(fate.requestMs, () => fail(broken(true)));
    scheduler.after(fate.lateMs ?? fate.requestMs, () => {
      void this.#arrive(server).then((response) => {
        this.#repeat(response.status);
        this.#answer(this.#dated(response), resolve, fail);
      }, fail);
    });
  }

  #dated(response: TransportResponse): TransportResponse {
    const { dateOffMs, ageSeconds } = this.#fate;
    if (dateOffMs === undefined && ageSeconds === undefined) return response;
    const date = new Date(this.#options.scheduler.now + (dateOffMs ?? 0)).toUTCString();
    const age = ageSeconds === undefined ? {} : { age: String(ageSeconds) };
    return { ...response, headers: { ...response.headers, date, ...age } };
  }

  /**
   * Repeats the call, as a proxy does without a successful response; a refusal counts as a response and ends the
   * retries.
   */
  #repeat(status: number): void {
    const { scheduler, server } = this.#options;
    const { duplicateAfterMs } = this.#fate;
    const isRefusal = status >= 400 && status < 500;
    if (duplicateAfterMs === undefined || isRefusal) return;
    scheduler.after(duplicateAfterMs, () => void this.#arrive(server).then(drop, () => {}));
  }

  #arrive(server: Transport): Promise<TransportResponse> {
    const { refusal } = this.#fate;
    if (refusal) return Promise.resolve(textResponse(refusal));
    if (this.#isStream) return server(this.#request);
    // A server that has got a request carries it out, also when its caller has given up; only streams end.
    const { signal: _signal, ...request } = this.#request;
    return server(request);
  }

  #answer(
    response: TransportResponse,
    resolve: (response: TransportResponse) => void,
    fail: (error: unknown) => void,
  ): void {
    const { scheduler, machine, onCrash } = this.#options;
    const fate = this.#fate;
    if (fate.crash === 'after') {
      response.destroy();
      onCrash(machine);
      return;
    }
    if (fate.lateMs !== undefined) {
      response.destroy();
      return;
    }
    scheduler.after(fate.responseMs, () => {
      if (fate.loseResponse) {
        response.destroy();
        fail(broken(true));
        return;
      }
      const delivered = this.#isStream
        ? { ...response, body: this.#legs(response) }
        : this.#overheard(response);
      machine.deliver(() => resolve(delivered));
    });
  }

  #overheard(response: TransportResponse): TransportResponse {
    const listener = this.#options.listenerOf?.(this.#request);
    return listener && response.status === 200
      ? { ...response, body: copiedTo(listener, response.body) }
      : response;
  }

  /** Yields the body as this process reads it: chunks may be late, lost or cut, and none arrives once it is dead. */
  async *#legs(response: TransportResponse): AsyncGenerator<Uint8Array> {
    const { scheduler, machine } = this.#options;
    const { chunkDelayMs, cutAfterChunks, dropChunk } = this.#fate;
    let chunks = 0;
    let isInitial = this.#request.path.includes('sendInitialEvents=true');
    for await (const chunk of response.body) {
      if (cutAfterChunks !== undefined && chunks >= cutAfterChunks) {
        response.destroy();
        throw broken(true);
      }
      chunks += 1;
      if (chunkDelayMs) await scheduler.pause(chunkDelayMs());
      const isLost = dropChunk?.(isInitial);
      isInitial &&= !Buffer.from(chunk).includes(END_OF_INITIAL_STATE);
      if (isLost) continue;
      await new Promise<void>((resolve) => machine.deliver(resolve));
      yield chunk;
    }
  }
}

async function* copiedTo(
  listener: (body: string) => void,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) {
    chunks.push(chunk);
    yield chunk;
  }
  listener(Buffer.concat(chunks).toString('utf8'));
}

function drop(response: TransportResponse): void {
  response.destroy();
}

function textResponse(refusal: NonNullable<Fate['refusal']>): TransportResponse {
  return {
    status: refusal.status,
    headers: { 'content-type': 'application/json', ...refusal.headers },
    body: (async function* () {
      yield Buffer.from(refusal.body);
    })(),
    destroy() {},
  };
}
