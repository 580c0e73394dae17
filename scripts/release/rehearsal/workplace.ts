import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface CommandOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
}

/** A temporary folder and the processes that work in it. Nothing of it outlives this process, whatever ends that. */
export interface Workplace {
  readonly folder: string;
  /** Resolves with standard output; rejects with the last lines of both outputs. */
  run(command: readonly [string, ...string[]], options: CommandOptions): Promise<string>;
  /** Starts a server; resolves with what `ready` finds in a line of its standard error. */
  serve(command: readonly [string, ...string[]], options: CommandOptions, ready: RegExp): Promise<string>;
  /** Ends the processes and removes the folder. */
  close(): Promise<void>;
}

const LAST_LINES = 12;

/** `signal` ends what runs and lets nothing else begin. */
export function openWorkplace(signal: AbortSignal): Workplace {
  const folder = mkdtempSync(join(tmpdir(), 'release-rehearsal-'));
  const caretaker = spawn(process.execPath, [join(import.meta.dirname, 'caretaker.ts'), folder], {
    stdio: ['pipe', 'ignore', 'inherit'],
    detached: true,
  });
  const gone = once(caretaker, 'exit');
  caretaker.stdin.on('error', () => {});

  /** Starts each in a process group of its own, so that its child processes end with it. */
  const start = ([path, ...args]: readonly [string, ...string[]], options: CommandOptions): ChildProcess => {
    signal.throwIfAborted();
    const child = spawn(path, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const { pid } = child;
    if (pid === undefined) return child;
    caretaker.stdin.write(`+${pid}\n`);
    child.once('exit', () => caretaker.stdin.write(`-${pid}\n`));
    return child;
  };

  return {
    folder,
    run: (command, options) => outputOf(start(command, options), command.join(' ')),
    serve: (command, options, ready) => firstMatch(start(command, options), command.join(' '), ready),
    async close() {
      caretaker.stdin.end();
      await gone;
    },
  };
}

async function outputOf(child: ChildProcess, name: string): Promise<string> {
  let output = '';
  let both = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    output += text;
    both += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (both += text));
  const code = await new Promise<number | string | null>((resolve, reject) => {
    child.once('error', (error) => reject(new Error(`${name} could not be started: ${error.message}`)));
    child.once('close', (exitCode, exitSignal) => resolve(exitSignal ?? exitCode));
  });
  if (code === 0) return output;
  throw new Error(`${name} ended with ${code}:\n${both.trimEnd().split('\n').slice(-LAST_LINES).join('\n')}`);
}

function firstMatch(child: ChildProcess, name: string, ready: RegExp): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.once('error', (error) => reject(new Error(`${name} could not be started: ${error.message}`)));
  child.once('exit', (code, signal) =>
    reject(new Error(`${name} ended with ${signal ?? code} before it was ready`)),
  );
  // Both are read to the end: a full pipe would stop the server.
  child.stdout?.resume();
  if (child.stderr)
    createInterface({ input: child.stderr }).on('line', (line) => {
      const [, found] = ready.exec(line) ?? [];
      if (found !== undefined) resolve(found);
    });
  return promise;
}
