#!/usr/bin/env node
import { basename } from 'node:path';
import process from 'node:process';
import { CommanderError } from 'commander';
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
  const options = { catalog, version: packageJson.version, calledAs: calledAs() };
  try {
    return (await runProgram(options, process.argv.slice(2), contextOf())).exitCode;
  } catch (error) {
    // Help and usage errors were printed by commander itself.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return exitCodeOf(error);
  }
}

/** An error may name the exit code that it deserves: 2 for wrong usage. */
function exitCodeOf(error: unknown): number {
  const code = error instanceof Error && 'exitCode' in error ? error.exitCode : undefined;
  return typeof code === 'number' ? code : 1;
}

// A command that ended leaves nothing open that should keep the process.
process.exit(await main());
