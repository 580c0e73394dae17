import { JOB_ENTRY } from './job-entry.ts';
import { runProcess } from './run-process.ts';

/* The relay as a program of its own: it waits for hours in many Pods, so it loads nothing of other commands. */
await runProcess([{ heading: 'Machines', entries: [JOB_ENTRY] }]);
