#!/usr/bin/env node
import { basename } from 'node:path';
import process from 'node:process';
import packageJson from '../../package.json' with { type: 'json' };
import { catalog } from './catalog.ts';
import type { CommandContext } from './command.ts';
import { runProgram } from './program.ts';

/** What this machine gives a command. The first Ctrl-C or SIGTERM asks it to end, a second one ends it. */
function contextOf(): CommandContext {
  const abort = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => abort.abort(new Error(`received ${signal}`)));
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
    const { describeFailure } = await import('./describe-failure.ts');
    const { lines, exitCode } = describeFailure(error);
    process.stderr.write(lines.map((line) => `${line}\n`).join(''));
    return exitCode;
  }
}

/** Whatever reads us may have gone away, as `| head` does: that is no failure. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

const exitCode = await main();
// A pipe takes its time; then nothing that a command left open keeps the process.
process.stdout.write('', () => process.exit(exitCode));
