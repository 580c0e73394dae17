import { describe, expect, test } from 'vitest';
import { decisionTables } from '../../../test/builders/decision-table.ts';
import { lost } from '../../../test/builders/ending-machine.ts';
import { at, given, offer, withMachine } from '../../../test/builders/observed.ts';
import { decide } from './decide.ts';

/* P5: an account that is suspended rents and starts nothing, and what it has stays. */

const { table, close } = decisionTables('suspended');
const suspended = { suspended: true } as const;

describe('P5: an object of a suspended account', () => {
  table([
    [
      'scenario 122: waits without a search when it has no machine',
      { facts: suspended, observed: { offers: new Map([[0, { type: 'found', offers: [offer()] }]]) } },
      { rule: 'account-suspended', phase: 'Pending', says: 'Suspended' },
    ],
    [
      'keeps its running machine',
      withMachine({}, { facts: suspended }),
      { rule: 'run', phase: 'Running', says: 'Ready' },
    ],
    [
      'scenario 122: does not start its stopped machine',
      withMachine({ state: 'stopped' }, { facts: suspended }),
      { rule: 'account-suspended', phase: 'Stopped', says: 'Suspended' },
    ],
    [
      'awaits a start that was answered before the suspension',
      withMachine({ state: 'stopped' }, { facts: suspended, memory: { startAnsweredAt: at(-5) } }),
      { rule: 'start', record: 'status', phase: 'Starting', says: 'Starting', afterMs: 115_000 },
    ],
    [
      'keeps a lost machine, whose replacement waits',
      lost({ facts: suspended }),
      { rule: 'lost', phase: 'Lost', says: 'Suspended', afterMs: 60_000 },
    ],
    [
      'is deleted as always',
      withMachine({}, { facts: suspended, deleting: true }),
      { rule: 'destroy-machines', actions: ['destroy 1 (Deleting)'], afterMs: 5000, onList: true },
    ],
  ]);
});

test('P5: the message of a lost machine that is kept names what it bills', () => {
  const step = decide(given(lost({ facts: suspended })));
  expect(step).toMatchObject({
    status: {
      verdict: { Ready: { message: expect.stringMatching(/^Lost machine 1 is kept and bills \$/) } },
    },
  });
});

close();
