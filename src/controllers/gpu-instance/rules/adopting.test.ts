import { describe } from 'vitest';
import { decisionTables } from '../../../../test/builders/decision-table.ts';
import { row } from '../../../../test/builders/observed.ts';

const { table, close } = decisionTables('adopting');

const watch = { adopt: { instanceId: 40, policy: 'Observe' } } as const;
const manage = { adopt: { instanceId: 40 } } as const;
const allowed = { adoption: 'Unlabelled' } as const;
const target = (change: Parameters<typeof row>[0] = {}) => ({
  adoptTarget: { row: row({ id: 40, ...change }), ownership: { type: 'unlabelled' as const } },
});

describe('a machine that is to be taken over', () => {
  table([
    [
      'is looked for in a complete list',
      { spec: manage, facts: allowed, list: 'none' },
      { rule: 'wait-for-list', afterMs: 5000, onList: true },
    ],
    [
      'is taken without a price where the service names none',
      {
        spec: manage,
        facts: allowed,
        list: target({ pricePerHour: undefined }),
        finalizers: ['gpurental.dev/machine'],
      },
      { rule: 'adopt', record: 'status', phase: 'Provisioning', says: 'Adopted', afterMs: 0 },
    ],
    [
      'is left alone for a namespace that the account does not allow',
      { spec: manage, facts: { ...allowed, permitted: false }, list: target() },
      { rule: 'refuse-adoption', phase: 'Failed', says: 'stalled: NamespaceNotAllowed', onList: true },
    ],
    [
      'is not taken while the object is paused',
      { spec: { ...manage, paused: true }, facts: allowed, list: target() },
      { rule: 'paused', phase: 'Paused', says: 'Paused' },
    ],
  ]);
});

describe('a machine that is to be watched', () => {
  table([
    [
      'is looked for, too',
      { spec: watch, facts: allowed, list: 'none' },
      { rule: 'wait-for-list', afterMs: 5000, onList: true },
    ],
    [
      'is missed where there is none',
      { spec: watch, facts: allowed },
      { rule: 'refuse-adoption', phase: 'Failed', says: 'stalled: AdoptionTargetMissing', onList: true },
    ],
    [
      'is shown while it does not run',
      { spec: watch, facts: allowed, list: target({ actualStatus: 'stopped' }) },
      { rule: 'observe', phase: 'Observed', says: 'NotRunning' },
    ],
    [
      'is shown while its host is offline',
      { spec: watch, facts: allowed, list: target({ actualStatus: 'offline' }) },
      { rule: 'observe', phase: 'Observed', says: 'NotRunning' },
    ],
  ]);
});

close();
