import { constants } from 'node:os';
import process from 'node:process';
import type { CommandContext } from '../command.ts';
import { failed } from '../command-error.ts';

/** Input and output of a local program. */
export interface ProgramOptions {
  /** True if it reads this process's stdin; otherwise its stdin is empty. */
  readonly stdin?: boolean;
  /** Receives its stdout, which is this process's by default. */
  readonly onOutput?: (text: string) => void;
  /** Variables in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Aborting it ends the program; Ctrl-C always does. */
  readonly signal?: AbortSignal;
}

/** Exit code of ssh's own failures: no connection, or a broken one. */
export const SSH_FAILED = 255;

/**
 * Runs a local program to its end; resolves to its exit code, by convention 128 plus the signal that ended it. Ctrl-C
 * and SIGTERM end it too: then it rejects with their reason after its end. If the program is missing it rejects with a
 * failure that names what to install.
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
  // A program that does not read all of stdin is no failure.
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

/** Returns this process's own stream, with its terminal, unless a test passed another one. */
function ownOrPipe(stream: unknown, own: unknown): 'inherit' | 'pipe' {
  return stream === own ? 'inherit' : 'pipe';
}
