import { basename } from 'node:path';
import process from 'node:process';
import packageJson from '../../package.json' with { type: 'json' };
import type { CatalogGroup, CommandContext } from './command.ts';
import { EXIT, Interrupted } from './command-error.ts';
import { runToEnd } from './program.ts';

/** 128 plus the signal's number. */
const EXIT_BY_SIGNAL = { SIGINT: EXIT.interrupted, SIGTERM: 143 } as const;

/**
 * Returns this machine's environment for a command. The first Ctrl-C or SIGTERM asks it to end, a second one ends it.
 */
function contextOf(): CommandContext {
  const abort = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => abort.abort(new Interrupted(EXIT_BY_SIGNAL[signal])));
  }
  const { stdout, stderr, stdin, env } = process;
  return { stdout, stderr, stdin, env, signal: abort.signal };
}

/** Returns `kubectl gpu-rent` when kubectl called the program by its plugin's name. */
function calledAs(): string {
  return basename(process.argv[1] ?? '').startsWith('kubectl-gpu') ? 'kubectl gpu-rent' : 'gpu-rent';
}

/** Runs the command line of this process with these commands, and ends the process with its exit code. */
export async function runProcess(groups: readonly CatalogGroup[]): Promise<void> {
  /**
   * Error of lost output. A reader may stop reading, as `| head` does; that is no failure, and a change continues to
   * its end. If results cannot be written at all, the command reports a failure at the end.
   */
  let unwritten: NodeJS.ErrnoException | undefined;
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') unwritten ??= error;
  });
  // stderr is closed: the failure cannot be reported.
  process.stderr.on('error', () => {});
  const program = { groups, version: packageJson.version, calledAs: calledAs() };
  const exitCode = await runToEnd(program, process.argv.slice(2), contextOf());
  // A pipe is asynchronous, and a failed write is reported after it; then no open handle of a command keeps the process
  // alive.
  process.stdout.write('', () => setImmediate(() => leave(exitCode, unwritten)));
}

function leave(exitCode: number, unwritten: NodeJS.ErrnoException | undefined): void {
  if (unwritten === undefined) process.exit(exitCode);
  const lines = [
    `Error: The results could not be written to stdout (${unwritten.code}); what was changed stays changed.`,
    'What to do: Check the present state before you repeat a change, and free space for stdout.',
  ];
  process.stderr.write(`${lines.join('\n')}\n`, () => process.exit(exitCode || EXIT.failure));
}
