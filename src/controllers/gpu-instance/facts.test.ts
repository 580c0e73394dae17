import { describe, expect, test } from 'vitest';
import {
  at,
  facts,
  type Given,
  given,
  holding,
  intent,
  LOGIN,
  labelOf,
  listed,
  machineOf,
  row,
  withMachine,
} from '../../../test/builders/observed.ts';
import { isDeleting, lateMachineOfClosed, listedLate, listedLateBefore } from './facts.ts';
import { settlesAt } from './settlement.ts';
import type { RentedFacts } from './types.ts';

/** Issued so long ago that a list begun a second ago proves that nothing came. */
const OLD = intent({ attempt: 2, issuedAt: at(-600) });
/** Issued so lately that no list can prove anything. */
const LATE = intent({ attempt: 2, issuedAt: at(-20) });
const SETTLES = LATE.deadline + 120_000 + 60_000;

describe('the open intent', () => {
  test.for<readonly [string, Given, number | undefined]>([
    ['of the annotation', { intent: LATE }, 2],
    ['of memory, where the annotation was taken away', { memory: { intent: LATE } }, 2],
    ['is the newer of both', { intent: intent({ attempt: 3 }), memory: { intent: LATE } }, 3],
    [
      'is the newer of both, the other way round',
      { intent: LATE, memory: { intent: intent({ attempt: 5 }) } },
      5,
    ],
    ['of another object is none', { intent: intent({ uid: 'another', attempt: 2 }) }, undefined],
    ['whose result is recorded is none', { intent: LATE, status: holding({ attempt: 2 }) }, undefined],
    ['beyond what is recorded is open', { intent: LATE, status: holding({ attempt: 1 }) }, 2],
    ['is missing', {}, undefined],
  ])('%s', ([, situation, attempt]) => {
    expect(given(situation).purchase.openIntent?.attempt).toBe(attempt);
  });

  test('settles a late call and a list lag after its deadline, in the time that this process counts', () => {
    expect(settlesAt(LATE, given())).toBe(SETTLES);
    const own = given({ memory: { intentDeadline: { attempt: 2, at: 5_000 } } });
    expect(settlesAt(LATE, own)).toBe(185_000);
    const another = given({ memory: { intentDeadline: { attempt: 1, at: 5_000 } } });
    expect(settlesAt(LATE, another)).toBe(SETTLES);
  });
});

describe('the outcome of an open intent', () => {
  const UNKNOWN = { type: 'unknown', intent: LATE, settlesAt: SETTLES };
  const found = (instanceId: string, of = LATE) => ({ type: 'found', intent: of, instanceId });
  const nothing = (of = LATE) => ({ type: 'nothingCame', intent: of });

  test.for<readonly [string, Given, object]>([
    ['there is none', {}, { type: 'none' }],
    ['is not known yet', { intent: LATE }, UNKNOWN],
    ['is not known without a list', { intent: OLD, list: 'none' }, { type: 'unknown' }],
    ['is the machine that the reply named', { intent: LATE, memory: { rented: rented(2, '9') } }, found('9')],
    ['is not what an older reply named', { intent: LATE, memory: { rented: rented(1, '9') } }, UNKNOWN],
    [
      'is the machine with its label',
      { intent: LATE, machines: [machineOf(1), machineOf(2, { id: '8' })] },
      found('8'),
    ],
    ['is not a machine of another purchase', { intent: LATE, machines: [machineOf(1)] }, UNKNOWN],
    ['was refused', { intent: LATE, memory: { refused: LATE } }, nothing()],
    [
      'is not settled by the refusal of another attempt',
      { intent: LATE, memory: { refused: { ...LATE, attempt: 1 } } },
      UNKNOWN,
    ],
    [
      'is not settled by the refusal of an intent of the same number',
      { intent: LATE, memory: { refused: { ...LATE, issuedAt: at(-90) } } },
      UNKNOWN,
    ],
    [
      'is not known from one list that began late enough, whatever the others',
      { intent: OLD, observed: { listsBegun: [at(-590), at(-1)] } },
      { type: 'unknown' },
    ],
    [
      'is nothing by two lists that began late enough and a poll apart',
      { intent: OLD, observed: { listsBegun: [at(-590), at(-11), at(-1)] } },
      nothing(OLD),
    ],
    [
      'is nothing by two such lists when the lists of this process span the lag of lists (H6)',
      { intent: OLD, observed: { listsBegun: [at(-61), at(-11), at(-1)] } },
      nothing(OLD),
    ],
    [
      'is not known from two such lists when the lists of this process span less (H6)',
      { intent: OLD, observed: { listsBegun: [at(-61) + 1, at(-11), at(-1)] } },
      { type: 'unknown' },
    ],
    [
      'is not known from two such lists when nothing tells how long ago the first list was (H6)',
      { intent: OLD, observed: { listsBegun: [Number.NEGATIVE_INFINITY, at(-11), at(-1)] } },
      { type: 'unknown' },
    ],
    [
      'is not known from lists that began too early',
      { intent: OLD, observed: { listsBegun: [at(-590)] } },
      { type: 'unknown' },
    ],
    [
      'is not known from a list that began exactly when it settles',
      { intent: OLD, observed: { listsBegun: [OLD.deadline + 180_000, OLD.deadline + 190_000] } },
      { type: 'unknown' },
    ],
    [
      'is not known from the lists of another login',
      { intent: OLD, facts: { login: { url: 'https://market.example', userId: '8' } } },
      { type: 'unknown' },
    ],
    ['is not known without its account', { intent: OLD, account: { state: 'missing' } }, { type: 'unknown' }],
  ])('%s', ([, situation, expected]) => {
    expect(given(situation).purchase.intentOutcome).toMatchObject(expected);
  });
});

describe('a machine outside the window of its label (H6)', () => {
  const OPEN = intent({ attempt: 2, issuedAt: at(-600) });
  const late = (label: string, startedAt = at(-200)) => listed(row({ id: '8', label, startedAt }));

  test.for([200, 300, -30])(
    'scenario 87: blocks the next purchase when it names the open one, begun %i s from now',
    (second) => {
      const machines = [late(labelOf(2, at(-600)), at(-600 + second))];
      const long = {
        memory: { intentDeadline: { attempt: 2, at: at(-570) } },
        observed: { listsBegun: [at(-1)] },
      };
      const expected = second === -30 ? { type: 'found' } : { type: 'late', row: { id: '8' } };
      expect(given({ intent: OPEN, machines, ...long }).purchase.intentOutcome).toMatchObject(expected);
      const refused = { ...long, memory: { ...long.memory, refused: OPEN } };
      expect(given({ intent: OPEN, machines, ...refused }).purchase.intentOutcome).toMatchObject(expected);
    },
  );

  test('blocks nothing when it names another purchase, or the same attempt as issued another time', () => {
    const long = {
      memory: { intentDeadline: { attempt: 2, at: at(-570) } },
      observed: { listsBegun: [at(-61), at(-11), at(-1)] },
    };
    for (const label of [labelOf(1, at(-600)), labelOf(2, at(-500 - 600))])
      expect(given({ intent: OPEN, machines: [late(label)], ...long }).purchase.intentOutcome).toMatchObject({
        type: 'nothingCame',
      });
  });
});

describe('where labels do not come back, the outcome', () => {
  const OPEN = intent({ attempt: 2, issuedAt: at(-20), knownIds: ['3', '4'] });
  const bare = (id: string) => row({ id, label: null });
  const unowned = (...ids: readonly string[]) => ({ unowned: ids.map(bare) });
  const doubtful = (...ids: readonly string[]) => ({ doubtful: ids.map(bare) });

  test.for<readonly [string, Given, object]>([
    [
      "is the one new machine that is nobody's",
      { list: unowned('3', '4', '5') },
      { type: 'found', instanceId: '5' },
    ],
    ['is not a machine that was known before', { list: unowned('3', '4') }, { type: 'unknown' }],
    [
      'is a question where two are new',
      { list: unowned('3', '5', '6') },
      { type: 'ambiguous', candidates: [{ id: '5' }, { id: '6' }] },
    ],
    [
      "is a question where the new one may be somebody's own",
      { list: doubtful('4', '5') },
      { type: 'ambiguous', candidates: [{ id: '5' }] },
    ],
    [
      "is no question after a refusal: what may be somebody's own is theirs",
      { list: doubtful('5'), memory: { refused: OPEN } },
      { type: 'nothingCame' },
    ],
    [
      "is no machine of somebody's own after a refusal, be it the only new one",
      { list: unowned('5'), memory: { refused: OPEN } },
      { type: 'nothingCame' },
    ],
    [
      'is the machine with its label all the same',
      { list: unowned('5'), machines: [listed(row({ id: '8', label: labelOf(2) }))] },
      { type: 'found', instanceId: '8' },
    ],
    ['is not known without a list', { list: 'none' }, { type: 'unknown' }],
  ])('%s', ([, situation, expected]) => {
    expect(given({ intent: OPEN, ...situation }).purchase.intentOutcome).toMatchObject(expected);
  });
});

function rented(attempt: number, instanceId: string): RentedFacts {
  return {
    attempt,
    instanceId,
    answeredAt: at(-5),
    offer: undefined,
    offerIndex: undefined,
    pricePerHour: undefined,
    specHash: undefined,
    image: undefined,
  };
}

describe('the machine on record', () => {
  test('is the one that the status names with our claim', () => {
    expect(given(withMachine()).machine.owned).toEqual({ instanceId: '1', attempt: 1 });
  });

  test.each([
    [
      'with the claim of another machine',
      withMachine({}, { status: { instanceId: '2', claim: withMachine().status?.claim } }),
    ],
    [
      'with the claim of another purchase',
      withMachine({}, { status: { attempt: 2, claim: withMachine().status?.claim } }),
    ],
    ['without a claim', withMachine({}, { status: { claim: undefined } })],
    ['for another login', withMachine({}, { facts: { login: { ...LOGIN, userId: '8' } } })],
    ['for a login that is not known', withMachine({}, { account: { state: 'missing' } })],
    ['that is not there', {}],
  ] as const)('is none %s', (_, situation) => {
    expect(given(situation).machine.owned).toBeUndefined();
  });
});

test('what this object let go of is in its history, or destroyed by this process', () => {
  const history = [
    { attempt: 1, instanceId: '4', reason: 'Exited', endedAt: '', rentedMinutes: 0, cost: '0' },
  ];
  const destroys = [{ instanceId: '5', reason: 'Exited' as const, answeredAt: 0, endedAt: 0 }];
  expect([...given({ status: { history }, memory: { destroys } }).machine.endedIds]).toEqual(['4', '5']);
  expect([...given().machine.endedIds]).toEqual([]);
});

test('a login is known whether or not it may rent', () => {
  const account = { state: 'notReady', reason: 'r', message: 'm', facts: facts() } as const;
  expect(given({ account }).account.facts).toEqual(facts());
  expect(given({ account: { state: 'missing' } }).account.facts).toBeUndefined();
});

test('an object begins before its first purchase, and wanted', () => {
  expect([
    given().purchase.settledAttempt,
    isDeleting(given().object),
    isDeleting(given({ deleting: true }).object),
  ]).toEqual([0, false, true]);
});

describe('the time by which a machine may be ended', () => {
  test.each<readonly [string, Given, number | undefined]>([
    ['is ours when no account says one', { account: { state: 'missing' } }, at(0)],
    [
      'is not ahead of what passed here, when our own clock was set ahead',
      { account: { state: 'missing' }, observed: { steadyNow: at(-60) } },
      at(-60),
    ],
    [
      'is not known before two lists agree on it',
      { facts: { serviceTime: { type: 'known', at: at(5), isConfirmed: false } } },
      undefined,
    ],
    ['is not known while it is stale', { facts: { serviceTime: { type: 'stale' } } }, undefined],
  ])('%s', (_, situation, expected) => {
    expect(given(situation).clock.confirmedNow).toBe(expected);
  });
});

test('an intent in the annotation counts when memory has one of the same number', () => {
  const remembered = { ...LATE, issuedAt: at(-90) };
  expect(given({ intent: LATE, memory: { intent: remembered } }).purchase.openIntent?.issuedAt).toBe(
    LATE.issuedAt,
  );
});

describe('a late machine of a closed purchase (H6)', () => {
  const lateRow = row({ id: '8', label: labelOf(1, at(-600)), startedAt: at(-200) });
  const first = { attempt: 1, issuedAt: at(-600) };
  const remembered = (attempt = 1) => ({ late: { attempt, issuedAt: at(-600), row: lateRow } });
  const past = (attempt: number) => {
    return { attempt, instanceId: '4', reason: 'Exited', endedAt: '', rentedMinutes: 0, cost: '0' } as const;
  };
  const missing = (...lists: readonly number[]) => {
    return { absences: new Map([['8', { lists, read: undefined }]]) };
  };
  const found = { row: { id: '8' }, attempt: 1 };

  test.for<readonly [string, Given]>([
    ['while a later purchase is open', { intent: LATE, machines: [listed(lateRow)] }],
    ['when a later purchase is settled', { status: { attempt: 3 }, machines: [listed(lateRow)] }],
    [
      'when a person removed the intent of its purchase',
      { status: { attempt: 1 }, machines: [listed(lateRow)] },
    ],
    [
      'when only the machine of another purchase has ended',
      { status: { attempt: 3, history: [past(2)] }, machines: [listed(lateRow)] },
    ],
    ['from memory, when no list has lacked it', { intent: LATE, memory: remembered() }],
    ['from memory, before the first list', { intent: LATE, list: 'none', memory: remembered() }],
    [
      'from memory, when the lists that lack it are less than a list lag apart',
      { intent: LATE, memory: remembered(), observed: missing(at(-60), at(-30), at(-1)) },
    ],
    [
      'from memory, when it is unknown how long ago the first list lacked it',
      { intent: LATE, memory: remembered(), observed: missing(Number.NEGATIVE_INFINITY, at(-11), at(-1)) },
    ],
  ])('is known %s', ([, situation]) => {
    expect(lateMachineOfClosed(given(situation))).toMatchObject(found);
  });

  test.for<readonly [string, Given]>([
    ['when none is listed or remembered', { intent: LATE }],
    [
      'when a machine of its purchase has ended, whatever else has',
      { status: { attempt: 3, history: [past(1), past(2)] }, machines: [listed(lateRow)] },
    ],
    ['when its purchase is the one that is open', { intent: LATE, memory: remembered(2) }],
    [
      'when lists a whole list lag apart lack it',
      { intent: LATE, memory: remembered(), observed: missing(at(-61), at(-60), at(-1)) },
    ],
  ])('is none %s', ([, situation]) => {
    expect(lateMachineOfClosed(given(situation))).toBeUndefined();
  });

  test('is not that of the open purchase when it was issued at another time', () => {
    const situation = {
      intent: OLD,
      memory: remembered(2),
      observed: { listsBegun: [at(-61), at(-11), at(-1)] },
    };
    const otherwise = { ...situation, intent: intent({ attempt: 2, issuedAt: at(-700) }) };
    expect(given(otherwise).purchase.intentOutcome).toMatchObject({ type: 'nothingCame' });
    expect(given(situation).purchase.intentOutcome).toMatchObject({ type: 'late', row: { id: '8' } });
  });

  test('is not a machine that began in the window of its label', () => {
    const punctual = machineOf(1);
    expect(listedLate([punctual], intent())).toBeUndefined();
    expect(listedLateBefore([punctual], 5)).toEqual([]);
  });

  test('is listed for purchases before the newest, unless it began a day after its label', () => {
    const dayOld = row({ id: '9', label: labelOf(1, at(-100_000)), startedAt: at(-1) });
    const labelled = [listed(dayOld), listed(lateRow)];
    expect(listedLateBefore(labelled, 2)).toEqual([{ ...first, row: lateRow }]);
    expect(listedLateBefore(labelled, 1)).toEqual([]);
  });
});
