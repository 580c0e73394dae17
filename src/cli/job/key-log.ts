import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { ProgramOutput } from '../../instance/program-output.ts';
import { sleep, systemClock } from '../../lib/clock.ts';
import { MarketplaceError } from '../../market/errors.ts';
import { markOf, textAfter } from '../../reach/log-lines.ts';
import type { CommandContext, CommandInput } from '../command.ts';
import { keptLog } from '../logs/kept-log.ts';
import { logPoll, type ReadLog } from '../logs/log-poll.ts';
import { readLog } from '../logs/machine-log.ts';
import type { FollowLog, LogFollower } from '../logs/run-log.ts';
import { accountOf } from '../objects/cluster-objects.ts';
import { accountTarget } from '../sessions/account-access.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import { type SessionTarget, withMarketplaceAt } from '../sessions/marketplace-session.ts';
import { resultOf } from './run-result.ts';

const READ_EVERY_MS = 5_000;
/** Interval after a read that failed. */
const RETRY_MS = 10_000;
const TAIL_LINES = 2_000;
/** Maximum characters of the output that are kept to find the place of the stored log in it. */
const MAX_SHOWN = 524_288;

/** Reader of logs with the marketplace key of the caller or of the account. */
export interface KeyLogReader {
  readonly cluster: ClusterSession;
  readonly input: CommandInput;
  readonly context: CommandContext;
  /** Writes text of the program, unchanged. */
  readonly write: (text: string) => void;
  /** Prints a line for people. */
  readonly print: (line: string) => void;
}

/**
 * Returns a follower that reads the log of the machine every 5 s with the marketplace key. After the end of a program it
 * adds the rest from the Secret that the operator keeps, because the machine is gone by then.
 */
export function keyLog(reader: KeyLogReader): FollowLog {
  return (name, signal) => new KeyLog(reader, name, signal);
}

class KeyLog implements LogFollower {
  /** The operator is not asked for this log. */
  readonly silentSince = undefined;
  readonly #reader: KeyLogReader;
  readonly #name: string;
  readonly #stop = new AbortController();
  #output = new ProgramOutput();
  readonly #poll: () => Promise<void>;
  readonly #ended: Promise<void>;
  /** Latest rental whose stored log is complete here; undefined before the first look at the object. */
  #storedAttempt: number | undefined;
  #target: { readonly id: string; readonly session: SessionTarget } | undefined;
  #shown = '';
  #isWhole = true;
  #printed = '';

  constructor(reader: KeyLogReader, name: string, signal: AbortSignal) {
    this.#reader = reader;
    this.#name = name;
    signal.addEventListener('abort', () => this.#stop.abort(signal.reason), { once: true });
    this.#poll = inTurn(
      logPoll({
        read: () => this.#read(),
        // The log of each machine has its own nonce.
        first: (text) => {
          this.#output = new ProgramOutput();
          return text;
        },
        write: (text) => this.#write(this.#output.take(text)),
        print: (line) => this.#note(line),
      }),
    );
    // An abort is the only rejection.
    this.#ended = this.#run().catch(() => {});
  }

  async finish(limitMs: number): Promise<boolean> {
    const late = new AbortController();
    await Promise.race([this.#rest(), sleep(systemClock, limitMs, late.signal).catch(() => {})]);
    late.abort();
    this.#stop.abort();
    await this.#ended;
    return this.#isWhole;
  }

  async #run(): Promise<void> {
    for (;;) {
      const isRead = await this.#poll().then(
        () => true,
        (error: unknown) => this.#failed(error),
      );
      await sleep(systemClock, isRead ? READ_EVERY_MS : RETRY_MS, this.#stop.signal);
    }
  }

  #failed(error: unknown): false {
    this.#stop.signal.throwIfAborted();
    this.#note(`No log: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }

  /** Reads the log of the machine once it has run, and before it is gone. */
  async #read(): Promise<ReadLog | undefined> {
    const { cluster, input, context } = this.#reader;
    const object = await this.#object();
    if (object === undefined) return undefined;
    const { instanceId: id, runningAt, attempt } = object.status ?? {};
    const settled = settledAttempt(object);
    // Programs that ended before are not followed.
    if (resultOf(object) === undefined) this.#storedAttempt ??= settled ?? 0;
    if (settled !== undefined && settled !== this.#storedAttempt) await this.#addStored(object);
    if (id === undefined || runningAt === undefined || settled === attempt) return undefined;
    if (this.#target?.id !== id) {
      const account = await accountOf(cluster, object);
      this.#target = { id, session: await accountTarget(cluster, account, { input, context }) };
    }
    const stoppable = { ...context, signal: this.#stop.signal };
    const asked = { input, context: stoppable };
    try {
      const text = await withMarketplaceAt(this.#target.session, asked, (session) =>
        readLog(session, { id, query: { tailLines: TAIL_LINES } }, stoppable),
      );
      return { id, text };
    } catch (error) {
      if (error instanceof MarketplaceError && error.kind === 'notFound') return undefined;
      throw error;
    }
  }

  #object(): Promise<GpuInstance | undefined> {
    const { kube, namespace } = this.#reader.cluster;
    return kube.get<GpuInstance>(gpuInstanceResource, { namespace, name: this.#name });
  }

  /** Writes what is missing at the end of the run. */
  async #rest(): Promise<void> {
    await this.#poll().catch(() => {});
    const object = await this.#object().catch(() => undefined);
    if (object === undefined || settledAttempt(object) !== this.#storedAttempt)
      this.#isWhole = this.#output.hasEnded;
    this.#write(this.#output.end());
  }

  /** Writes what is missing of the log of a program that has ended: its machine may be gone. */
  async #addStored(object: GpuInstance): Promise<void> {
    const stored = await this.#stored(object).catch(() => undefined);
    if (stored === undefined) return;
    const { added, isCut } = textAfter(markOf(this.#shown), stored.text);
    this.#isWhole = !stored.isTruncated || !isCut;
    this.#write(added);
    this.#storedAttempt = settledAttempt(object);
    this.#shown = '';
    this.#output = new ProgramOutput();
  }

  async #stored(
    object: GpuInstance,
  ): Promise<{ readonly text: string; readonly isTruncated: boolean } | undefined> {
    const { log } = object.status?.run ?? {};
    const text = log && (await keptLog(this.#reader.cluster, this.#name));
    return text === undefined ? undefined : { text, isTruncated: log?.truncated ?? false };
  }

  #write(text: string): void {
    // A reply after the time limit of finish is too late.
    if (text === '' || this.#stop.signal.aborted) return;
    this.#shown = (this.#shown + text).slice(-MAX_SHOWN);
    this.#reader.write(text);
  }

  /** Prints a line unless it was the last one. */
  #note(line: string): void {
    if (line === this.#printed) return;
    this.#printed = line;
    this.#reader.print(line);
  }
}

/** Returns a function whose calls do not overlap: two reads at once would both write the same text. */
function inTurn(call: () => Promise<void>): () => Promise<void> {
  let last = Promise.resolve();
  return () => {
    const next = last.then(call);
    last = next.catch(() => {});
    return next;
  };
}

/** Reasons after which the stored log is that of the latest machine. */
const EXITED: readonly string[] = ['Completed', 'BackoffLimit', 'RunFailed'];

/** Returns the rental whose program ended last, with an exit code. */
function settledAttempt({ status }: GpuInstance): number | undefined {
  const { settled } = status?.run ?? {};
  return settled !== undefined && EXITED.includes(settled.reason) ? settled.attempt : undefined;
}
