import { fork } from 'node:child_process';
import { join } from 'node:path';
import { answerOf } from './generator.ts';

/** Worker with two addresses. */
export interface Backend {
  readonly name: string;
  /** An address of its own, with the port that all share. */
  readonly address: string;
  readonly sharedPort: number;
  /** On 127.0.0.1. */
  readonly ownPort: number;
}

export interface Backends {
  readonly pid: number;
  readonly all: readonly Backend[];
  stop(): void;
}

/** Workers that answer at once, in one process of their own; each does `atATime` requests, and lets others wait. */
export async function startBackends(count: number, atATime: number): Promise<Backends> {
  const child = fork(join(import.meta.dirname, 'backend-server.ts'), [String(count), String(atATime)]);
  return { pid: child.pid ?? 0, all: await answerOf(child), stop: () => child.kill() };
}
