import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** `gpu-rent` from its sources. */
export const CLI = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');
const END_WITH_PARENT = join(import.meta.dirname, 'end-with-parent.ts');

/** Hears each line that a process logs as JSON. */
export type LogListener = (line: Readonly<Record<string, unknown>>) => void;

/** A `gpu-rent` process of the demo; all it prints goes to its log file. */
export interface RunningProcess {
  readonly name: string;
  readonly logPath: string;
  /** Undefined if it could not be started. */
  readonly pid: number | undefined;
  /** The first line on stdout that is JSON. */
  readonly ready: Promise<Record<string, unknown>>;
  /** Resolves with a sentence as soon as it has ended. */
  readonly ended: Promise<string>;
  /** Asks it to end and resolves when it has; kills it after ten seconds. */
  stop(): Promise<void>;
}

function endOf(child: ChildProcess, name: string, logPath: string): Promise<string> {
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(`${name} could not be started: ${error.message}`));
    child.on('exit', (code, signal) =>
      resolve(`${name} ended (${signal ?? `exit code ${code}`}); see ${logPath}`),
    );
  });
}

/**
 * Starts `gpu-rent <args>` under the Node that runs this script, from its sources unless `entry` names a bundle. It
 * ends with this process, even if that is killed.
 */
export function startGpuRent(options: {
  readonly name: string;
  readonly args: readonly string[];
  readonly logFolder: string;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly entry?: string;
  /** Module that is loaded before the program. */
  readonly preload?: string | undefined;
  readonly onLog?: LogListener | undefined;
}): RunningProcess {
  const { name } = options;
  const logPath = join(options.logFolder, `${name}.log`);
  const log = createWriteStream(logPath);
  const preloads = [END_WITH_PARENT, ...(options.preload === undefined ? [] : [options.preload])];
  const program = [...preloads.flatMap((path) => ['--import', path]), options.entry ?? CLI];
  const child = spawn(process.execPath, [...program, ...options.args], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
    // Ctrl-C reaches this script alone, which then ends its processes in the right order.
    detached: true,
  });
  const ended = endOf(child, name, logPath);
  const { stdout, stderr } = child;
  if (!stdout || !stderr) throw new TypeError('a process was started without the pipes that it was given');
  stderr.pipe(log, { end: false });
  const ready = new Promise<Record<string, unknown>>((resolve, reject) => {
    createInterface({ input: stdout }).on('line', (line) => {
      log.write(`${line}\n`);
      if (!line.startsWith('{')) return;
      const json: Record<string, unknown> = JSON.parse(line);
      resolve(json);
      options.onLog?.(json);
    });
    void ended.then((why) => reject(new Error(why)));
  });
  ready.catch(() => {});
  return { name, logPath, pid: child.pid, ready, ended, stop: () => stopChild(child, ended) };
}

async function stopChild(child: ChildProcess, ended: Promise<string>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
  await ended;
  clearTimeout(timer);
}
