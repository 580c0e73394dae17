import { currentSubject } from '../../../src/lib/background.ts';

/** Takes what is broken. */
export interface Reports {
  report(invariant: string, text: string): void;
}

/**
 * Runs a world, in which a promise that rejects without a handler would have reached the process of every tenant: it
 * breaks the promise of isolation (I15), with the object that it was for.
 */
export async function minding<T>(reports: Reports, run: () => Promise<T>): Promise<T> {
  const rejected = (error: unknown) => {
    const { task = 'nothing known', object = 'no object' } = currentSubject() ?? {};
    const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    reports.report('I15', `nothing caught an error of ${task} for ${object}: ${what}`);
  };
  process.on('unhandledRejection', rejected);
  try {
    const result = await run();
    // A rejection is reported after the microtasks that caused it.
    await new Promise((resolve) => setImmediate(resolve));
    return result;
  } finally {
    process.off('unhandledRejection', rejected);
  }
}
