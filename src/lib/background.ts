import { AsyncLocalStorage } from 'node:async_hooks';

/** What a piece of work is about, so that an error that nothing caught can name it. */
export interface Subject {
  /** The work: `reconcile gpuinstance`, `readiness probe`. */
  readonly task: string;
  /** namespace/name of the object that it is done for. */
  readonly object?: string | undefined;
}

const subjects = new AsyncLocalStorage<Subject>();

/** The subject of the work that runs now, also in its timers and promises; undefined outside of any. */
export function currentSubject(): Subject | undefined {
  return subjects.getStore();
}

/** Runs `work` so that {@link currentSubject} names this subject in it and in everything it starts. */
export function onBehalfOf<T>(subject: Subject, work: () => T): T {
  return subjects.run(subject, work);
}

/**
 * Starts work that nothing awaits. Never throws. Whatever the work throws or rejects with reaches `onError`, once; an
 * `onError` that throws is left to the policy for unhandled rejections. The only way to start such work: the lint
 * forbids `void` before a promise, so that a promise without an error handler does not pass.
 */
export function inBackground(
  subject: Subject,
  work: () => Promise<unknown>,
  onError: (error: unknown) => void,
): void {
  onBehalfOf(subject, () => {
    startedBy(work).catch(onError);
  });
}

async function startedBy(work: () => Promise<unknown>): Promise<void> {
  await work();
}
