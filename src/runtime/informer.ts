import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { KubeStream } from './kube-client.ts';
import type { KubeObject, Resource } from './kube-object.ts';
import type { InformerMetrics } from './metrics-ports.ts';

/** What happened to one key. An object that was replaced under its name comes as `deleted`, then `added`. */
export type Change<T> =
  | { readonly type: 'added'; readonly key: string; readonly object: T }
  | { readonly type: 'updated'; readonly key: string; readonly object: T; readonly previous: T }
  | { readonly type: 'deleted'; readonly key: string; readonly object: T };

/** The state of list-watch, for health checks and for whoever must know how fresh the cache is. */
export interface InformerHealth {
  /** When the API server last said anything on this list-watch, epoch milliseconds; undefined before that. */
  readonly lastContactAt: number | undefined;
  /** Objects found to differ from the API server since the start, by all audits. */
  readonly divergences: number;
  /** The last failure, undefined while list-watch is well. */
  readonly failure: string | undefined;
}

/**
 * A local copy of one kind, kept by list and watch with client-go's contract: what it holds was true at one
 * time and never goes back, it converges whatever the network does, and every difference between two states of
 * the copy is told to the listeners once. Intermediate states may be skipped.
 */
export interface Informer<T> {
  /** Begins list-watch; a second call changes nothing. */
  start(): void;
  /** Ends it: when this resolves no listener is called any more, whatever was under way. The copy stays. */
  stop(): Promise<void>;
  /** Resolves once the first complete list is in the copy. */
  readonly synced: Promise<void>;
  hasSynced(): boolean;
  /** By {@link objectKey}. */
  get(key: string): T | undefined;
  list(): readonly T[];
  /** Objects whose index function gave this value; empty for an unknown value. */
  byIndex(index: string, value: string): readonly T[];
  /** Calls `listener` for each later change, in order. What it throws is logged and stops nothing. Returns the way out. */
  onChange(listener: (change: Change<T>) => void): () => void;
  /** Notes an object that a write has just returned: until the copy has reached it, its key is not current. */
  wrote(object: KubeObject): void;
  /** False while the copy has not seen this process's own last write of that key. */
  isCurrent(key: string): boolean;
  health(): InformerHealth;
}

export interface InformerOptions<T> {
  readonly client: KubeStream;
  readonly resource: Resource;
  /** All namespaces when absent. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  /** Keeps of an object what is read later, before it is stored. managedFields are dropped in any case. */
  readonly project?: ((object: KubeObject) => T) | undefined;
  /** Values under which an object can be found by {@link Informer.byIndex}. */
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>> | undefined;
  /** `auto` (default) streams the first state where the server offers it and lists pages where not. */
  readonly initialState?: 'auto' | 'paged' | undefined;
  /** How often the copy is compared with a fresh list; 10 min by default, 0 for never. */
  readonly auditIntervalMs?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics?: InformerMetrics | undefined;
}
