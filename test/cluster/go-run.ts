import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { formatElapsed, showProgress } from './progress.ts';

const GUARD = join(import.meta.dirname, 'go-guard.ts');
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Maximum number of output lines in an error message. */
const MAX_LINES = 15;

export interface GoRun {
  /** The module's folder. */
  readonly folder: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Receives every line of stdout and stderr as it comes. */
  readonly onLine: (line: string) => void;
  /** A folder for what go makes, its temporary files among it; it is removed if this process is ended meanwhile. */
  readonly unfinished?: string;
}

/**
 * Runs go below normal priority, without a C compiler and without the user's workspace. Rejects with its last lines if
 * it fails. If this process gets SIGINT, SIGTERM or SIGHUP, go and its compilers are ended, it rejects, and the signal
 * takes effect once callers have cleaned up; if this process is killed, they are ended and `unfinished` is removed.
 */
export function runGo({ folder, args, env, onLine, unfinished = '' }: GoRun): Promise<void> {
  const child = spawn(process.execPath, [GUARD, unfinished, ...args], {
    cwd: folder,
    env: { ...env, CGO_ENABLED: '0', GOWORK: 'off', ...(unfinished !== '' && { GOTMPDIR: unfinished }) },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  const last: string[] = [];
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      last.splice(0, last.length - MAX_LINES + 1, line);
      onLine(line);
    });
  }
  let received: NodeJS.Signals | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    received ??= signal;
    child.stdin.end();
  };
  child.stdin.on('error', () => {});
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return new Promise((resolve, reject) => {
    const settle = (error: Error | undefined) => {
      for (const signal of SIGNALS) process.off(signal, onSignal);
      if (error === undefined) resolve();
      else reject(error);
      // Whoever else listens decides what the signal means; else it ends this process as if nobody had listened.
      if (received !== undefined && process.listenerCount(received) === 0) endBy(received);
    };
    child.once('error', (error) => settle(new Error(`go could not be run: ${error.message}`)));
    child.once('close', (code, signal) => {
      if (code === 0 && received === undefined) settle(undefined);
      else {
        const how = received ?? signal ?? code;
        settle(new Error(`go ${args[0]} failed (${how}):\n${last.join('\n')}`));
      }
    });
  });
}

/** Ends this process by the signal, after callers have cleaned up; immediately if an uncaught error ends it. */
function endBy(signal: NodeJS.Signals): void {
  const raise = () => process.kill(process.pid, signal);
  process.once('exit', raise);
  setImmediate(raise);
}

/** Shows on stderr how long the work has been going on and what it last said, until it is done or has failed. */
export async function withProgress(
  title: string,
  work: (show: (rest: string) => void) => Promise<void>,
): Promise<void> {
  const progress = showProgress(process.stderr, title);
  const startedAt = performance.now();
  const elapsed = () => formatElapsed(performance.now() - startedAt);
  let rest = 'starting';
  const show = () => progress.update(`${elapsed()}, ${rest}`);
  show();
  // Keeps the clock moving while one package takes long.
  const ticking = setInterval(show, 1_000);
  try {
    await work((text) => {
      rest = text;
    });
    progress.end(`done in ${elapsed()}`);
  } catch (error) {
    progress.end(`failed after ${elapsed()}, ${rest}`);
    throw error;
  } finally {
    clearInterval(ticking);
  }
}

/** Returns true for messages of go itself, not of a package, such as `go: downloading …`. */
export const isAboutGo = (line: string): boolean => line.startsWith('go: ');
