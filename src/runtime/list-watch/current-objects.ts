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
  /** The copy is told of our own writes within milliseconds: look again then. */
  | { readonly type: 'behind'; readonly afterMs: number };

export interface CurrentObjectsOptions<T> {
  readonly informer: Pick<Informer<T>, 'get' | 'isCurrent' | 'keep'>;
  readonly client: Pick<KubeClient, 'get' | 'replace'>;
  readonly resource: Resource;
  readonly clock: Clock;
}

const RECHECK_MS = 20;
/** A copy that is behind for longer has missed an event, which its audit may mend only in minutes. */
const PATIENCE_MS = 2_000;
/** An answer that took longer may be as old as that: what it shows is no longer what the API server has now. */
const FRESH_MS = 1_000;
/** So often the API server is asked for a fresh answer, until the pass is left to the backoff. */
const FRESH_TRIES = 3;

/**
 * Reads objects from an informer's copy, always in the form in which that keeps them, and from the API server where the copy stays behind our own write: a
 * lost watch event then costs a request per pass instead of stopping the object until the next audit.
 */
export class CurrentObjects<T extends KubeObject> {
  readonly #options: CurrentObjectsOptions<T>;
  /** Since when each key is behind, on `clock.monotonic()`. */
  readonly #behindSince = new Map<string, number>();
  /** Keys whose copy lost a race although it looked current. */
  readonly #doubted = new Set<string>();

  constructor(options: CurrentObjectsOptions<T>) {
    this.#options = options;
  }

  /**
   * A write under the version that {@link read} gave was a conflict: someone else wrote, or the copy missed an
   * event without knowing it. The API server is asked until both agree again.
   */
  lostRace(key: string): void {
    this.#doubted.add(key);
  }

  /**
   * Runs a pass over an object. One that ends with a conflict has lost a race, wherever it wrote. One that fails for
   * good is reported in a condition of its object, and of no other. Rejects as the pass does.
   */
  async duringPass<R>(key: string, pass: () => Promise<R>): Promise<R> {
    try {
      return await pass();
    } catch (error) {
      if (isKubeError(error, 'conflict')) this.lostRace(key);
      else if (isLastingFailure(error)) {
        // The error of the pass is what counts, whether or not it could be written down.
        await reportFailure(key, error, this.#options).catch((unwritten: unknown) => {
          if (!isKubeError(unwritten)) throw unwritten;
        });
      }
      throw error;
    }
  }

  /** Rejects with a KubeError where the API server had to be asked and did not answer. */
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
   * The object as the API server had it within the last {@link FRESH_MS}, for what cannot be undone; undefined if it is
   * gone. Where the copy has another version, {@link read} asks too until both agree. Rejects with a KubeError; that is
   * `unavailable` where each answer took longer.
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

/** The reason of the condition. */
export const RECONCILE_ERROR = 'ReconcileError';

interface Conditioned {
  readonly conditions?: readonly Condition[] | undefined;
}

/** Whether an error is one that the same object will meet again: a fault of ours, or a write that is never accepted. */
export function isLastingFailure(error: unknown): boolean {
  if (isKubeError(error)) return error.kind === 'invalid';
  return !(error instanceof Error && (error.name === 'DeadlineError' || error.name === 'AbortError'));
}

/**
 * Says on the object that its reconcile fails: condition `Reconciling` with reason `ReconcileError`. Names the class
 * of the error and not its text, which may hold a secret. Rejects with a KubeError if the status cannot be written.
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
