/** How a process says that it ended. */
export const EXIT = { ok: 0, failure: 1, usage: 2, notFound: 3, timedOut: 4, interrupted: 130 } as const;

/** A failure for people: what happened and why in `message`, what to do in `remedy`. */
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

/** A person gave up, or a signal asked the process to end. */
export class Interrupted extends Error {
  readonly exitCode: number;

  constructor(exitCode: number = EXIT.interrupted) {
    super('interrupted');
    this.name = 'Interrupted';
    this.exitCode = exitCode;
  }
}

/** The command line itself is wrong. */
export function usageError(message: string, remedy?: string): CommandError {
  return new CommandError(message, { exitCode: EXIT.usage, remedy });
}

/** What was named does not exist. */
export function notFound(message: string, remedy?: string): CommandError {
  return new CommandError(message, { exitCode: EXIT.notFound, remedy });
}

/** It did not come true in time. */
export function timedOut(message: string, remedy?: string): CommandError {
  return new CommandError(message, { exitCode: EXIT.timedOut, remedy });
}

/** Anything else that went wrong. */
export function failed(message: string, remedy?: string, cause?: unknown): CommandError {
  return new CommandError(message, { exitCode: EXIT.failure, remedy, cause });
}
