import { type ChildProcess, spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A program beside the bench, whose processor time and memory are read from outside. */
export interface Child {
  readonly name: string;
  readonly pid: number;
  /** Throws if it has ended, with the end of what it said. */
  check(): void;
  stop(): Promise<void>;
}

/** Longer than it takes to write a profile. */
const KILL_AFTER_MS = 30_000;

export interface ChildOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** All that it prints goes to a file there. */
  readonly logFolder: string;
}

/** Starts a program, which ends with this process unless that is killed. */
export function startChild({ name, command, args, env, logFolder }: ChildOptions): Child {
  const logPath = join(logFolder, `${name.replaceAll(/[^a-zA-Z0-9.-]/g, '-')}.log`);
  const log = openSync(logPath, 'w');
  const child = spawn(command, args, { stdio: ['ignore', log, log], env: { ...process.env, ...env } });
  let end: string | undefined;
  const ended = new Promise<void>((resolve) => {
    const note = (why: string): void => {
      end ??= why;
      resolve();
    };
    child.once('error', (error) => note(error.message));
    child.once('exit', (code, signal) => note(signal ?? `exit code ${code}`));
  });
  const kill = (): boolean => child.kill('SIGKILL');
  process.once('exit', kill);
  return {
    name,
    pid: child.pid ?? 0,
    check() {
      if (end === undefined) return;
      throw new Error(`${name} ended (${end}): ${readFileSync(logPath, 'utf8').trim().slice(-500)}`);
    },
    async stop() {
      await stopped(child, ended);
      process.off('exit', kill);
    },
  };
}

async function stopped(child: ChildProcess, ended: Promise<void>): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
  await ended;
  clearTimeout(timer);
}
