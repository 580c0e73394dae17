import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { type Clock, sleep } from '../../lib/clock.ts';
import type { CommandLine } from './isolation.ts';

/** A started container, in its own process group. */
export interface MachineProcess {
  /** Resolves when its first process has ended, with all others of the group. */
  readonly ended: Promise<void>;
  /** Sends SIGTERM, and SIGKILL after the grace period if any process is left. Resolves when none is. */
  end(graceMs: number): Promise<void>;
}

export interface StartOptions {
  readonly command: CommandLine;
  readonly env: Readonly<Record<string, string>>;
  /** Path of a new pipe. */
  readonly pipe: string;
  readonly clock: Clock;
  /** Called with each part of stdout and stderr. */
  readonly onOutput: (bytes: Uint8Array) => void;
  /** Called with the process group when it starts and when it has ended. */
  readonly guard: { add(group: number): void; remove(group: number): void };
}

const POLL_MS = 50;
const DRAIN_MS = 1000;
/** A killed process that its parent never collects still counts as a member of its group. */
const MAX_POLLS = 40;

/** Starts a container. Throws if its process cannot be started. */
export function startMachineProcess(options: StartOptions): MachineProcess {
  const { command, env, clock, guard } = options;
  const output = openPipe(options.pipe, options.onOutput);
  const [program, ...args] = command;
  const child = spawn(program, args, {
    cwd: '/',
    env,
    stdio: ['ignore', output.writeEnd, output.writeEnd],
    detached: true,
  });
  closeSync(output.writeEnd);
  const { pid } = child;
  if (pid === undefined) {
    child.once('error', () => undefined);
    rmSync(options.pipe, { force: true });
    throw new Error(`${program} cannot be started`);
  }
  guard.add(pid);
  const firstEnded = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  // A container ends with its first process.
  const ended = firstEnded.then(async () => {
    for (let poll = 0; poll < MAX_POLLS && isAlive(pid); poll += 1) {
      signalGroup(pid, 'SIGKILL');
      await sleep(clock, POLL_MS);
    }
    guard.remove(pid);
    await output.drain(clock);
  });
  return {
    ended,
    async end(graceMs) {
      if (graceMs > 0) signalGroup(pid, 'SIGTERM');
      const until = clock.monotonic() + graceMs;
      let isOver = false;
      const noted = ended.then(() => {
        isOver = true;
      });
      while (!isOver && clock.monotonic() < until) await sleep(clock, POLL_MS);
      if (!isOver) signalGroup(pid, 'SIGKILL');
      await noted;
    },
  };
}

interface OutputPipe {
  readonly writeEnd: number;
  /** Resolves when everything was read, within a second, and deletes the pipe. */
  drain(clock: Clock): Promise<void>;
}

/**
 * Opens a named pipe. Node's own pipes are sockets, which a program cannot open as `/proc/1/fd/1`, and a file would be
 * cut by `>`.
 */
function openPipe(path: string, onOutput: (bytes: Uint8Array) => void): OutputPipe {
  rmSync(path, { force: true });
  execFileSync('mkfifo', [path]);
  const reader = new Socket({
    fd: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK),
    readable: true,
    writable: false,
  });
  reader.on('data', onOutput);
  reader.on('error', () => undefined);
  reader.unref();
  let isOpen = true;
  reader.once('close', () => {
    isOpen = false;
  });
  return {
    writeEnd: openSync(path, constants.O_WRONLY),
    // The output ends when the last writer has ended: without namespaces that may be a process of another session.
    async drain(clock) {
      const until = clock.monotonic() + DRAIN_MS;
      while (isOpen && clock.monotonic() < until) await sleep(clock, POLL_MS / 10);
      reader.destroy();
      rmSync(path, { force: true });
    },
  };
}

function isAlive(group: number): boolean {
  try {
    process.kill(-group, 0);
    return true;
  } catch {
    return false;
  }
}

function signalGroup(group: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-group, signal);
  } catch {
    // The process has already ended.
  }
}
