import { describe, expect, test } from 'vitest';
import { decide } from './decide.ts';
import { SweepMemory } from './sweep-memory.ts';
import type { Candidate, Observed } from './types.ts';

const NOW = 10_000_000;
const MINUTE = 60_000;

/** A machine that has been unclaimed for long. */
const candidate = (changes: Partial<Candidate> = {}): Candidate => ({
  instanceId: 5,
  issuedAt: NOW - 10 * MINUTE,
  startedAt: NOW - 10 * MINUTE,
  pricePerHour: 500_000,
  sweeps: 2,
  ...changes,
});

const observed = (changes: Partial<Observed> = {}): Observed => ({
  now: NOW,
  candidates: [candidate()],
  copied: [],
  before: { orphans: [], rolledBack: [], copied: [] },
  policy: 'Destroy',
  breaker: { type: 'closed' },
  sweep: 'allowed',
  isLeader: true,
  orphanAgeMs: MINUTE,
  newestRecordAt: NOW,
  ...changes,
});

const destroyed = (given: Observed) =>
  decide(given).actions.flatMap((action) => (action.type === 'destroy' ? [action.instanceId] : []));

describe('what counts as an orphan', () => {
  test.each([
    ['old, unclaimed twice', {}, true],
    ['younger than the age', { startedAt: NOW - MINUTE + 1 }, false],
    ['just as old as the age', { startedAt: NOW - MINUTE }, true],
    ['without a start date', { startedAt: undefined }, false],
    ['unclaimed once', { sweeps: 1 }, false],
  ] as const)('%s', (_, changes, isOrphan) => {
    const { findings } = decide(observed({ candidates: [candidate(changes)] }));
    expect(findings.orphans).toEqual(isOrphan ? [5] : []);
  });
});

describe('what keeps orphans from being destroyed', () => {
  const open = { type: 'open', since: 0, cause: 'massFailure', newlyBad: 9, message: '' } as const;
  test.each([
    ['nothing', {}, undefined],
    ['the policy', { policy: 'Report' }, 'the policy is to report'],
    ['another leader', { isLeader: false }, 'this process does not lead'],
    ['an open breaker', { breaker: open }, 'the breaker is open'],
    ['a cloned cluster', { sweep: 'clusterChanged' }, 'the identity belongs to another cluster'],
    ['a narrower scope', { sweep: 'scopeShrunk' }, 'fewer namespaces are watched than before'],
    ['a restored backup', { newestRecordAt: NOW - 20 * MINUTE }, 'memory was rolled back'],
  ] as const)('%s', (_, changes, kept) => {
    const given = observed(changes);
    expect(decide(given).kept).toBe(kept);
    expect(destroyed(given)).toEqual(kept === undefined ? [5] : []);
    expect(decide(given).findings.orphans).toEqual([5]);
  });

  test('one machine younger than every record keeps all of them', () => {
    const young = candidate({ instanceId: 6, issuedAt: NOW });
    const given = observed({ candidates: [candidate(), young], newestRecordAt: NOW - 5 * MINUTE });
    expect(decide(given).findings.rolledBack).toEqual([6]);
    expect(destroyed(given)).toEqual([]);
  });

  test('records are in whole seconds, which makes no machine younger', () => {
    const given = observed({ candidates: [candidate({ issuedAt: 1_000_999 })], newestRecordAt: 1_000_000 });
    expect(destroyed(given)).toEqual([5]);
  });
});

describe('what is told', () => {
  test('an orphan once, with its price', () => {
    const [event] = decide(observed()).actions;
    expect(event).toEqual({
      type: 'event',
      reason: 'OrphanFound',
      note: 'Machine 5 is ours, bills $0.50/h, and no GpuInstance claims it.',
    });
    const before = { orphans: [5], rolledBack: [], copied: [] };
    expect(decide(observed({ before })).actions.map(({ type }) => type)).toEqual(['destroy']);
  });

  test('a copied label once', () => {
    const given = observed({ candidates: [], copied: [8] });
    expect(decide(given).actions).toMatchObject([{ type: 'event', reason: 'LabelCopied' }]);
    expect(decide({ ...given, before: decide(given).findings }).actions).toEqual([]);
  });
});

test('a machine that is old enough and unclaimed for the first time is looked at again at once', () => {
  expect(decide(observed({ candidates: [candidate({ sweeps: 1 })] })).actions).toEqual([
    { type: 'lookAgain' },
  ]);
  const young = candidate({ sweeps: 1, startedAt: NOW });
  expect(decide(observed({ candidates: [young] })).actions).toEqual([]);
});

describe('counting sweeps', () => {
  test('the same list counts once however often it is looked at', () => {
    const memory = new SweepMemory();
    memory.count('login', 1, [5]);
    expect(memory.count('login', 1, [5]).get(5)).toBe(1);
    expect(memory.count('login', 2, [5]).get(5)).toBe(2);
  });

  test('a machine that was claimed in between starts anew', () => {
    const memory = new SweepMemory();
    memory.count('login', 1, [5]);
    memory.count('login', 2, []);
    expect(memory.count('login', 3, [5]).get(5)).toBe(1);
  });

  test('logins do not meet', () => {
    const memory = new SweepMemory();
    memory.count('one', 1, [5]);
    expect(memory.count('two', 1, [5]).get(5)).toBe(1);
  });
});

describe('what a consistent list settled', () => {
  test('speaks for the same machines for a minute', () => {
    const memory = new SweepMemory();
    memory.settle('login', [5, 6], 0);
    expect(memory.isSettled('login', [5, 6], 59_999)).toBe(true);
    expect(memory.isSettled('login', [5, 6], 60_000)).toBe(false);
  });

  test('says nothing about others', () => {
    const memory = new SweepMemory();
    memory.settle('login', [5], 0);
    expect(memory.isSettled('login', [5, 6], 1)).toBe(false);
    expect(memory.isSettled('other', [5], 1)).toBe(false);
  });
});
