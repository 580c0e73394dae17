import type { CatalogEntry } from './command.ts';

/** The command `job` in the catalog. */
export const JOB_ENTRY: CatalogEntry = {
  name: 'job',
  summary: 'Run a program on a rented machine for a Job or another Pod, and exit with its code.',
  load: async () => (await import('./commands/job.ts')).jobCommand,
};
