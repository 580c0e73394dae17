import type { Clock } from '../../lib/clock.ts';
import { formatTime } from '../../lib/time.ts';
import { setConditions } from '../conditions.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { isKubeError, KubeError } from '../kube/kube-error.ts';
import { type Condition, type KubeObject, type Resource, refOfKey } from '../kube/kube-object.ts';
import { recordStatus, type WithStatus } from '../writes.ts';
import type { Informer } from './informer.ts';

/** An object that is at least as new as this process's own last write of it. */
export type CurrentObject<T> =
  | { readonly type: 'found'; readonly object: T }
  | { readonly type: 'gone' }
  /** The copy receives this process's own writes within milliseconds: read again then. */
  | { readonly type: 'behind'; readonly afterMs: number };

export interface CurrentObjectsOptions<T> {
  readonly informer: Pick<Informer<T>, 'get' | 'isCurrent' | 'keep'>;
  readonly client: Pick<KubeClient, 'get' | 'replace'>;
  readonly resource: Resource;
  readonly clock: Clock;
}

const RECHECK_MS = 20;
/** A copy that is behind for longer has missed an event; its audit may repair it only in minutes. */
const PATIENCE_MS = 2_000;
/** Maximum duration of an answer: a slower one may show a state that is as old. */
const FRESH_MS = 1_000;
/** Number of requests for a fresh answer before the reconcile is left to the backoff. */
const FRESH_TRIES = 3;

/**
 * Reads objects from an informer's copy, in the copy's form, and from the API server if the copy stays behind this
 * process's own write. A lost watch event then costs a request per reconcile, instead of stopping the object until the
 * next audit.
 */
export class CurrentObjects<T extends KubeObject> {
  readonly #options: CurrentObjectsOptions<T>;
  /** Time since which each key is behind, on `clock.monotonic()`. */
  readonly #behindSince = new Map<string, number>();
  /** Keys with a conflict although their copy looked current. */
  readonly #doubted = new Set<string>();

  constructor(options: CurrentObjectsOptions<T>) {
    this.#options = options;
  }

  /**
   * Records a conflict of a write under the version from {@link read}: another writer was faster, or the copy missed an
   * event. Reads go to the API server until both agree again.
   */
  lostRace(key: string): void {
    this.#doubted.add(key);
  }

  /**
   * Runs a reconcile of an object. A conflict, in any write, is recorded for the key. A permanent failure is reported
   * in a condition of this object only. Rejects like the reconcile.
   */
  async duringPass<R>(key: string, pass: () => Promise<R>): Promise<R> {
    try {
      return await pass();
    } catch (error) {
      if (isKubeError(error, 'conflict')) this.lostRace(key);
      else if (isLastingFailure(error)) {
        // The error of the reconcile counts, even if it could not be written to the status.
        await reportFailure(key, error, this.#options).catch((unwritten: unknown) => {
          if (!isKubeError(unwritten)) throw unwritten;
        });
      }
      throw error;
    }
  }

  /** Reads the object. Rejects with a KubeError if the API server had to be called and did not answer. */
  async read(key: string): Promise<CurrentObject<T>> {
    const { informer, clock } = this.#options;
    if (this.#doubted.has(key)) return this.#ask(key);
    if (informer.isCurrent(key)) {
      this.#behindSince.delete(key);
      return found(informer.get(key));
    }
    const now = clock.monotonic();
    const since = this.#behindSince.get(key) ?? now;
    this.#behindSince.set(key, since);
    if (now - since < PATIENCE_MS) return { type: 'behind', afterMs: RECHECK_MS };
    return this.#ask(key);
  }

  /**
   * Returns the object as of at most {@link FRESH_MS} ago from the API server, for irreversible actions; undefined if
   * it was deleted. If the copy has another version, {@link read} also uses the API server until both agree. Rejects
   * with a KubeError: `unavailable` if each answer took longer.
   */
  async readNow(key: string): Promise<T | undefined> {
    const { clock, resource } = this.#options;
    for (let tries = 0; tries < FRESH_TRIES; tries += 1) {
      const askedAt = clock.monotonic();
      const object = await this.#fetch(key);
      if (!this.#isCopied(key, object)) this.#doubted.add(key);
      if (clock.monotonic() - askedAt <= FRESH_MS) return object;
    }
    throw new KubeError(
      `${FRESH_TRIES} answers about ${resource.kind} ${key} took longer than ${FRESH_MS} ms each`,
      {
        kind: 'unavailable',
        status: 0,
        reason: 'SlowRead',
        outcome: 'refused',
      },
    );
  }

  async #ask(key: string): Promise<CurrentObject<T>> {
    const object = await this.#fetch(key);
    if (this.#isCopied(key, object)) this.#doubted.delete(key);
    return found(object);
  }

  async #fetch(key: string): Promise<T | undefined> {
    const { informer, client, resource } = this.#options;
    const whole = await client.get<T>(resource, refOfKey(key));
    return whole && informer.keep(whole);
  }

  #isCopied(key: string, object: T | undefined): boolean {
    const copy = this.#options.informer.get(key);
    return copy?.metadata.resourceVersion === object?.metadata.resourceVersion;
  }
}

function found<T>(object: T | undefined): CurrentObject<T> {
  return object === undefined ? { type: 'gone' } : { type: 'found', object };
}

/** Reason of the condition. */
export const RECONCILE_ERROR = 'ReconcileError';

interface Conditioned {
  readonly conditions?: readonly Condition[] | undefined;
}

/**
 * Returns true for an error that the same object will always cause: a fault of this program, or a write that is never
 * accepted.
 */
export function isLastingFailure(error: unknown): boolean {
  if (isKubeError(error)) return error.kind === 'invalid';
  return !(error instanceof Error && (error.name === 'DeadlineError' || error.name === 'AbortError'));
}

/**
 * Sets condition `Reconciling` with reason `ReconcileError` on the object. The message has the class of the error and
 * not its text, which may contain a secret. Rejects with a KubeError if the status cannot be written.
 */
export async function reportFailure(
  key: string,
  error: unknown,
  options: {
    readonly client: Pick<KubeClient, 'get' | 'replace'>;
    readonly resource: Resource;
    readonly clock: Clock;
  },
): Promise<void> {
  const { client, resource, clock } = options;
  const object = await client.get<KubeObject & WithStatus<Conditioned>>(resource, refOfKey(key));
  if (!object) return;
  const conditions = setConditions({
    previous: object.status?.conditions,
    desired: [
      { type: 'Reconciling', status: 'True', reason: RECONCILE_ERROR, message: messageOf(error, resource) },
    ],
    generation: object.metadata.generation,
    now: formatTime(clock.now()),
  });
  const status: Conditioned = { ...object.status, conditions };
  await recordStatus<Conditioned, typeof object>({ client, resource, object, status });
}

function messageOf(error: unknown, { kind }: Resource): string {
  const what = isKubeError(error)
    ? `the API server refuses a write (HTTP ${error.status})`
    : `internal error (${error instanceof Error ? error.name : typeof error})`;
  return `Reconcile of this ${kind} failed: ${what}. Retrying with backoff; the operator's log has the error.`;
}
