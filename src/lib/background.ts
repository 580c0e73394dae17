import { AsyncLocalStorage } from 'node:async_hooks';

/** The object and task of a piece of work, named in the log if an error goes uncaught. */
export interface Subject {
  /** The work: `reconcile gpuinstance`, `readiness probe`. */
  readonly task: string;
  /** namespace/name of the object of the work. */
  readonly object?: string | undefined;
}

const subjects = new AsyncLocalStorage<Subject>();

/** Returns the subject of the running work, also in its timers and promises; undefined outside of any. */
export function currentSubject(): Subject | undefined {
  return subjects.getStore();
}

/** Runs `work` so that {@link currentSubject} names this subject in it and in everything it starts. */
export function onBehalfOf<T>(subject: Subject, work: () => T): T {
  return subjects.run(subject, work);
}

/**
 * Starts work that no caller awaits. Never throws. An error or rejection of the work reaches `onError` once; an
 * `onError` that throws is left to the policy for unhandled rejections. Use it for all such work: the lint forbids
 * `void` before a promise, so that no promise lacks an error handler.
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
