import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Shells that may run a start text. */
export const SHELLS = ['dash', 'bash', 'busybox'] as const;
export type ShellName = (typeof SHELLS)[number];

/** Programs by which a machine can call its marketplace. */
export const CLIENTS = ['curl', 'python3', 'openssl'] as const;
export type ClientName = (typeof CLIENTS)[number];

/** Returns the path of a program of this machine; undefined if it is not installed. */
export function programPath(name: string): string | undefined {
  try {
    const found = execFileSync('sh', ['-c', 'command -v "$0"', name], { encoding: 'utf8' }).trim();
    // A shim finds its program by PATH.
    return name === 'python3'
      ? execFileSync(found, ['-c', 'import sys;print(sys.executable)'], { encoding: 'utf8' }).trim()
      : found;
  } catch {
    return undefined;
  }
}

/** Tools of every image with a shell; the clients are beside them. */
const TOOLS = ['cat', 'mkdir', 'mv', 'grep', 'timeout', 'mktemp', 'rm', 'tr', 'env'];

/** Seconds of one `sleep` of the container, for any argument. */
export const TICK_SECONDS = 0.1;

let containers = 0;

/** A folder that stands for a container: its programs, and the state of its fuse. */
export class Container {
  /** Id of its machine. */
  readonly id = String(++containers);
  readonly folder = mkdtempSync(join(tmpdir(), 'fuse-'));
  readonly state = join(this.folder, 'state');
  readonly #bin = join(this.folder, 'bin');
  readonly #log = join(this.folder, 'sleeps');
  readonly #started: ChildProcess[] = [];

  constructor(clients: readonly ClientName[] = []) {
    mkdirSync(this.#bin);
    for (const name of [...TOOLS, ...clients]) {
      const path = programPath(name);
      if (path !== undefined) symlinkSync(path, join(this.#bin, name));
    }
    // The fuse sleeps in the folder of its state.
    const note = `[ "$1" = 30 ]&&echo "$PPID $(cat t)">>${this.#log}`;
    this.program('sleep', `#!/bin/sh\n${note}\nexec ${programPath('sleep')} ${TICK_SECONDS}\n`);
  }

  /** Puts a program into the PATH of the container, instead of any other of that name. */
  program(name: string, text: string): void {
    const path = join(this.#bin, name);
    // The path may be a link to a program of this computer, and a write would follow it.
    rmSync(path, { force: true });
    writeFileSync(path, text, { mode: 0o755 });
  }

  /** Starts a text, as a marketplace runs it at each start of the container. */
  start(shell: ShellName, text: string, env: Readonly<Record<string, string>> = {}): ChildProcess {
    const file = join(this.folder, 'onstart.sh');
    writeFileSync(file, text);
    const child = spawn(programPath(shell) ?? shell, [...(shell === 'busybox' ? ['sh'] : []), file], {
      env: {
        ...{ PATH: this.#bin, HOME: this.folder, CONTAINER_ID: this.id, CONTAINER_API_KEY: `key-${this.id}` },
        ...{ GPURENTAL_DIR: this.state, TMPDIR: this.folder, ...env },
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    this.#started.push(child);
    return child;
  }

  /** Returns the sleeps so far, each with the count before it: a test may be late, and its container not. */
  sleeps(): readonly { readonly process: string; readonly count: number }[] {
    const text = existsSync(this.#log) ? readFileSync(this.#log, 'utf8') : '';
    return text.split('\n').flatMap((line) => {
      const [process, count = '0'] = line.split(' ');
      return process ? [{ process, count: Number(count) }] : [];
    });
  }

  /** Sends a signal to everything that the starts left running. */
  signal(signal: NodeJS.Signals): void {
    for (const { pid } of this.#started) {
      if (pid === undefined) continue;
      try {
        process.kill(-pid, signal);
      } catch {
        // Nothing of it runs any more.
      }
    }
  }

  /** Ends it as a stop of the machine does, without a signal that the program could handle. */
  kill(): void {
    this.signal('SIGKILL');
    this.#started.length = 0;
  }

  remove(): void {
    this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Resolves to the exit status of a start, its signal and its output. */
export async function ended(child: ChildProcess) {
  let [out, err] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const [status, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { status, signal, out, err };
}
