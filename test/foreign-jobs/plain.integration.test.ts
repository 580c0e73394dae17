import { afterEach, expect, test } from 'vitest';
import { endPlaygrounds, READY_MS, remainsOf, startDemo } from '../demo/playground-process.ts';
import type { ForeignJobsOutcome } from './story.ts';

afterEach(endPlaygrounds);

/** The Job controller is only built on Linux. */
test.skipIf(process.platform !== 'linux')(
  'Jobs and Pods of other projects end with the code of their program and their whole log',
  async () => {
    const run = startDemo('../test/foreign-jobs/main', { PLAIN: '1' });
    const code = await run.ended;
    const outcome = JSON.parse(run.output().trim().split('\n').at(-1) ?? '') as ForeignJobsOutcome;
    expect(outcome, run.output()).toEqual({
      ...{ manifests: 6, asExpected: 5, refusedByField: 1 },
      ...{ hung: 0, machinesLeft: 0, outbid: 0, logLinesLost: 0 },
    });
    expect(code).toBe(0);
    expect(await remainsOf(run)).toEqual([]);
  },
  2 * READY_MS,
);
