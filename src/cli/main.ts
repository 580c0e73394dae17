#!/usr/bin/env node
import { basename } from 'node:path';
import process from 'node:process';
import packageJson from '../../package.json' with { type: 'json' };
import { catalog } from './catalog.ts';
import type { CommandContext } from './command.ts';
import { EXIT, Interrupted } from './command-error.ts';
import { runProgram } from './program.ts';

/** By convention a process that a signal ended says 128 and the signal's number. */
const SIGNALS = { SIGINT: EXIT.interrupted, SIGTERM: 143 } as const;

const abort = new AbortController();
let interruptedBy: number | undefined;

/** What this machine gives a command. The first Ctrl-C or SIGTERM asks it to end, a second one ends it. */
function contextOf(): CommandContext {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      interruptedBy = SIGNALS[signal];
      abort.abort(new Interrupted());
    });
  }
  const { stdout, stderr, stdin, env } = process;
  return { stdout, stderr, stdin, env, signal: abort.signal };
}

/** `kubectl gpu-rent` when kubectl called us under the name of its plugin. */
function calledAs(): string {
  return basename(process.argv[1] ?? '').startsWith('kubectl-gpu') ? 'kubectl gpu-rent' : 'gpu-rent';
}

async function main(): Promise<number> {
  const options = { groups: catalog, version: packageJson.version, calledAs: calledAs() };
  try {
    return await runProgram(options, process.argv.slice(2), contextOf());
  } catch (error) {
    const { describeFailure, describeInterruption } = await import('./describe-failure.ts');
    const isInterrupted = interruptedBy !== undefined || error instanceof Interrupted;
    const { lines, exitCode } = isInterrupted
      ? describeInterruption(error, interruptedBy ?? EXIT.interrupted)
      : describeFailure(error);
    process.stderr.write(lines.map((line) => `${line}\n`).join(''));
    return exitCode;
  }
}

/** Whatever reads us may have gone away, as `| head` does: that is no failure. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
}

const exitCode = await main();
// A pipe takes its time; then nothing that a command left open keeps the process.
process.stdout.write('', () => process.exit(exitCode));
