/** Resolves when the signal is aborted, at once if it already is. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

/** A signal that is aborted with the first of several, until it is released. */
export interface FirstAbort {
  readonly signal: AbortSignal;
  /** Stops listening to the sources: they no longer abort the signal. */
  release(): void;
}

/**
 * Joins signals. Unlike `AbortSignal.any` it is garbage collected together with its users: Node keeps a joined signal
 * with listeners, and everything that they reference, until a source is aborted.
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
