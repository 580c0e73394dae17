/**
 * Runs `go` in a process group of its own. When stdin closes, which it does however the process at its other end goes,
 * it ends go with its compilers and removes what they made.
 *
 * Usage: node go-guard.ts UNFINISHED ARGUMENT_OF_GO...
 */
import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';

/** Go removes its work after SIGINT; what is still there then is killed. */
const GRACE_MS = 5_000;
/** Exit code of a shell for a program that it cannot run. */
const NOT_RUN = 127;

const [unfinished = '', ...args] = process.argv.slice(2);
// They are for go alone: this process goes when go is gone.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

const go = spawn('go', args, { stdio: ['ignore', 'inherit', 'inherit'] });
let isEnding = false;

function end(): void {
  if (isEnding) return;
  isEnding = true;
  process.kill(-process.pid, 'SIGINT');
  setTimeout(finish, GRACE_MS);
}

function finish(): void {
  if (unfinished !== '') rmSync(unfinished, { recursive: true, force: true });
  // The whole group, this process too: a compiler may have outlived go.
  process.kill(-process.pid, 'SIGKILL');
}

process.stdin.on('close', end).resume();
go.once('error', (error) => {
  process.stderr.write(`go could not be run: ${error.message}\n`);
  process.exitCode = NOT_RUN;
  process.stdin.off('close', end).destroy();
});
go.once('exit', (code) => {
  if (isEnding) finish();
  process.exitCode = code ?? 1;
  process.stdin.off('close', end).destroy();
});
