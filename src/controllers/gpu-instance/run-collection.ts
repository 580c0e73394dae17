import { gunzipSync, gzipSync } from 'node:zlib';
import { type GpuInstance, MAX_RUN_MESSAGE } from '../../api/v1alpha1/gpu-instance.ts';
import { LOG_KEY, LOG_SECRET_TYPE, logSecretName } from '../../api/v1alpha1/names.ts';
import { CUT_LOG_BYTES, logsToCut } from '../../instance/kept-logs.ts';
import { isAtRest, isUp, recordedState } from '../../instance/machine-state.ts';
import { isRun, type RunStatus, settledReason } from '../../instance/run.ts';
import { outputInLog, resultInFiles, resultInLog } from '../../instance/run-result.ts';
import { LIST_COMMAND } from '../../instance/self-end.ts';
import { inBackground } from '../../lib/background.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { parseQuantity } from '../../lib/quantity.ts';
import { lastBytes, lastCharacters } from '../../lib/text.ts';
import { MarketplaceError } from '../../market/errors.ts';
import type { Market } from '../../market/market.ts';
import type { Identity } from '../../ownership/identity.ts';
import { runNonces } from '../../ownership/run-nonce.ts';
import { secretResource } from '../../runtime/kube/core-resources.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { type KubeObject, objectKey, uidOf } from '../../runtime/kube/kube-object.ts';
import { writeChild } from './child-writes.ts';
import { isOwnedBy, logSecret } from './children.ts';
import type { RunResultView } from './types.ts';

/** Lines of the log that are read. */
const TAIL_LINES = 2_000;
/** Number of reads of the log, and of the files, in one round. */
const TRIES = 3;
/** Time from one read to the next in a round. */
const RETRY_MS = 20_000;
/** Time from a round that found nothing to the next. */
const ROUND_MS = 60_000;
/** Interval of the reads of the files of a running machine, whose stop may have been refused. */
const WATCH_MS = 600_000;
/** Maximum number of older logs that are cut after a new one. */
const MAX_CUTS = 10;
/** Maximum size of an unpacked log: twice that of `completion.logBytes`. */
const MAX_LOG_BYTES = 524_288;
/** Delay while the account has no session. */
const NO_SESSION_MS = 10_000;

type ReadMarket = Pick<Market, 'about' | 'runCommand' | 'readLog'>;

/** Kind of reads: `rest` of a machine that has stopped, `watch` of a running one. */
type Mode = 'rest' | 'watch';

interface Collection {
  readonly instanceId: string;
  readonly attempt: number;
  readonly mode: Mode;
  /** Reads in the present round. */
  reads: number;
  /** True if the market answered one of them. */
  isAnswered: boolean;
  /** Exit code in the files. */
  exitCode: number | undefined;
  /** Last text of the log. */
  text: string | undefined;
  timer: Timer | undefined;
  view: RunResultView | undefined;
}

export interface RunCollectionsOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly cluster: KubeClient;
  /** This installation's identity; undefined while it is not known. */
  readonly identity: () => Identity | undefined;
  /** Market of the account of the object; undefined while the account is not ready. */
  readonly marketOf: (object: GpuInstance) => ReadMarket | undefined;
  /** Returns every GpuInstance from the cache. */
  readonly instances: () => Iterable<GpuInstance>;
  readonly onChange: (key: string) => void;
  /** Receives the log with a result, before the machine may end. */
  readonly onLog?: OnRunLog | undefined;
}

/** Receives the log of a machine whose program has ended, by namespace/name of its object. Never throws. */
export type OnRunLog = (key: string, log: { readonly instanceId: string; readonly text: string }) => void;

/**
 * Finds the results of programs on the machines of runs: in the log of a machine that has stopped, else by the name of a
 * file. The files of a running machine are read every ten minutes. A read changes nothing at the marketplace. A result
 * that was found stays until it is on record; after a restart of the process the search begins again.
 */
export class RunCollections {
  readonly #options: RunCollectionsOptions;
  readonly #collections = new Map<string, Collection>();
  /** Uids of objects whose logs were cut; a new process cuts them again, which changes nothing. */
  #cut: ReadonlySet<string> = new Set();

  constructor(options: RunCollectionsOptions) {
    this.#options = options;
  }

  /** Returns the result of the object's present machine; undefined before it is known or was searched in vain. */
  view(key: string, object: GpuInstance): RunResultView | undefined {
    const mode = modeOf(object);
    const { instanceId, attempt = 0 } = object.status ?? {};
    if (mode === undefined || instanceId === undefined) {
      this.forget(key);
      return undefined;
    }
    const known = this.#collections.get(key);
    if (known?.instanceId === instanceId && (known.mode === mode || known.view?.type === 'found'))
      return known.view;
    this.forget(key);
    const collection: Collection = {
      ...{ instanceId, attempt, mode, reads: 0, isAnswered: false },
      ...{ exitCode: undefined, text: undefined, timer: undefined, view: undefined },
    };
    this.#collections.set(key, collection);
    this.#arm(key, { collection, object }, mode === 'watch' ? WATCH_MS : 0);
    return undefined;
  }

  forget(key: string): void {
    this.#collections.get(key)?.timer?.cancel();
    this.#collections.delete(key);
  }

  stop(): void {
    for (const key of [...this.#collections.keys()]) this.forget(key);
  }

  #arm(key: string, collected: Collected, delayMs: number): void {
    const read = () =>
      inBackground(
        { task: 'run result', object: key },
        () => this.#read(key, collected),
        (error) => {
          this.#options.log.error('The result of a run cannot be read', { object: key, error });
          if (this.#isCurrent(key, collected)) this.#arm(key, collected, ROUND_MS);
        },
      );
    collected.collection.timer = this.#options.clock.setTimer(delayMs, read, { background: true });
  }

  #isCurrent(key: string, { collection }: Collected): boolean {
    return this.#collections.get(key) === collection;
  }

  async #read(key: string, collected: Collected): Promise<void> {
    const { collection, object } = collected;
    const { identity, marketOf } = this.#options;
    const [market, known] = [marketOf(object), identity()];
    if (!market || !known) return this.#arm(key, collected, NO_SESSION_MS);
    const nonces = runNonces(known.keys, { uid: uidOf(object), attempt: collection.attempt });
    const waitMs = await readNext(market, collection, nonces);
    if (!this.#isCurrent(key, collected)) return;
    const found = foundIn(collection, nonces);
    if (found) {
      const { instanceId, text } = collection;
      if (text !== undefined) this.#options.onLog?.(key, { instanceId, text });
      const view = await this.#kept(object, found);
      if (!this.#isCurrent(key, collected)) return;
      collection.view = view;
      this.#options.onChange(key);
    } else if (collection.mode === 'rest' && collection.reads >= 2 * TRIES) {
      collection.view = { type: 'none', isAnswered: collection.isAnswered };
      Object.assign(collection, { reads: 0, isAnswered: false });
      this.#arm(key, collected, Math.max(waitMs, ROUND_MS));
      this.#options.onChange(key);
    } else this.#arm(key, collected, Math.max(waitMs, collection.mode === 'rest' ? RETRY_MS : WATCH_MS));
  }

  /** Writes the log into the Secret of the object. Without it the exit code counts all the same. */
  async #kept(object: GpuInstance, found: FoundResult): Promise<RunResultView> {
    const { exitCode, text, isWhole } = found;
    const message = lastCharacters(text.replaceAll(CONTROLS, '').trim(), MAX_RUN_MESSAGE);
    const log = await this.#writeLog(object, { text, isWhole }).catch((error: unknown) => {
      if (!isKubeError(error)) throw error;
      this.#options.log.warn('The log of a run cannot be kept', {
        object: objectKey(object.metadata),
        error,
      });
      return undefined;
    });
    return { type: 'found', exitCode, ...(message !== '' && { message }), ...(log && { log }) };
  }

  async #writeLog(
    owner: GpuInstance,
    { text, isWhole }: Pick<FoundResult, 'text' | 'isWhole'>,
  ): Promise<RunStatus['log']> {
    const maxBytes = parseQuantity(owner.spec.completion?.logBytes ?? '0') ?? 0;
    const kept = lastBytes(text, maxBytes);
    if (kept === '') return undefined;
    const name = logSecretName(owner.metadata.name);
    const secret = logSecret(owner, gzipSync(kept));
    const { cluster, log } = this.#options;
    const mayExist = owner.status?.run?.log !== undefined;
    const problem = await writeChild(secretResource, secret, { cluster, owner, mayExist });
    if (!problem) {
      this.#cutInBackground(owner);
      const bytes = Buffer.byteLength(kept);
      return { secretRef: { name }, bytes, truncated: !isWhole || kept.length < text.length };
    }
    const { detail } = problem;
    log.warn('The log of a run cannot be kept', { object: objectKey(owner.metadata), detail });
    return undefined;
  }

  /** Cuts older logs while the result is recorded: the machine may bill until then. */
  #cutInBackground(owner: GpuInstance): void {
    const object = objectKey(owner.metadata);
    inBackground(
      { task: 'cut old logs', object },
      () => this.#cutOlder(owner),
      (error) => this.#options.log.error('Old logs cannot be cut', { object, error }),
    );
  }

  /** Cuts logs of the namespace that are older than its newest hundred. A failure waits for the next new log. */
  async #cutOlder(owner: GpuInstance): Promise<void> {
    const older = logsToCut(this.#options.instances(), owner);
    this.#cut = new Set(older.map(uidOf).filter((uid) => this.#cut.has(uid)));
    for (const object of older.filter((each) => !this.#cut.has(uidOf(each))).slice(0, MAX_CUTS)) {
      try {
        await this.#cutLog(object);
        this.#cut = new Set([...this.#cut, uidOf(object)]);
      } catch (error) {
        this.#options.log.warn('An old log cannot be cut', { object: objectKey(object.metadata), error });
      }
    }
  }

  async #cutLog(object: GpuInstance): Promise<void> {
    const { cluster } = this.#options;
    const ref = { namespace: object.metadata.namespace, name: logSecretName(object.metadata.name) };
    const stored = await cluster.get<StoredLog>(secretResource, ref);
    const packed = stored?.data?.[LOG_KEY];
    if (!stored || packed === undefined || stored.type !== LOG_SECRET_TYPE || !isOwnedBy(stored, object))
      return;
    const text = gunzipSync(Buffer.from(packed, 'base64'), { maxOutputLength: MAX_LOG_BYTES }).toString();
    const cut = lastBytes(text, CUT_LOG_BYTES);
    if (cut.length === text.length) return;
    const { resourceVersion } = stored.metadata;
    const data = { [LOG_KEY]: gzipSync(cut).toString('base64') };
    await cluster.patch(secretResource, ref, {
      type: 'merge',
      body: { metadata: { resourceVersion }, data },
    });
  }
}

/** Secret as the API server returns it. */
interface StoredLog extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}

/** Control characters except tabs and line feeds. */
const CONTROLS = /[^\P{Cc}\t\n]/gu;

interface Collected {
  readonly collection: Collection;
  readonly object: GpuInstance;
}

/** Returns what to read; undefined for an object that is no run, or whose result is on record. */
function modeOf(object: GpuInstance): Mode | undefined {
  const { status, metadata } = object;
  const isSettled = settledReason(object, status?.attempt ?? 0) !== undefined;
  if (!isRun(object) || isSettled || metadata.deletionTimestamp !== undefined) return undefined;
  if (isAtRest(recordedState(status)) || status?.run?.collectingSince !== undefined) return 'rest';
  return isUp(status) ? 'watch' : undefined;
}

/** Makes the next read of a round: first the log, then the files. Returns the wait that the market requires. */
async function readNext(
  market: ReadMarket,
  collection: Collection,
  nonces: readonly string[],
): Promise<number> {
  const { instanceId, mode } = collection;
  const readsFiles = mode === 'watch' ? collection.exitCode === undefined : collection.reads >= TRIES;
  try {
    const text = readsFiles
      ? await filesOf(market, instanceId)
      : await market.readLog?.(instanceId, TAIL_LINES);
    collection.reads++;
    if (text === undefined) return 0;
    collection.isAnswered = true;
    if (!readsFiles) collection.text = text;
    else collection.exitCode = nonces.map((nonce) => resultInFiles(text, nonce)).find(isKnown);
    // The files of a running machine show the code, and its log the output: one read follows at once.
    if (mode === 'watch' && readsFiles && collection.exitCode !== undefined)
      collection.text = await market.readLog?.(instanceId, TAIL_LINES);
    return 0;
  } catch (error) {
    if (!(error instanceof MarketplaceError)) throw error;
    if (error.kind === 'throttled') return error.retryAfterMs ?? 0;
    collection.reads++;
    if (!isOutage(error)) collection.isAnswered = true;
    return 0;
  }
}

/** Returns true if the market itself did not answer, so that the read proves nothing about the machine. */
function isOutage({ kind }: MarketplaceError): boolean {
  return kind === 'unavailable' || kind === 'unauthorized' || kind === 'aborted';
}

const isKnown = (code: number | undefined): code is number => code !== undefined;

async function filesOf({ about, runCommand }: ReadMarket, instanceId: string): Promise<string | undefined> {
  const { programs = [], maxLength = 0 } = about.fileCommands ?? {};
  if (!programs.includes('ls') || LIST_COMMAND.length > maxLength) return undefined;
  return runCommand?.(instanceId, LIST_COMMAND);
}

interface FoundResult {
  readonly exitCode: number;
  readonly text: string;
  /** True if the text begins with the start of the program. */
  readonly isWhole: boolean;
}

/** Returns the result in what was read; undefined without one for this rental. */
function foundIn({ text, exitCode }: Collection, nonces: readonly string[]): FoundResult | undefined {
  for (const nonce of nonces) {
    const logged = text === undefined ? undefined : resultInLog(text, nonce);
    if (logged) return { exitCode: logged.exitCode, text: logged.log, isWhole: logged.isWhole };
  }
  const [nonce] = nonces;
  if (exitCode === undefined || nonce === undefined) return undefined;
  const { log, isWhole } = outputInLog(text ?? '', nonce);
  return { exitCode, text: log, isWhole };
}
