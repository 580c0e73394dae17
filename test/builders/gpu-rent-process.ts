import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

const CLI = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');

/** A `gpu-rent` that runs as a process of its own. */
export interface GpuRentProcess {
  readonly child: ChildProcess;
  /** Returns its output on stdout and stderr so far. */
  readonly output: () => string;
  readonly exitCode: Promise<number | null>;
}

const started: GpuRentProcess[] = [];

/** Starts `gpu-rent` with these arguments; {@link killStarted} ends it where the test does not. */
export function gpuRent(...args: readonly string[]): GpuRentProcess {
  const child = spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += String(chunk);
    });
  const exitCode = new Promise<number | null>((resolve) => child.on('close', resolve));
  const run = { child, output: () => output, exitCode };
  started.push(run);
  return run;
}

/** Ends what {@link gpuRent} has started in this file and is still running. */
export function killStarted(): void {
  for (const { child } of started.splice(0)) child.kill('SIGKILL');
}

/** Returns the fields of the log line with that message; undefined before it was written. */
export function logged({ output }: GpuRentProcess, message: string): Record<string, string> | undefined {
  const line = output()
    .split('\n')
    .slice(0, -1)
    .find((text) => text.includes(`"${message}"`));
  return line === undefined ? undefined : JSON.parse(line);
}
