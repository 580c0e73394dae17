/** Resolves when the signal is aborted, at once where it is already. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** A signal that is aborted with the first of several, until it is released. */
export interface FirstAbort {
  readonly signal: AbortSignal;
  /** Lets go of the sources; the signal is not aborted any more. */
  release(): void;
}

/**
 * Joins signals. `AbortSignal.any` does the same, but Node keeps one that is listened to, and with it whoever
 * listens, for as long as no source is aborted; this one is collected together with its users.
 */
export function firstAbort(sources: readonly AbortSignal[]): FirstAbort {
  const first = new AbortController();
  const forwards = sources.map((source) => ({ source, forward: () => first.abort(source.reason) }));
  for (const { source, forward } of forwards) {
    if (source.aborted) forward();
    else source.addEventListener('abort', forward, { once: true });
  }
  return {
    signal: first.signal,
    release: () => {
      for (const { source, forward } of forwards) source.removeEventListener('abort', forward);
    },
  };
}
