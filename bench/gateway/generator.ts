import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import type { LoadPlan, LoadResult } from './load.ts';

/** A process of its own that sends requests, so that its work is not counted as that of anything else. */
export interface LoadGenerator {
  readonly pid: number;
  /** Runs one plan at a time. Rejects if the process ended. */
  run(plan: LoadPlan): Promise<LoadResult>;
  stop(): void;
}

export async function startLoadGenerator(): Promise<LoadGenerator> {
  const child = fork(join(import.meta.dirname, 'load-generator.ts'));
  await answerOf(child);
  // What cannot be sent to it any more is told by the answer that does not come.
  child.on('error', () => {});
  return {
    pid: child.pid ?? 0,
    async run(plan) {
      const answer = answerOf<{ readonly result?: LoadResult; readonly error?: string }>(child);
      child.send(plan);
      const { result, error } = await answer;
      if (!result) throw new Error(`the load generator failed: ${error}`);
      return result;
    },
    stop: () => child.kill(),
  };
}

/** Returns the next message of a child; rejects if it ends before that. */
export function answerOf<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const gone = (code: number | null, signal: string | null): void =>
      reject(new Error(`${child.spawnargs.at(1)} ended (${signal ?? `exit code ${code}`})`));
    if (child.exitCode !== null || child.signalCode !== null) return gone(child.exitCode, child.signalCode);
    child.once('exit', gone);
    child.once('message', (message) => {
      child.off('exit', gone);
      resolve(message as T);
    });
  });
}
