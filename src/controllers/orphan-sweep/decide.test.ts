import { describe, expect, test } from 'vitest';
import { decide } from './decide.ts';
import { SweepMemory } from './sweep-memory.ts';
import type { Candidate, Observed } from './types.ts';

const NOW = 10_000_000;
const MINUTE = 60_000;

/** Returns a machine that has been orphaned for a long time. */
const candidate = (changes: Partial<Candidate> = {}): Candidate => ({
  instanceId: '5',
  issuedAt: NOW - 10 * MINUTE,
  startedAt: NOW - 10 * MINUTE,
  pricePerHour: 500_000,
  label: 'ours',
  isAgreed: true,
  sweeps: 2,
  newestRecordAt: NOW,
  ...changes,
});

const observed = (changes: Partial<Observed> = {}): Observed => ({
  now: NOW,
  candidates: [candidate()],
  copied: [],
  before: { orphans: [], unsettled: [], rolledBack: [], confirmedAt: 0, copied: [] },
  policy: 'Destroy',
  breaker: { type: 'closed' },
  sweep: 'allowed',
  isLeader: true,
  orphanAgeMs: MINUTE,
  lateOrphanAgeMs: 60 * MINUTE,
  latched: [],
  maxOrphans: 3,
  swept: { lastHour: new Set(), lastWindow: 0 },
  massLatched: [],
  massConfirmed: new Set(),
  machines: 20,
  confirmedAt: 0,
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
    ['late, and younger than an hour (H6)', { isLate: true, startedAt: NOW - 60 * MINUTE + 1 }, false],
    ['late, and an hour old (H6)', { isLate: true, startedAt: NOW - 60 * MINUTE }, true],
  ] as const)('%s', (_, changes, isOrphan) => {
    const { findings } = decide(observed({ candidates: [candidate(changes)] }));
    expect(findings.orphans).toEqual(isOrphan ? ['5'] : []);
  });
});

test.each([
  ['old, unclaimed twice', {}, []],
  ['too young', { startedAt: NOW }, ['5']],
  ['unclaimed once', { sweeps: 1 }, ['5']],
  ['without a start date, which makes no orphan of it ever', { startedAt: undefined }, []],
] as const)('counts what may still become an orphan as unsettled: %s', (_, changes, unsettled) => {
  expect(decide(observed({ candidates: [candidate(changes)] })).findings).toMatchObject({ unsettled });
});

describe('a machine that is listed again after this operator destroyed it for a deleted object', () => {
  const again = candidate({ wasDestroyed: true, startedAt: NOW - 1 });

  test('is destroyed again under orphanPolicy Report, whatever its age', () => {
    const { actions, kept, events } = decide(observed({ policy: 'Report', candidates: [again] }));
    expect(actions).toMatchObject([{ type: 'destroy', instanceId: '5', wasDestroyed: true }]);
    expect(kept).toBeUndefined();
    expect(events).toMatchObject([
      {
        reason: 'OrphanFound',
        note: 'Machine 5 is listed again after its destroy and bills $0.50/h. The operator destroys it again.',
      },
    ]);
  });

  test('is destroyed alone: policy Report keeps every other orphan', () => {
    const candidates = [candidate({ instanceId: '4' }), again];
    const given = observed({ policy: 'Report', candidates });
    expect(destroyed(given)).toEqual(['5']);
    expect(decide(given)).toMatchObject({
      kept: 'the policy is to report',
      findings: { orphans: ['4', '5'] },
    });
  });

  test.each([
    ['it was unclaimed once', { candidates: [{ ...again, sweeps: 1 }] }],
    ['lists disagree on its label', { candidates: [{ ...again, isAgreed: false }] }],
    ['it has no start date', { candidates: [{ ...again, startedAt: undefined }] }],
    ['this process does not lead', { isLeader: false }],
    ['memory was rolled back', { latched: ['9'] }],
    ['fewer namespaces are watched', { sweep: 'scopeShrunk' }],
  ] as const)('stays while %s', (_, changes) => {
    expect(destroyed(observed({ candidates: [again], policy: 'Report', ...changes }))).toEqual([]);
  });

  test('is no sign of a mass of lost objects', () => {
    const candidates = ['5', '6', '7', '8'].map((instanceId) => ({ ...again, instanceId }));
    expect(decide(observed({ candidates })).findings.massOrphaned).toBeUndefined();
    expect(destroyed(observed({ candidates }))).toEqual(['5', '6', '7', '8']);
  });
});

test('nothing is old enough while the time of the service is stale (H2)', () => {
  const { findings } = decide(observed({ now: undefined }));
  expect(findings).toMatchObject({ orphans: [], unsettled: ['5'] });
});

test('scenario 87: reports a late machine once, with its price, and as an orphan after an hour (H6)', () => {
  const late = candidate({ isLate: true, startedAt: NOW - MINUTE });
  const { findings, actions, events } = decide(observed({ candidates: [late] }));
  expect(findings).toMatchObject({ orphans: [], unsettled: ['5'], late: ['5'] });
  expect(actions).toEqual([]);
  expect(events).toEqual([
    {
      type: 'Warning',
      reason: 'OrphanFound',
      action: 'SweepOrphans',
      note: expect.stringContaining('Machine 5 has a label of this operator, bills $0.50/h'),
    },
  ]);
  expect(decide(observed({ candidates: [late], before: findings }))).toMatchObject({
    actions: [],
    events: [],
  });
  const old = { ...late, startedAt: NOW - 60 * MINUTE };
  expect(decide(observed({ candidates: [old], before: findings })).actions).toContainEqual({
    type: 'destroy',
    instanceId: '5',
    pricePerHour: 500_000,
    label: 'ours',
    startedAt: NOW - 60 * MINUTE,
  });
});

test('keeps an orphan while lists do not agree on its label (A3)', () => {
  const { actions, findings } = decide(observed({ candidates: [candidate({ isAgreed: false })] }));
  expect(actions).toEqual([]);
  expect(findings.unsettled).toEqual(['5']);
});

/** A machine that is younger than everything on record. */
const UNKNOWN = candidate({ newestRecordAt: NOW - 20 * MINUTE });

describe('what keeps orphans from being destroyed', () => {
  const open = { type: 'open', since: 0, cause: 'massFailure', unhealthy: 9, message: '' } as const;
  test.each([
    ['nothing', {}, undefined],
    ['the policy', { policy: 'Report' }, 'the policy is to report'],
    ['another leader', { isLeader: false }, 'this process does not lead'],
    ['an open breaker', { breaker: open }, 'the breaker is open'],
    ['a cloned cluster', { sweep: 'clusterChanged' }, 'the identity belongs to another cluster'],
    ['a narrower scope', { sweep: 'scopeShrunk' }, 'fewer namespaces are watched than before'],
    ['a restored backup', { candidates: [UNKNOWN] }, 'memory was rolled back'],
    ['a restored backup that nobody has confirmed yet', { latched: ['9'] }, 'memory was rolled back'],
    ['a record of a newer operator', { hasNewerRecord: true }, 'a record is of a newer version'],
  ] as const)('%s', (_, changes, kept) => {
    const given = observed(changes);
    expect(decide(given).kept).toBe(kept);
    expect(destroyed(given)).toEqual(kept === undefined ? ['5'] : []);
    expect(decide(given).findings.orphans).toEqual(['5']);
  });

  test('one machine younger than every record keeps all of them', () => {
    const given = observed({ candidates: [candidate(), { ...UNKNOWN, instanceId: '6' }] });
    expect(decide(given).findings.rolledBack).toEqual(['6']);
    expect(destroyed(given)).toEqual([]);
  });

  test('records are in whole seconds, which makes no machine younger', () => {
    const judged = (issuedAt: number) =>
      destroyed(observed({ candidates: [candidate({ issuedAt, newestRecordAt: 1_000_000 })] }));
    expect(judged(1_001_000)).toEqual(['5']);
    expect(judged(1_001_001)).toEqual([]);
  });

  test('a machine that was there when a person confirmed is an orphan like any other', () => {
    const given = observed({ candidates: [UNKNOWN], confirmedAt: UNKNOWN.issuedAt });
    expect(decide(given).findings).toMatchObject({ rolledBack: [], confirmedAt: UNKNOWN.issuedAt });
    expect(destroyed(given)).toEqual(['5']);
    expect(destroyed({ ...given, confirmedAt: UNKNOWN.issuedAt - 1_001 })).toEqual([]);
  });
});

describe('events', () => {
  test('an orphan once, with its price', () => {
    expect(decide(observed()).events).toEqual([
      {
        type: 'Warning',
        reason: 'OrphanFound',
        action: 'SweepOrphans',
        note: 'Machine 5 was rented by this operator, bills $0.50/h, and no GpuInstance claims it.',
      },
    ]);
    const before = { orphans: ['5'], unsettled: [], rolledBack: [], confirmedAt: 0, copied: [] };
    expect(decide(observed({ before }))).toMatchObject({ actions: [{ type: 'destroy' }], events: [] });
  });

  test('a copied label once', () => {
    const given = observed({ candidates: [], copied: ['8'] });
    expect(decide(given)).toMatchObject({ actions: [], events: [{ reason: 'OrphanFound' }] });
    expect(decide({ ...given, before: decide(given).findings }).events).toEqual([]);
  });
});

test('polls again at once when a machine is old enough and an orphan for the first time', () => {
  expect(decide(observed({ candidates: [candidate({ sweeps: 1 })] })).actions).toEqual([
    { type: 'lookAgain' },
  ]);
  const young = candidate({ sweeps: 1, startedAt: NOW });
  expect(decide(observed({ candidates: [young] })).actions).toEqual([]);
});

describe('what is remembered of orphans', () => {
  /** Returns the sweep of a list that begins at this time, with nothing on record. */
  const at = (listBegunAt: number, newestRecordAt = 0) => ({ listBegunAt, newestRecordAt });

  test('the same list counts once however often it is looked at', () => {
    const memory = new SweepMemory();
    memory.count('login', at(1), ['5']);
    expect(memory.count('login', at(1), ['5']).get('5')?.sweeps).toBe(1);
    expect(memory.count('login', at(2), ['5']).get('5')?.sweeps).toBe(2);
  });

  test('starts counting again when a machine was claimed in between', () => {
    const memory = new SweepMemory();
    memory.count('login', at(1), ['5']);
    memory.count('login', at(2), []);
    expect(memory.count('login', at(3, 700), ['5']).get('5')).toEqual({ sweeps: 1, newestRecordAt: 700 });
  });

  test('a machine is judged by the records of its first sweep, whatever is rented later', () => {
    const memory = new SweepMemory();
    memory.count('login', at(1, 700), ['5']);
    const sightings = memory.count('login', at(2, 900), ['5', '6']);
    expect([sightings.get('5')?.newestRecordAt, sightings.get('6')?.newestRecordAt]).toEqual([700, 900]);
  });

  test('logins do not meet', () => {
    const memory = new SweepMemory();
    memory.count('one', at(1), ['5']);
    expect(memory.count('two', at(1), ['5']).get('5')?.sweeps).toBe(1);
  });
});

describe('what a consistent list settled', () => {
  test('speaks for the same machines for a minute', () => {
    const memory = new SweepMemory();
    memory.settle('login', { orphans: ['5', '6'], suspects: ['5', '6'] }, 0);
    expect(memory.isSettled('login', ['5', '6'], 59_999)).toBe(true);
    expect(memory.isSettled('login', ['5', '6'], 60_000)).toBe(false);
  });

  test('is forgotten once another sweep found others', () => {
    const memory = new SweepMemory();
    const sweep = { listBegunAt: 1, newestRecordAt: 0 };
    memory.settle('login', { orphans: ['5'], suspects: ['5'] }, 0);
    memory.count('login', sweep, ['5']);
    expect(memory.isSettled('login', ['5'], 1)).toBe(true);
    memory.count('login', sweep, []);
    expect(memory.isSettled('login', ['5'], 1)).toBe(false);
  });

  test('says nothing about others', () => {
    const memory = new SweepMemory();
    memory.settle('login', { orphans: ['5'], suspects: ['5'] }, 0);
    expect(memory.isSettled('login', ['5', '6'], 1)).toBe(false);
    expect(memory.isSettled('other', ['5'], 1)).toBe(false);
  });
});

describe('many machines that lost their objects at once (H5)', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, index) => candidate({ instanceId: String(index + 1) }));
  const destroyed = (changes: Partial<Observed>) =>
    decide(observed(changes)).actions.flatMap((action) =>
      action.type === 'destroy' ? [action.instanceId] : [],
    );

  const swept = (lastWindow: number, ...ids: readonly string[]) => ({ lastHour: new Set(ids), lastWindow });

  test('scenario 85: are reported, and none is destroyed', () => {
    const decision = decide(observed({ candidates: many(4) }));
    expect(decision.kept).toBe('many machines lost their objects at once');
    expect(decision.findings.massOrphaned).toEqual(['1', '2', '3', '4']);
    expect(destroyed({ candidates: many(4) })).toEqual([]);
  });

  test('are not so few that an account tolerates them', () => {
    expect(decide(observed({ candidates: many(3) })).findings.massOrphaned).toBeUndefined();
    expect(destroyed({ candidates: many(3) })).toEqual(['1', '2', '3']);
    expect(destroyed({ candidates: many(4), maxOrphans: 4 })).toEqual(['1', '2', '3', '4']);
  });

  test('count also if they lose them one after the other within an hour', () => {
    expect(destroyed({ candidates: many(1), swept: swept(0, '7', '8', '9') })).toEqual([]);
    expect(destroyed({ candidates: many(1), swept: swept(2, '8', '9') })).toEqual(['1']);
  });

  test('count once if their destroy is on record and a list still shows them', () => {
    expect(destroyed({ candidates: many(3), swept: swept(2, '1', '2') })).toEqual(['1', '2', '3']);
  });

  test('are no events where they are only reported', () => {
    expect(decide(observed({ candidates: many(9), policy: 'Report' })).findings.massOrphaned).toBeUndefined();
  });

  test('keep every other orphan as long as they stand on record', () => {
    expect(destroyed({ candidates: many(1), massLatched: ['7'] })).toEqual([]);
  });

  test('are destroyed slowly once a person has confirmed them', () => {
    const massConfirmed = new Set(many(12).map(({ instanceId }) => instanceId));
    expect(destroyed({ candidates: many(12), massConfirmed })).toEqual(['1', '2']);
    expect(destroyed({ candidates: many(12), massConfirmed, machines: 5 })).toEqual(['1']);
    expect(destroyed({ candidates: many(12), massConfirmed, swept: swept(2, '20', '21') })).toEqual([]);
    expect(destroyed({ candidates: many(12), massConfirmed, swept: swept(1, '20') })).toEqual(['1']);
  });

  test('are tried again, once confirmed, if their destroy is on record and they are still there', () => {
    const massConfirmed = new Set(many(12).map(({ instanceId }) => instanceId));
    expect(destroyed({ candidates: many(12), massConfirmed, swept: swept(2, '1', '2') })).toEqual(['1', '2']);
  });
});
