import { compareResourceVersions } from '../kube/kube-object.ts';

/** Number of open writes above which the reached ones are removed. */
const SWEEP_AT = 1024;

interface Waiter {
  readonly resourceVersion: string;
  readonly resolve: () => void;
}

/**
 * Version that a cache has reached, and the writes of this process that it has not seen yet. Events of one kind arrive
 * in the order of their versions, so a cache at a version has seen every write up to it.
 */
export class ProgressGate {
  readonly #written = new Map<string, string>();
  readonly #waiters = new Set<Waiter>();
  #newest: string | undefined;

  reached(resourceVersion: string): void {
    this.#newest = resourceVersion;
    for (const waiter of this.#waiters) {
      if (!this.#hasReached(waiter.resourceVersion)) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  wrote(key: string, resourceVersion: string): void {
    if (this.#hasReached(resourceVersion)) return;
    this.#written.set(key, resourceVersion);
    if (this.#written.size > SWEEP_AT) for (const open of this.#written.keys()) this.isCurrent(open);
  }

  isCurrent(key: string): boolean {
    const written = this.#written.get(key);
    if (written === undefined) return true;
    if (!this.#hasReached(written)) return false;
    this.#written.delete(key);
    return true;
  }

  /** Resolves when that version is reached; never if the signal is aborted before. */
  whenReached(resourceVersion: string, signal: AbortSignal): Promise<void> {
    if (this.#hasReached(resourceVersion)) return Promise.resolve();
    return new Promise((resolve) => {
      const waiter = { resourceVersion, resolve };
      this.#waiters.add(waiter);
      signal.addEventListener('abort', () => this.#waiters.delete(waiter), { once: true });
    });
  }

  #hasReached(resourceVersion: string): boolean {
    return this.#newest !== undefined && compareResourceVersions(this.#newest, resourceVersion) >= 0;
  }
}
