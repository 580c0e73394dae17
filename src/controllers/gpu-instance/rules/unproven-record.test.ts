import { describe } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import { at, facts, type Given, holding, machineOf } from '../../../../test/builders/observed.ts';
import type { AbsenceView } from '../types.ts';

const { table, close } = decisionTables('unproven-record');

/** Returns an object that is to be stopped and has no machine, with a foreign machine written into its status. */
const written = (absence: AbsenceView, more: Given = {}): Given => ({
  spec: { powerState: 'Stopped' },
  status: { ...holding(), instanceId: '9' },
  ...more,
  observed: { absences: new Map([['9', absence]]), ...more.observed },
});
const missing = (...lists: readonly number[]): AbsenceView => ({ lists, read: undefined });
const LONG = [at(-70), at(-1)];
const KEPT = { rule: 'stopped-and-unrented', phase: 'Stopped', says: 'Ready' };

describe('a machine that a person wrote into the status of a stopped object', () => {
  table([
    ['is looked for in lists', written(missing(at(-1))), { ...KEPT, afterMs: 60_000, onList: true }],
    [
      'is looked for in lists that are far enough apart',
      written(missing(at(-50), at(-1))),
      { ...KEPT, afterMs: 60_000, onList: true },
    ],
    ['is asked for by itself', written(missing(...LONG)), { reads: [{ type: 'machine', instanceId: '9' }] }],
    [
      'is asked for again where that failed',
      written({ lists: LONG, read: 'failed' }),
      { ...KEPT, afterMs: 60_000, onList: true },
    ],
    [
      'is not given up by a key of which nobody knows whose it is',
      written({ lists: LONG, read: 'absent' }),
      { reads: [{ type: 'loginProof' }] },
    ],
    [
      'is not given up by a key of another login',
      written({ lists: LONG, read: 'absent' }, { observed: { loginProven: false } }),
      { ...KEPT, afterMs: 60_000, onList: true },
    ],
    [
      'is forgotten where it is proven that there is none',
      written({ lists: LONG, read: 'absent' }, { observed: { loginProven: true } }),
      KEPT,
    ],
    ['is no question where nobody wrote one', { spec: { powerState: 'Stopped' }, list: 'none' }, KEPT],
    ['stays where there is one', written({ lists: LONG, read: 'present' }), KEPT],
    ['stays where it is listed', written(missing()), KEPT],
    [
      'stays while the breaker is open',
      written(
        { lists: LONG, read: 'absent' },
        {
          observed: { loginProven: true },
          facts: { breaker: { type: 'open', since: 0, cause: 'listFailed', unhealthy: 0, message: 'Wait.' } },
        },
      ),
      KEPT,
    ],
    [
      'stays while the account is not ready',
      written(
        { lists: LONG, read: 'absent' },
        {
          observed: { loginProven: true },
          account: { state: 'notReady', reason: 'KeyRejected', message: 'No key.', facts: facts() },
        },
      ),
      KEPT,
    ],
    [
      'gives way to the true one, which is found by its label and guarded first',
      written({ lists: LONG, read: 'absent' }, { observed: { loginProven: true }, machines: [machineOf(1)] }),
      { rule: 'restore-finalizer', record: 'finalizer', afterMs: 0 },
    ],
  ]);
});

close();
