#!/usr/bin/env node
import './require-node.ts';
// All of the module: an old Node.js, which is about to be told so, does not have every function.
import module from 'node:module';
import process from 'node:process';

/**
 * Keeps what V8 compiles of the program, in a folder of the user: to compile it takes three times as long as to print the
 * help. Where there is no such folder, or none may be written, the program is compiled each time.
 */
function keepCompiled({ XDG_CACHE_HOME, HOME }: NodeJS.ProcessEnv): void {
  const caches = XDG_CACHE_HOME || (HOME && `${HOME}/.cache`);
  if (caches) module.enableCompileCache(`${caches}/gpu-rent-compiled`);
}

/** Programs that run for long: what Node.js warns of belongs in their logs. */
const SERVERS: ReadonlySet<string | undefined> = new Set(['operator', 'endpoint-picker', 'simulator']);

/**
 * Keeps warnings of Node.js itself, about its own options and features, off stderr: scripts read it, and no user can act on
 * them. `NODE_OPTIONS=--trace-warnings` shows them.
 */
function keepWarningsOff({ NODE_OPTIONS = '' }: NodeJS.ProcessEnv, command: string | undefined): void {
  if (SERVERS.has(command) || NODE_OPTIONS.includes('--trace-warnings')) return;
  process.removeAllListeners('warning');
}

keepCompiled(process.env);
keepWarningsOff(process.env, process.argv[2]);
await import('./start.ts');
