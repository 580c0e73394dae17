#!/usr/bin/env node
import './require-node.ts';
// The whole module: an old Node.js, which gets an error message next, lacks some functions.
import module from 'node:module';
import process from 'node:process';

/**
 * Keeps V8's compiled code in a folder of the user: compiling takes three times as long as printing the help. Without
 * such a folder, or without permission to write it, the program is compiled each time.
 */
function keepCompiled({ XDG_CACHE_HOME, HOME }: NodeJS.ProcessEnv): void {
  const caches = XDG_CACHE_HOME || (HOME && `${HOME}/.cache`);
  if (caches) module.enableCompileCache(`${caches}/gpu-rent-compiled`);
}

/** Long-running programs: warnings of Node.js belong in their logs. */
const SERVERS: ReadonlySet<string | undefined> = new Set(['operator', 'endpoint-picker', 'simulator']);

/**
 * Hides warnings of Node.js about its own options and features on stderr: scripts read it, and users cannot act on
 * them. `NODE_OPTIONS=--trace-warnings` shows them.
 */
function keepWarningsOff({ NODE_OPTIONS = '' }: NodeJS.ProcessEnv, command: string | undefined): void {
  if (SERVERS.has(command) || NODE_OPTIONS.includes('--trace-warnings')) return;
  process.removeAllListeners('warning');
}

keepCompiled(process.env);
keepWarningsOff(process.env, process.argv[2]);
await (process.argv[2] === 'job' ? import('./start-job.ts') : import('./start.ts'));
