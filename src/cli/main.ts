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

keepCompiled(process.env);
await import('./start.ts');
