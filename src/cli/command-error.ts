/** Exit codes of the process. */
export const EXIT = { ok: 0, failure: 1, usage: 2, notFound: 3, timedOut: 4, interrupted: 130 } as const;

/** A failure for people: `message` has the event and its cause, `remedy` the advice. */
export class CommandError extends Error {
  readonly exitCode: number;
  readonly remedy: string | undefined;

  constructor(message: string, options: { exitCode: number; remedy?: string | undefined; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CommandError';
    this.exitCode = options.exitCode;
    this.remedy = options.remedy;
  }
}

/** A user gave up, or a signal ended the process. */
export class Interrupted extends Error {
  readonly exitCode: number;

  constructor(exitCode: number = EXIT.interrupted) {
    super('interrupted');
    this.name = 'Interrupted';
    this.exitCode = exitCode;
  }
}

/** Returns the error of an invalid command line. */
export function usageError(message: string, remedy?: string): CommandError {
  return new CommandError(message, { exitCode: EXIT.usage, remedy });
}

/** Returns the error of a name that does not exist. */
export function notFound(message: string, remedy?: string): CommandError {
  return new CommandError(message, { exitCode: EXIT.notFound, remedy });
}

/** Returns the error of an exceeded time limit. */
export function timedOut(message: string, remedy?: string): CommandError {
  return new CommandError(message, { exitCode: EXIT.timedOut, remedy });
}

/** Returns the error of any other failure. */
export function failed(message: string, remedy?: string, cause?: unknown): CommandError {
  return new CommandError(message, { exitCode: EXIT.failure, remedy, cause });
}
