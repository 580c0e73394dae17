import { type Clock, sleep } from '../../lib/clock.ts';
import { withDeadline } from '../../lib/deadline.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import { type KubeObject, objectKey, type Resource } from '../kube/kube-object.ts';
import { type KubeStream, listPages, type Selection } from '../kube/list-pages.ts';
import type { InformerMetrics } from '../metrics-ports.ts';
import type { ObjectStore } from './object-store.ts';
import type { ProgressGate } from './progress-gate.ts';

export interface CacheAuditOptions<T> extends Selection {
  readonly client: KubeStream;
  readonly resource: Resource;
  readonly store: ObjectStore<T>;
  readonly gate: ProgressGate;
  /** Interval; 0 disables audits. */
  readonly intervalMs: number;
  /** Called to repair a wrong cache. */
  readonly relist: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: InformerMetrics;
}

/** Lists names and versions only: a tenth of the bytes. A server without support may send whole objects. */
const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';

/** Longer than the minute between bookmarks, which give an unchanged cache its version. */
const CATCH_UP_MS = 120_000;

interface Listed {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

/**
 * Compares a cache with a fresh list at intervals. The cache cannot notice a lost event itself: the audit counts such
 * faults of list-watch and repairs them.
 */
export class CacheAudit<T> {
  readonly #options: CacheAuditOptions<T>;
  #divergences = 0;

  constructor(options: CacheAuditOptions<T>) {
    this.#options = options;
  }

  /** Number of differing objects in all audits. */
  get divergences(): number {
    return this.#divergences;
  }

  /** Audits until the signal is aborted. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, intervalMs, log } = this.#options;
    while (intervalMs > 0 && !signal.aborted) {
      try {
        await sleep(clock, intervalMs * (0.9 + 0.2 * random.next()), signal);
        await this.#auditOnce(signal);
      } catch (error) {
        if (!signal.aborted) log.debug('Cache audit was left out', { error });
      }
    }
  }

  async #auditOnce(signal: AbortSignal): Promise<void> {
    const { client, clock, store, gate, resource, log, metrics } = this.#options;
    const touched = new Set<string>();
    const untrack = store.onTouch((key) => touched.add(key));
    try {
      const list = await listPages(client, clock, {
        ...this.#options,
        accept: METADATA_ONLY,
        keep: listed,
        signal,
      });
      const limit = { clock, limitMs: CATCH_UP_MS, signal };
      await withDeadline(limit, (scope) => gate.whenReached(list.resourceVersion, scope));
      const wrong = this.#differences(list.items, touched);
      metrics.diverged(resource.kind, wrong.length);
      if (wrong.length === 0) return;
      this.#divergences += wrong.length;
      log.error('Cache differs from the API server, listing again', {
        count: wrong.length,
        keys: wrong.slice(0, 5),
      });
      this.#options.relist();
    } finally {
      untrack();
    }
  }

  /** Returns the keys without a change since before the list that differ from it. */
  #differences(items: readonly Listed[], touched: ReadonlySet<string>): readonly string[] {
    const { store } = this.#options;
    const listedKeys = new Set(items.map((item) => item.key));
    const changed = items.filter((item) => {
      const cached = store.entry(item.key);
      return cached?.uid !== item.uid || cached.resourceVersion !== item.resourceVersion;
    });
    const surplus = store.keys().filter((key) => !listedKeys.has(key));
    return [...changed.map((item) => item.key), ...surplus].filter((key) => !touched.has(key));
  }
}

function listed(object: KubeObject): Listed {
  const { uid = '', resourceVersion = '' } = object.metadata;
  return { key: objectKey(object.metadata), uid, resourceVersion };
}
