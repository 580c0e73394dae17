/** Aborted by Ctrl-C, by SIGTERM, or with the terminal; `announce` hears of it at once, for the ending takes seconds. */
export function interruption(announce: (what: string) => void): AbortSignal {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      // npm hands on what the terminal sends to all: one Ctrl-C comes twice.
      if (interrupted.signal.aborted) return;
      interrupted.abort(new Error(`stopped by ${signal}`));
      announce('Ending the operator, the marketplace and the Kubernetes API');
    });
  }
  return interrupted.signal;
}

/** Rejects with the signal's reason once that is aborted. */
export function untilInterrupted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const give = (): void => reject(signal.reason);
    if (signal.aborted) give();
    else signal.addEventListener('abort', give, { once: true });
  });
}

/** What went wrong; what Ctrl-C cut short fails in its own words, and why it was cut short says more. */
export function reasonOf(error: unknown, signal: AbortSignal): string {
  const reason: unknown = signal.aborted ? signal.reason : error;
  return reason instanceof Error ? reason.message : String(reason);
}

/** The outcome as the last line on stdout, and the end of the process: 0 for `ok`, 1 for anything else. */
export function endWith<Outcome extends { readonly result: string }>(outcome: Outcome): void {
  const exitCode = outcome.result === 'ok' ? 0 : 1;
  // A build that was interrupted goes on until the process ends.
  process.stdout.write(`${JSON.stringify(outcome)}\n`, () => process.exit(exitCode));
}
