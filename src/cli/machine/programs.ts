import { constants } from 'node:os';
import process from 'node:process';
import type { CommandContext } from '../command.ts';
import { failed } from '../command-error.ts';

/** What a program of this machine gets and gives. */
export interface ProgramOptions {
  /** Whether it reads our stdin; nothing is there for it otherwise. */
  readonly stdin?: boolean;
  /** Receives its stdout, which otherwise is ours. */
  readonly onOutput?: (text: string) => void;
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Ends the program; Ctrl-C always does. */
  readonly signal?: AbortSignal;
}

/** ssh's own failures: it could not connect, or the connection was cut. */
export const SSH_FAILED = 255;

/**
 * Runs a program of this machine to its end; resolves to its exit code, by convention 128 and the number of the signal
 * that ended it. Ctrl-C and SIGTERM end it too: then it rejects with their reason once it is gone. Rejects with a
 * failure that says what to install if there is no such program.
 */
export async function runProgram(
  command: string,
  args: readonly string[],
  context: CommandContext,
  { stdin = false, onOutput, env, signal = context.signal }: ProgramOptions = {},
): Promise<number> {
  const { spawn } = await import('node:child_process');
  const ends = AbortSignal.any([signal, context.signal]);
  ends.throwIfAborted();
  const child = spawn(command, [...args], {
    stdio: [
      stdin ? ownOrPipe(context.stdin, process.stdin) : 'ignore',
      onOutput ? 'pipe' : ownOrPipe(context.stdout, process.stdout),
      ownOrPipe(context.stderr, process.stderr),
    ],
    ...(env && { env: { ...process.env, ...env } }),
  });
  // Whoever does not read to the end of our stdin is no failure of ours.
  child.stdin?.on('error', () => {});
  if (child.stdin) context.stdin.pipe(child.stdin);
  child.stdout?.setEncoding('utf8').on('data', onOutput ?? ((text: string) => context.stdout.write(text)));
  child.stderr?.on('data', (chunk: Buffer) => context.stderr.write(chunk));
  const end = () => child.kill('SIGTERM');
  ends.addEventListener('abort', end, { once: true });
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once('error', (error: NodeJS.ErrnoException) => reject(notRun(command, error)));
      child.once('close', (exit, by) => resolve(exit ?? 128 + (by ? constants.signals[by] : 0)));
    });
    context.signal.throwIfAborted();
    return code;
  } finally {
    ends.removeEventListener('abort', end);
    if (child.stdin) context.stdin.unpipe(child.stdin);
  }
}

function notRun(command: string, error: NodeJS.ErrnoException): Error {
  const remedy = command === 'rsync' ? 'Install rsync.' : 'Install OpenSSH, or use gpu-rent ssh --print.';
  return failed(`${command} cannot be run (${error.code}).`, remedy, error);
}

/** The program gets our own stream, with its terminal, unless a test gave another. */
function ownOrPipe(stream: unknown, own: unknown): 'inherit' | 'pipe' {
  return stream === own ? 'inherit' : 'pipe';
}
