import { type Clock, sleep } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import { type KubeObject, objectKey, type Resource } from '../kube/kube-object.ts';
import type { KubeStream, Selection } from '../kube/list-pages.ts';
import { type InformerMetrics, silentMetrics } from '../metrics-ports.ts';
import { CacheAudit } from './cache-audit.ts';
import { type Change, type Indexes, ObjectStore, type Seen } from './object-store.ts';
import { ProgressGate } from './progress-gate.ts';
import { Reflector } from './reflector.ts';

export type { Change } from './object-store.ts';

/** State of list-watch, for health checks and for callers that need the age of the cache. */
export interface InformerHealth {
  /** Epoch milliseconds of the last contact with the API server on this list-watch; undefined before the first. */
  readonly lastContactAt: number | undefined;
  /** Number of objects that differed from the API server in all audits since the start. */
  readonly divergences: number;
  /** The last failure; undefined while list-watch works. */
  readonly failure: string | undefined;
  /**
   * Epoch milliseconds since which every list has been older than this copy: the API server's state was restored from a
   * backup, and only a new process can start from it. Undefined otherwise.
   */
  readonly rewoundSince: number | undefined;
}

/**
 * A local copy of one kind, maintained by list and watch with client-go's contract. Its content was true at one time
 * and never goes back, it converges whatever the network does, and listeners receive every difference between two
 * states of the copy once. Intermediate states may be skipped.
 */
export interface Informer<T> {
  /** Name for logs and errors: the plural, with the namespace if it is limited to one. */
  readonly name: string;
  /** Starts list-watch; a second call has no effect. */
  start(): void;
  /** Stops list-watch. When it resolves no listener is called any more. The copy stays. */
  stop(): Promise<void>;
  /** Resolves when the copy contains the first complete list. */
  readonly synced: Promise<void>;
  hasSynced(): boolean;
  /** Returns the object with this {@link objectKey}. */
  get(key: string): T | undefined;
  list(): readonly T[];
  /** Returns the objects for which the index function gave this value; empty for an unknown value. */
  byIndex(index: string, value: string): readonly T[];
  /**
   * Calls `listener` for each later change, in order. An error that it throws is logged and stops nothing. Returns a
   * function that removes it.
   */
  onChange(listener: (change: Change<T>) => void): () => void;
  /** Converts an object from another read to the form of the cache. Throws if it cannot be converted. */
  keep(object: KubeObject): T;
  /** Records an object that a write has just returned: until the copy has reached it, its key is not current. */
  wrote(object: KubeObject): void;
  /** Returns false while the copy has not seen this process's own last write of that key. */
  isCurrent(key: string): boolean;
  health(): InformerHealth;
}

/** Without a selection the copy holds the objects of all namespaces. */
export interface InformerOptions<T> extends Selection {
  readonly client: KubeStream;
  readonly resource: Resource;
  /** Advice if the API server does not serve the resource; logged with that failure. */
  readonly remedyIfUnserved?: string | undefined;
  /** Reduces an object before it is stored. managedFields are always dropped. */
  readonly project?: ((object: KubeObject) => T) | undefined;
  /** Index functions: the values under which {@link Informer.byIndex} finds an object. */
  readonly indexes?: Indexes<T> | undefined;
  /** `auto` (default) streams the first state if the server supports it, and lists pages otherwise. */
  readonly initialState?: 'auto' | 'paged' | undefined;
  /** Interval between audits against a fresh list; 10 min by default, 0 for never. */
  readonly auditIntervalMs?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics?: InformerMetrics | undefined;
}

const AUDIT_INTERVAL_MS = 600_000;
/** Number of changes to report before other work runs. */
const SLICE = 500;

/**
 * Creates an informer. `T` without a projection is the caller's promise about the shape of `resource`, as with the
 * client.
 */
export function createInformer<T = KubeObject>(options: InformerOptions<T>): Informer<T> {
  return new ListWatchInformer(options);
}

interface Run {
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

class ListWatchInformer<T> implements Informer<T> {
  readonly name: string;
  readonly synced: Promise<void>;
  readonly #options: InformerOptions<T>;
  readonly #log: Logger;
  readonly #metrics: InformerMetrics;
  readonly #store: ObjectStore<T>;
  readonly #gate = new ProgressGate();
  readonly #reflector: Reflector<Seen<T>>;
  readonly #audit: CacheAudit<T>;
  readonly #listeners = new Set<(change: Change<T>) => void>();
  #run: Run | undefined;
  #lastRun: Promise<void> = Promise.resolve();
  #hasSynced = false;
  #resolveSynced: () => void = () => {};

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    const { plural } = options.resource;
    this.name = options.namespace === undefined ? plural : `${plural} in ${options.namespace}`;
    this.#log = options.log.child({ informer: this.name });
    this.#metrics = options.metrics ?? silentMetrics;
    this.synced = new Promise((resolve) => {
      this.#resolveSynced = resolve;
    });
    this.#store = new ObjectStore(options.indexes ?? {}, (change) => this.#publish(change));
    const shared = { ...options, log: this.#log, metrics: this.#metrics };
    this.#reflector = new Reflector({
      ...shared,
      streaming: options.initialState !== 'paged',
      sink: {
        keep: (object) => this.#keep(object),
        replace: (items, signal) => this.#replace(items, signal),
        upsert: (item) => this.#store.upsert(item),
        remove: (item) => this.#store.remove(item),
        reached: (resourceVersion) => this.#gate.reached(resourceVersion),
      },
    });
    this.#audit = new CacheAudit({
      ...shared,
      store: this.#store,
      gate: this.#gate,
      intervalMs: options.auditIntervalMs ?? AUDIT_INTERVAL_MS,
      relist: () => this.#reflector.relist(),
    });
  }

  start(): void {
    if (this.#run) return;
    const abort = new AbortController();
    const ended = this.#lastRun.then(async () => {
      await Promise.all([this.#reflector.run(abort.signal), this.#audit.run(abort.signal)]);
    });
    this.#lastRun = ended;
    this.#run = { abort, ended };
  }

  async stop(): Promise<void> {
    const run = this.#run;
    this.#run = undefined;
    run?.abort.abort(new Error('The informer was stopped'));
    await this.#lastRun;
  }

  hasSynced(): boolean {
    return this.#hasSynced;
  }

  get(key: string): T | undefined {
    return this.#store.get(key);
  }

  list(): readonly T[] {
    return this.#store.list();
  }

  byIndex(index: string, value: string): readonly T[] {
    return this.#store.byIndex(index, value);
  }

  onChange(listener: (change: Change<T>) => void): () => void {
    // A wrapper, so that the same function added twice is called twice.
    const entry = (change: Change<T>) => listener(change);
    this.#listeners.add(entry);
    return () => {
      this.#listeners.delete(entry);
    };
  }

  keep(object: KubeObject): T {
    return this.#project(object);
  }

  wrote(object: KubeObject): void {
    const { resourceVersion } = object.metadata;
    if (resourceVersion !== undefined) this.#gate.wrote(objectKey(object.metadata), resourceVersion);
  }

  isCurrent(key: string): boolean {
    return this.#gate.isCurrent(key);
  }

  health(): InformerHealth {
    const { lastContactAt, failure, rewoundSince } = this.#reflector;
    return { lastContactAt, failure, rewoundSince, divergences: this.#audit.divergences };
  }

  async #replace(items: readonly Seen<T>[], signal: AbortSignal): Promise<void> {
    const listed = new Set(items.map((item) => item.key));
    const vanished = this.#store.keys().filter((key) => !listed.has(key));
    const steps = [
      ...items.map((item) => () => this.#store.upsert(item)),
      ...vanished.map((key) => () => this.#store.forget(key)),
    ];
    for (const [at, step] of steps.entries()) {
      if (at > 0 && at % SLICE === 0) await sleep(this.#options.clock, 0, signal);
      step();
    }
    this.#hasSynced = true;
    this.#resolveSynced();
  }

  #keep(object: KubeObject): Seen<T> | undefined {
    const { uid, resourceVersion } = object.metadata;
    const key = objectKey(object.metadata);
    if (uid === undefined || resourceVersion === undefined) return undefined;
    try {
      return { key, uid, resourceVersion, object: this.#project(object) };
    } catch (error) {
      this.#metrics.failed(this.#options.resource.kind, 'projection');
      this.#log.error('Object cannot be kept', { key, error });
      return undefined;
    }
  }

  #project(object: KubeObject): T {
    const { managedFields: _dropped, ...metadata } = object.metadata as KubeObject['metadata'] & {
      managedFields?: unknown;
    };
    const kept = { ...object, metadata };
    return this.#options.project ? this.#options.project(kept) : (kept as T);
  }

  #publish(change: Change<T>): void {
    for (const listener of this.#listeners) {
      try {
        listener(change);
      } catch (error) {
        this.#log.error('Listener failed', { key: change.key, change: change.type, error });
      }
    }
  }
}
