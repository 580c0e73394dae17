import { constants } from 'node:os';

/**
 * Returns a signal that is aborted by Ctrl-C, by SIGTERM, or with the terminal; `announce` is called at once, because
 * the ending takes seconds.
 */
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

/** Returns the reason of a failure; after Ctrl-C its own reason is more useful than the error that it caused. */
export function reasonOf(error: unknown, signal: AbortSignal): string {
  const reason: unknown = signal.aborted ? signal.reason : error;
  return reason instanceof Error ? reason.message : String(reason);
}

/** Result of a run that a signal ended, as {@link reasonOf} gives it. */
const STOPPED = /^stopped by (SIG[A-Z]+)$/;

/** Returns the reason of an early end as text; for a person who stopped the run it is no failure. */
export function earlyEnd(result: string): string {
  const [, signal] = STOPPED.exec(result) ?? [];
  if (signal === undefined) return `It went no further: ${result}`;
  const how = signal === 'SIGINT' ? 'Ctrl-C' : signal;
  return `Stopped by ${how}. Nothing stays running; what was built is kept, and the next start goes on from there.`;
}

/** 0 for `ok`, by convention 128 and the number of the signal that ended the run, 1 for anything else. */
export function exitCodeOf(result: string): number {
  const [, signal] = STOPPED.exec(result) ?? [];
  if (signal !== undefined) return 128 + constants.signals[signal as NodeJS.Signals];
  return result === 'ok' ? 0 : 1;
}

/** Writes the outcome as the last line on stdout, and ends the process. An outcome without a result is a success. */
export function endWith<Outcome extends { readonly result?: string }>(outcome: Outcome): void {
  const exitCode = exitCodeOf(outcome.result ?? 'ok');
  // A build that was interrupted goes on until the process ends.
  process.stdout.write(`${JSON.stringify(outcome)}\n`, () => process.exit(exitCode));
}
