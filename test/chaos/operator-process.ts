import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

const ENTRY = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');

/** Operator in a separate process, which can be killed and frozen like a pod. */
export class OperatorProcess {
  readonly #args: readonly string[];
  readonly #nodeOptions: string;
  #child: ChildProcess | undefined;
  /** Output of this process and its predecessors. */
  output = '';

  constructor(args: readonly string[], nodeOptions = '') {
    this.#args = args;
    this.#nodeOptions = nodeOptions;
  }

  start(): void {
    const child = spawn(process.execPath, [ENTRY, 'operator', ...this.#args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NODE_OPTIONS: this.#nodeOptions },
    });
    const keep = (chunk: Buffer): void => {
      this.output += chunk.toString('utf8');
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    child.on('exit', () => {
      if (this.#child === child) this.#child = undefined;
    });
    this.#child = child;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  kill(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }

  /** Sends a signal that the process itself answers. */
  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }
}
