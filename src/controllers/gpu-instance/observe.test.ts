import { describe, expect, test } from 'vitest';
import {
  ALL_AGREE,
  at,
  facts,
  type Given,
  given,
  holding,
  identity,
  intent,
  LOGIN,
  labelOf,
  NOW,
  row,
  time,
} from '../../../test/builders/observed.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { AccountLookup } from '../../accounts/registry.ts';
import type { ServiceTime } from '../../accounts/service-clock.ts';
import type { AccountSession } from '../../accounts/session.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { reasons } from '../../api/v1alpha1/reasons.ts';
import { seededRandom } from '../../lib/random.ts';
import type { MachineRow } from '../../market/machine.ts';
import { vastFacts } from '../../markets/vast/facts.ts';
import { makeClaim } from '../../ownership/claim.ts';
import { defaultConstants } from '../../ownership/constants.ts';
import { decide } from './decide.ts';
import { MachineIndex, ObjectMemory, SteadyClock } from './memory.ts';
import { BY_ADOPTED, BY_MACHINE, machineIndexes, type ObserveDeps, observe } from './observe.ts';

const OTHER_UID = '99999999-2222-4333-8444-555555555555';

interface Setting {
  /** Permission that a directory reports for a namespace other than the account's. */
  readonly permits?: boolean | undefined;
  readonly object?: Given;
  /** Rows of the latest complete list, if there is one. */
  readonly rows?: readonly MachineRow[] | 'no list';
  readonly others?: readonly GpuInstance[];
  readonly lookup?: 'ready' | 'notReady' | 'neverReady' | 'missing';
  /** The login of the account that is called so. */
  readonly elsewhere?: typeof LOGIN;
  readonly session?: Partial<{ [Name in keyof AccountSession]: unknown }> & { readonly observer?: object };
  readonly sources?: Partial<ObserveDeps>;
  readonly memory?: ObjectMemory;
}

function seen(setting: Setting = {}) {
  const clock = createVirtualClock({ startMs: NOW });
  const steady = new SteadyClock(clock);
  const { object } = given(setting.object);
  const rows = setting.rows ?? [];
  const list =
    rows === 'no list'
      ? undefined
      : { begunAt: at(-3), endedAt: at(-1), rows: new Map(rows.map((each) => [each.id, each])) };
  const feed = {
    latest: () => list,
    listsBegunSince: () => [at(-3)],
    absences: (id: string) => (id === '8' ? [at(-3)] : []),
  };
  const { labelEcho, breaker, limits, adoption, sshKeyRegistered, serviceTime } = facts();
  const session = {
    uid: 'account',
    identity,
    login: LOGIN,
    feed,
    limits,
    permits: (namespace: string) => namespace === 'team',
    adoption: () => adoption,
    user: { credit: undefined, mayDestroy: true, sshKeyRegistered },
    avoid: { current: () => facts().avoided },
    admission: { reservedFor: () => new Set([5]) },
    queue: { place: () => undefined },
    market: { about: vastFacts },
    serviceClock: { now: () => serviceTime },
    agreement: () => ALL_AGREE,
    ...setting.session,
    observer: {
      breaker,
      openSpans: [],
      countsHostFailures: true,
      labelEcho,
      isEndJudged: () => true,
      ...setting.session?.observer,
    },
  } as unknown as AccountSession;
  const lookups: Readonly<Record<NonNullable<Setting['lookup']>, AccountLookup>> = {
    ready: { type: 'ready', session },
    notReady: { type: 'notReady', reason: 'KeyRejected', message: 'Put a valid key.', session },
    neverReady: { type: 'notReady', reason: 'Pending', message: 'Not tried yet.', session: undefined },
    missing: { type: 'missing' },
  };
  if (list) steady.noteList(session.feed, list);
  return observe(object, {
    clock,
    steady,
    random: seededRandom(1),
    budgets: { stop: () => undefined },
    instances: informerOf([object, ...(setting.others ?? [])]),
    accounts: {
      get: ({ name }) =>
        name === 'elsewhere' && setting.elsewhere
          ? { type: 'ready', session: { ...session, login: setting.elsewhere } as unknown as AccountSession }
          : lookups[setting.lookup ?? 'ready'],
      permits: () => setting.permits,
    },
    constants: defaultConstants,
    index: new MachineIndex(defaultConstants),
    identity: () => identity,
    withoutStart: new Set(),
    memory: setting.memory ?? new ObjectMemory(),
    ...setting.sources,
  });
}

const CONSENTS = { permits: () => true, adoption: () => 'Unlabelled' } as const;

function informerOf(objects: readonly GpuInstance[], asked: string[] = []): ObserveDeps['instances'] {
  return {
    list: () => {
      asked.push('all');
      return objects;
    },
    byIndex: (index: string, value: string) => {
      asked.push(index);
      return objects.filter((each) => machineIndexes[index]?.(each).includes(value));
    },
  } as unknown as ObserveDeps['instances'];
}

/** Returns another object of the cluster. */
function other(situation: Given, metadata: Partial<GpuInstance['metadata']> = {}): GpuInstance {
  const { object } = given(situation);
  return { ...object, metadata: { ...object.metadata, uid: OTHER_UID, name: 'other', ...metadata } };
}

const ELSEWHERE = { accountRef: { name: 'elsewhere' } };

describe('a machine that came too late for its purchase (H6)', () => {
  const late = row({ label: labelOf(1, at(-900)), startedAt: at(-500) });
  const object: Given = { status: { attempt: 1 }, intent: intent({ issuedAt: at(-900) }) };
  const known = { attempt: 1, issuedAt: at(-900), row: late };

  test('is remembered when a later list lacks it, with the lists that lack it', () => {
    const memory = new ObjectMemory();
    expect(seen({ memory, object, rows: [late] })?.memory.late).toEqual(known);
    const without = seen({ memory, object, rows: [] });
    expect(without?.memory.late).toEqual(known);
    expect([...(without?.machine.absences.keys() ?? [])]).toEqual([late.id]);
  });

  test('is remembered when a person has removed the intent', () => {
    const memory = new ObjectMemory();
    memory.fields.intent = intent({ issuedAt: at(-900) });
    seen({ memory, object: { status: { attempt: 1 } }, rows: [late] });
    expect(memory.fields.late).toEqual(known);
  });

  test('is not one of another purchase', () => {
    const memory = new ObjectMemory();
    seen({ memory, object: { ...object, intent: intent({ issuedAt: at(-901) }) }, rows: [late] });
    expect(memory.fields.late).toBeUndefined();
    expect([...(seen({ memory, object, rows: [] })?.machine.absences.keys() ?? [])]).toEqual([]);
  });
});

describe('a machine of an earlier purchase that came too late', () => {
  const BOUGHT = at(-900);
  const lateOf = (attempt: number, id: string) =>
    row({ id, label: labelOf(attempt, at(-800)), startedAt: at(-400) });
  /** Returns the attempt that memory has for a late machine, after the lists. */
  const attemptKnown = (
    { written, remembered }: { readonly written?: number; readonly remembered?: number },
    ...lists: readonly (readonly MachineRow[])[]
  ) => {
    const memory = new ObjectMemory();
    if (remembered !== undefined) memory.fields.intent = intent({ attempt: remembered, issuedAt: BOUGHT });
    const object: Given = {
      status: { attempt: 1 },
      ...(written !== undefined && { intent: intent({ attempt: written, issuedAt: BOUGHT }) }),
    };
    for (const rows of lists) seen({ memory, object, rows });
    return memory.fields.late?.attempt;
  };

  test.for<readonly [string, number | undefined, Parameters<typeof attemptKnown>]>([
    ['is remembered when the intent names a later purchase', 1, [{ written: 2 }, [lateOf(1, '1')]]],
    ['is remembered when only this process knows the later one', 1, [{ remembered: 2 }, [lateOf(1, '1')]]],
    [
      'is remembered when the intent of this process is newer',
      2,
      [{ written: 2, remembered: 3 }, [lateOf(2, '1')]],
    ],
    [
      'is remembered when the intent of this process is older',
      2,
      [{ written: 3, remembered: 2 }, [lateOf(2, '1')]],
    ],
    ['is remembered when a later list lacks it', 1, [{ written: 2 }, [lateOf(1, '1')], []]],
    ['is replaced by one that a later list shows', 1, [{ written: 3 }, [lateOf(2, '2')], [lateOf(1, '1')]]],
    [
      'does not replace one of the newest purchase',
      2,
      [
        { written: 2 },
        [row({ id: '2', label: labelOf(2, BOUGHT), startedAt: at(-500) }), lateOf(1, '1')],
        [lateOf(1, '1')],
      ],
    ],
    ['is not remembered as one of a later purchase', undefined, [{ written: 1 }, [lateOf(2, '1')]]],
    ['is not remembered before any purchase', undefined, [{}, [lateOf(1, '1')]]],
  ])('%s', ([, expected, situation]) => {
    expect(attemptKnown(...situation)).toBe(expected);
  });
});

describe('the idle time of the recorded machine', () => {
  const idling: Given = { spec: { idle: { after: '1h', below: 10 } }, status: holding() };
  const spell = (sinceSeconds: number) => ({ since: sinceSeconds * 1000, lists: 9 });
  /** Returns the view, and the calls that it made, if lists cover half an hour. */
  const idleOf = (found: ReturnType<typeof spell> | undefined, object: Given = idling) => {
    const calls: unknown[] = [];
    const answer = <T>(result: T, ...call: readonly unknown[]): T => {
      calls.push(call);
      return result;
    };
    const utilization = {
      idleSpell: (id: string, below: number) => answer(found, id, below),
      coveredMs: (from: number, until: number) => answer(1_800_000, from, until),
    };
    return { idle: seen({ object, session: { utilization } })?.machine.idle, calls };
  };

  test('is covered by the share of spec.idle.after that lists cover, when it is longer', () => {
    expect(idleOf(spell(-7_200))).toEqual({
      idle: { since: at(-7_200), lists: 9, covered: 0.5 },
      calls: [
        ['1', 10],
        [-3_600_000, 0],
      ],
    });
  });

  test('is covered by the share that lists cover since it began, when it is shorter', () => {
    expect(idleOf(spell(-2_400))).toEqual({
      idle: { since: at(-2_400), lists: 9, covered: 0.75 },
      calls: [
        ['1', 10],
        [-2_400_000, 0],
      ],
    });
  });

  test('is not covered when it begins now', () => {
    expect(idleOf(spell(0))).toEqual({ idle: { since: NOW, lists: 9, covered: 0 }, calls: [['1', 10]] });
  });

  test('is undefined while the machine is in use', () => {
    expect(idleOf(undefined)).toEqual({ idle: undefined, calls: [['1', 10]] });
  });

  test.each<readonly [string, Given]>([
    ['records no machine', { ...idling, status: {} }],
    ['has no spec.idle', { status: holding() }],
  ])('is not looked up when the object %s', (_, object) => {
    expect(idleOf(spell(-7_200), object)).toEqual({ idle: undefined, calls: [] });
  });
});

describe('the account of an object', () => {
  test('says what it allows this object', () => {
    expect(seen()?.account).toMatchObject({
      state: 'ready',
      facts: { login: LOGIN, permitted: true, startUnsupported: false, reserved: new Set([5]) },
    });
    const withoutStart = new Set(['account']);
    expect(seen({ sources: { withoutStart } })?.account).toMatchObject({ facts: { startUnsupported: true } });
  });

  test('serves teardown while it is not ready, where its login was proven before', () => {
    expect(seen({ lookup: 'notReady', rows: [row()] })).toMatchObject({
      account: { state: 'notReady', reason: 'KeyRejected', facts: { login: LOGIN } },
      machine: { list: { ids: ['1'] } },
    });
  });

  test.each(['neverReady', 'missing'] as const)(
    'that is %s shows no machine, and is no reason to forget who we are',
    (lookup) => {
      const observed = seen({ lookup, object: { status: holding() } });
      expect(observed).toMatchObject({
        machine: { list: undefined, listsBegun: [] },
        purchase: { identity },
      });
      expect(observed?.machine.absences.get('1')).toEqual({ lists: [], read: undefined });
      const { account } = observed ?? {};
      expect(account?.state).toBe(lookup === 'missing' ? 'missing' : 'notReady');
      expect(account && 'facts' in account ? account.facts : undefined).toBeUndefined();
    },
  );

  test('shows for how long its breaker was open, on the clock of lists', () => {
    const openSpans = [
      { from: 0, until: 5_000 },
      { from: 9_000, until: undefined },
    ];
    const { account } = seen({ session: { observer: { openSpans } } }) ?? {};
    const spans = account?.state === 'ready' ? account.facts.openSpans : [];
    expect(spans).toHaveLength(2);
    const [closed, open] = spans;
    expect((closed?.until ?? 0) - (closed?.from ?? 0)).toBe(5_000);
    expect((open?.from ?? 0) - (closed?.from ?? 0)).toBe(9_000);
    expect(open?.until).toBeUndefined();
  });

  test('that is not watched is distinguished from one that is missing', () => {
    const accountOf = (found: AccountLookup) =>
      seen({ sources: { accounts: { get: () => found, permits: () => undefined } } })?.account;
    expect(accountOf({ type: 'missing', isUnwatched: true })).toEqual({
      state: 'missing',
      isUnwatched: true,
    });
    expect(accountOf({ type: 'missing' })).toEqual({ state: 'missing' });
  });

  describe('of another namespace says nothing of itself to one that may not use it (M6):', () => {
    const elsewhere = { spec: { accountRef: { name: 'default', namespace: 'owners' } } };
    const accountOf = (setting: Setting) => seen({ object: elsewhere, permits: false, ...setting })?.account;
    const WORDS = /Put a valid key|Not tried yet|half of the machines/;
    const open = {
      type: 'open',
      since: 0,
      cause: 'massFailure',
      newlyBad: 3,
      message: 'half of the machines are bad',
    };

    test.each<readonly [string, Setting]>([
      ['that is not ready', { lookup: 'notReady' }],
      ['that was never ready', { lookup: 'neverReady' }],
      ['that does not exist', { lookup: 'missing' }],
      ['whose breaker is open', { session: { observer: { breaker: open } } }],
    ])('not one %s', (_, setting) => {
      const account = accountOf({ ...setting, session: { permits: () => false, ...setting.session } });
      expect(account?.outsider).toBe('refused');
      expect(JSON.stringify(account)).not.toMatch(WORDS);
    });

    test('but that it may not be used, or only which login teardown needs', () => {
      const permits = { permits: () => false };
      const { sentence } = reasons.NotAllowedByAccount;
      const said = { reason: 'NotAllowedByAccount', message: sentence, outsider: 'refused' };
      expect(accountOf({ lookup: 'missing' })).toEqual({ state: 'missing', outsider: 'refused' });
      expect(accountOf({ lookup: 'neverReady' })).toEqual({ ...said, state: 'notReady', facts: undefined });
      expect(accountOf({ lookup: 'notReady', session: permits })).toMatchObject({
        ...said,
        state: 'notReady',
        facts: { login: LOGIN, breaker: { type: 'closed' } },
      });
      expect(accountOf({ session: { ...permits, observer: { breaker: open } } })).toMatchObject({
        state: 'ready',
        facts: { login: LOGIN, breaker: { ...open, message: sentence } },
      });
    });

    test('scenario 84: and decides the same whether or not it exists', () => {
      const statusOf = (lookup: NonNullable<Setting['lookup']>, object: Given = elsewhere) => {
        const observed = seen({ object, permits: false, lookup, session: { permits: () => false } });
        const step = observed && decide(observed);
        return step?.type === 'decision' ? step.status?.verdict : step;
      };
      for (const spec of [
        {},
        { powerState: 'Stopped' },
        { paused: true },
        { adopt: { instanceId: '40' } },
      ] as const) {
        const object = { spec: { ...elsewhere.spec, ...spec } };
        const [first, ...others] = (['ready', 'notReady', 'neverReady', 'missing'] as const).map((lookup) =>
          statusOf(lookup, object),
        );
        expect(first).toMatchObject({ Ready: { reason: 'NotAllowedByAccount' } });
        for (const other of others) expect(other).toEqual(first);
      }
    });

    test('nothing is said before it is known whether it may', () => {
      expect(accountOf({ permits: undefined, lookup: 'neverReady' } as Setting)).toMatchObject({
        outsider: 'undecided',
        reason: 'NotAllowedByAccount',
      });
    });

    test('is shown in full to an object that may use it', () => {
      expect(accountOf({ permits: true, lookup: 'neverReady' })).toMatchObject({ message: 'Not tried yet.' });
      expect(seen({ lookup: 'missing' })?.account).toEqual({ state: 'missing' });
    });
  });

  test('decides nothing while the identity of this installation is unknown', () => {
    expect(seen({ lookup: 'missing', sources: { identity: () => undefined } })).toBeUndefined();
    expect(seen({ sources: { identity: () => undefined } })?.purchase.identity).toBe(identity);
  });
});

describe('the latest complete list', () => {
  test('is none before the first', () => {
    expect(seen({ rows: 'no list', object: { status: holding() } })?.machine.list).toBeUndefined();
  });

  test('shows the recorded machine, those with the label of this object, and every id', () => {
    const rows = [
      row({ id: '9', label: labelOf(2) }),
      row({ id: '1' }),
      row({ id: '4', label: labelOf(1) }),
      row({ id: '6', label: labelOf(1, undefined, OTHER_UID) }),
    ];
    const list = seen({ rows, object: { status: holding() } })?.machine.list;
    expect(list).toMatchObject({ begunAt: at(-3), begunSteady: at(-2), recorded: { id: '1' } });
    expect(list?.labelled.map((machine) => machine.row.id)).toEqual(['4', '9']);
    expect(list?.ids).toEqual(['9', '1', '4', '6']);
  });

  test('leaves out a machine with the label of this object that another object claims (A3)', () => {
    const machine = { uid: OTHER_UID, attempt: 1, instanceId: '4' };
    const claim = makeClaim(identity.keys, { ...machine, login: LOGIN });
    const labelledIds = (status: object) =>
      seen({
        rows: [row({ id: '1' }), row({ id: '4', label: labelOf(1) })],
        object: { status: holding() },
        others: [other({ status })],
      })?.machine.list?.labelled.map((each) => each.row.id);
    expect(labelledIds({ attempt: 1, instanceId: '4', claim })).toEqual([]);
    expect(labelledIds({ attempt: 1, instanceId: '4', claim: 'a'.repeat(64) })).toEqual(['4']);
  });

  test('shows no recorded machine to an object that records none', () => {
    expect(seen({ rows: [row()] })?.machine.list?.recorded).toBeUndefined();
  });

  test('shows the machine of the object that this one was restored from', () => {
    const rows = [row({ id: '6', label: labelOf(1, undefined, OTHER_UID) })];
    expect(
      seen({ rows, object: { intent: intent({ uid: OTHER_UID }) } })?.machine.list?.formerSelf,
    ).toMatchObject({
      id: '6',
    });
    const own = [row({ id: '4', label: labelOf(1) })];
    expect(seen({ rows: own, object: { intent: intent() } })?.machine.list?.formerSelf).toBeUndefined();
    expect(seen({ rows: own })?.machine.list?.formerSelf).toBeUndefined();
  });

  test('B12: names the object that the intent was copied from', () => {
    const rows = [row({ id: '6', label: labelOf(1, undefined, OTHER_UID) })];
    const copiedFrom = (...others: readonly GpuInstance[]) =>
      seen({ rows, object: { intent: intent({ uid: OTHER_UID }) }, others })?.machine.list?.copiedFrom;
    const original = other({});
    expect(copiedFrom(original)).toBe(`${original.metadata.namespace}/${original.metadata.name}`);
    expect(copiedFrom()).toBeUndefined();
  });

  test('does not take another owner’s machine with a copied label for that machine', () => {
    const copied = row({ id: '6', label: labelOf(1, undefined, OTHER_UID), startedAt: at(-9_000) });
    const former = row({ id: '7', label: labelOf(1, undefined, OTHER_UID) });
    const formerIn = (...rows: readonly MachineRow[]) =>
      seen({ rows, object: { intent: intent({ uid: OTHER_UID }) } })?.machine.list?.formerSelf?.id;
    expect(formerIn(copied)).toBeUndefined();
    expect(formerIn(copied, former)).toBe('7');
  });
});

test('the absence of a machine is looked up where it is recorded, and where its destroy was answered', () => {
  const memory = new ObjectMemory();
  memory.destroyed({ instanceId: '8', reason: 'Exited', answeredAt: at(-5), endedAt: at(-5) });
  const absences = seen({ memory, object: { status: holding() } })?.machine.absences;
  expect([...(absences ?? [])]).toEqual([
    ['8', { lists: [at(-2)], read: undefined }],
    ['1', { lists: [], read: undefined }],
  ]);
  expect(seen()?.machine.absences.size).toBe(0);
});

describe('a machine that is to be adopted', () => {
  const adopting: Given = { spec: { offers: undefined, adopt: { instanceId: '6', policy: 'Manage' } } };
  const target = (others: readonly GpuInstance[], object: Given = adopting) =>
    seen({ rows: [row({ id: '6' })], others, object })?.machine.list?.adoptTarget?.ownership;
  const record = { uid: OTHER_UID, attempt: 1, instanceId: '6' };
  const claim = makeClaim(identity.keys, { ...record, login: LOGIN });
  const status = { attempt: 1, instanceId: '6', claim };

  test('is claimed where another object has proven that it holds it', () => {
    expect(target([other({}), other({ status })])).toEqual({ type: 'claimed', uid: OTHER_UID, attempt: 1 });
  });

  test.each([
    ['records another machine', { ...status, instanceId: '7' }],
    ['records it without a claim', { ...status, claim: undefined }],
    ['has a claim that proves nothing', { ...status, claim: 'a'.repeat(64) }],
    ['has a claim of another purchase', { ...status, attempt: undefined }],
    ['records nothing', {}],
  ])('has no owner when another object %s', (_, recorded) => {
    expect(target([other({ status: recorded })])).toEqual({ type: 'unlabelled' });
  });

  test('is not kept from its object by what that object itself has on record', () => {
    expect(target([], { ...adopting, status: holding({ instanceId: '6' }) })).toEqual({ type: 'unlabelled' });
  });

  test('is none where the list does not show it, or none is asked for', () => {
    expect(seen({ rows: [row({ id: '7' })], object: adopting })?.machine.list?.adoptTarget).toBeUndefined();
    expect(seen({ rows: [row({ id: '6' })] })?.machine.list?.adoptTarget).toBeUndefined();
  });

  test.each([
    ['an older one', { creationTimestamp: time(-601) }, true],
    ['a younger one', { creationTimestamp: time(-599) }, false],
    ['one of the same second with a lower uid', { uid: '00000000-a' }, true],
    ['one of the same second with a higher uid', {}, false],
    ['one that says not when it was made', { creationTimestamp: undefined }, true],
  ])('is left to %s of two objects that want it: %s', (_, metadata, expected) => {
    const rival = other({ spec: { adopt: { instanceId: '6', policy: 'Observe' } } }, metadata);
    expect(seen({ object: adopting, others: [rival], session: CONSENTS })?.machine.olderClaimant).toBe(
      expected,
    );
  });

  test.each([
    ['of another marketplace', { ...LOGIN, url: 'https://other.example' }, false],
    ['of another user', { ...LOGIN, userId: '8' }, false],
    ['of the same login', LOGIN, true],
  ])('is left to an older object of the same login alone: one %s', (_, elsewhere, expected) => {
    const adopt = { instanceId: '6', policy: 'Manage' } as const;
    const rival = other({ spec: { ...ELSEWHERE, adopt } }, { creationTimestamp: time(-601) });
    const found = seen({ object: adopting, others: [rival], elsewhere, session: CONSENTS });
    expect(found?.machine.olderClaimant).toBe(expected);
  });

  test.each<[string, Setting]>([
    ['whose account consents to none', { session: { adoption: () => 'None' } }],
    ['of a namespace that the account does not allow', { session: { ...CONSENTS, permits: () => false } }],
    [
      'while it is found out whether its namespace is allowed',
      { session: { ...CONSENTS, permits: () => undefined } },
    ],
  ])('scenario 98: looks at no other object for one %s (M7)', (_, setting) => {
    const asked: string[] = [];
    const instances = informerOf([], asked);
    expect(seen({ object: adopting, ...setting, sources: { instances } })?.machine.olderClaimant).toBe(false);
    expect(asked).toEqual([]);
  });

  test('looks only at those that want or record the same machine (M7)', () => {
    const old = { creationTimestamp: time(-900) };
    const rivals = Array.from({ length: 500 }, (_, at) =>
      other(
        { spec: { ...ELSEWHERE, adopt: { instanceId: '6', policy: 'Manage' } } },
        { ...old, uid: `uid-${at}` },
      ),
    );
    const asked: string[] = [];
    const instances = informerOf(rivals, asked);
    const found = seen({
      object: adopting,
      rows: [row({ id: '6' })],
      elsewhere: LOGIN,
      session: CONSENTS,
      sources: { instances },
    });
    expect(found?.machine.olderClaimant).toBe(true);
    expect(asked).toEqual([BY_MACHINE, BY_ADOPTED]);
  });

  test('has no older claimant in an object that wants another machine, or none', () => {
    const old = { creationTimestamp: time(-900) };
    const rival = other({ spec: { adopt: { instanceId: '7', policy: 'Manage' } } }, old);
    expect(
      seen({ object: adopting, others: [rival, other({}, old)], session: CONSENTS })?.machine.olderClaimant,
    ).toBe(false);
    expect(seen({ others: [rival, other({}, old)] })?.machine.olderClaimant).toBe(false);
  });
});

describe('a machine that may be a purchase whose label did not come back', () => {
  const buying: Given = { intent: intent({ knownIds: ['1'] }) };
  const ids = (machines: readonly MachineRow[] | undefined) => machines?.map(({ id }) => id);
  const candidates = (rows: readonly MachineRow[], setting: Setting = {}) => {
    const list = seen({ object: buying, rows, ...setting })?.machine.list;
    return { unowned: ids(list?.unowned), doubtful: ids(list?.doubtful) };
  };
  const sent = labelOf(1);

  test.each([
    ['without labels at all', undefined, 'unknown', { unowned: ['6'], doubtful: [] }],
    [
      'without a label, of a service that gives none back',
      null,
      'notEchoed',
      { unowned: ['6'], doubtful: [] },
    ],
    ['without a label, of a service nobody knows yet', '', 'unknown', { unowned: [], doubtful: ['6'] }],
    ['without a label, of a service that gives labels back', null, 'echoed', { unowned: [], doubtful: [] }],
    ['with most of its label', sent.slice(0, 40), 'unknown', { unowned: ['6'], doubtful: [] }],
    ['with little of its label', sent.slice(0, 9), 'notEchoed', { unowned: [], doubtful: ['6'] }],
    ['with most of its label, of a service that gives all of it back', sent.slice(0, 40), 'echoed', NONE()],
    ['with a label of somebody else', 'training', 'notEchoed', NONE()],
  ] as const)('is one %s', (_, label, echo, expected) => {
    const session = { observer: { labelEcho: echo } };
    expect(candidates([row({ id: '6', label })], { session })).toEqual(expected);
  });

  test('is none that another object holds, and doubtful where one is to adopt it', () => {
    const rows = ['5', '6', '7'].map((id) => row({ id, label: undefined }));
    const others = [
      other({ status: { instanceId: '5' } }),
      other({ spec: { adopt: { instanceId: '6', policy: 'Manage' } } }),
      other({}),
    ];
    const object = { ...buying, status: holding({ instanceId: '7' }) };
    expect(candidates(rows, { others, object })).toEqual({ unowned: ['7'], doubtful: ['6'] });
  });

  test('may be one whose id is that of a machine of another marketplace', () => {
    const rows = ['5', '6'].map((id) => row({ id, label: undefined }));
    const others = [
      other({ spec: ELSEWHERE, status: { instanceId: '5' } }),
      other({ spec: { ...ELSEWHERE, adopt: { instanceId: '6', policy: 'Manage' } } }),
    ];
    const elsewhere = { ...LOGIN, url: 'https://other.example' };
    expect(candidates(rows, { others, elsewhere })).toEqual({ unowned: ['5', '6'], doubtful: [] });
    expect(candidates(rows, { others })).toEqual({ unowned: [], doubtful: ['6'] });
  });

  test.each([
    ['of a service nobody knows yet', 'unknown', { unowned: [], doubtful: ['1', '4'] }],
    ['of a service that gives none back', 'notEchoed', { unowned: ['1', '4'], doubtful: [] }],
  ] as const)('is none that began before it was bought, or long after, %s', (_, echo, expected) => {
    const began = [-600, -301, 0].map((seconds, id) =>
      row({ id: String(id), label: null, startedAt: at(seconds) }),
    );
    const undated = row({ id: '4', label: null, startedAt: undefined });
    const session = { observer: { labelEcho: echo } };
    expect(candidates([...began, undated], { session })).toEqual(expected);
  });

  test('is none where the purchase trusts in its label, or there is none', () => {
    const rows = [row({ id: '6', label: undefined })];
    expect(candidates(rows, { object: { intent: intent() } })).toEqual(NONE());
    expect(candidates(rows, { object: {} })).toEqual(NONE());
    expect(candidates(rows, { object: { intent: 'edited' } })).toEqual(NONE());
  });
});

function NONE() {
  return { unowned: [], doubtful: [] };
}

describe('how long ago an intent was issued', () => {
  const left = (serviceTime: ServiceTime, lookup: Setting['lookup'] = 'ready') =>
    (seen({
      lookup: lookup,
      object: { intent: intent({ issuedAt: at(-10) }) },
      session: { serviceClock: { now: () => serviceTime } },
    })?.memory.intentDeadline?.at ?? 0) - NOW;

  test('is read from the clock of the service', () => {
    expect(left({ type: 'known', at: at(-4), isConfirmed: true })).toBe(24_000);
  });

  test('is read from our own clock when the service lists machines and never says its time', () => {
    expect(left({ type: 'unknown' })).toBe(20_000);
  });

  test('is unknown before the first list: our own clock may be an hour ahead of the service (H2)', () => {
    expect(left({ type: 'unknown' }, 'missing')).toBe(30_000);
  });

  test('is unknown while our clocks have parted: then it has all of its time', () => {
    expect(left({ type: 'stale' })).toBe(30_000);
  });
});

describe('an index of objects by machine', () => {
  test.each([
    ['by the machine that it records', BY_MACHINE, { status: { instanceId: '6' } }, ['6']],
    [
      'by the machine that it wants',
      BY_ADOPTED,
      { spec: { adopt: { instanceId: '7', policy: 'Manage' } } },
      ['7'],
    ],
    ['under no machine when it records none', BY_MACHINE, {}, []],
    ['under no machine when it wants none', BY_ADOPTED, {}, []],
  ] as const)('finds an object %s', (_, index, situation, expected) => {
    expect(machineIndexes[index]?.(other(situation))).toEqual(expected);
  });
});

test('the last renewal of a lease is a steady time', () => {
  const memory = new ObjectMemory();
  memory.lease = { renewedAt: -5_000, hostKey: 'host-1', failures: 0 };
  expect(seen({ memory })?.machine.lease).toEqual({ ...memory.lease, renewedAt: NOW - 5_000 });
  memory.lease = { hostKey: undefined, failures: 2 };
  expect(seen({ memory })?.machine.lease).toEqual(memory.lease);
});

test('the queue is asked for the place of this generation of the object', () => {
  const asked: unknown[] = [];
  const place = (...which: readonly unknown[]) => {
    asked.push(which);
    return undefined;
  };
  seen({ session: { queue: { place } } });
  expect(asked).toEqual([[given().purchase.uid, 1]]);
});

describe('an offer that was sold before', () => {
  const mine: Given = { status: holding({ offerId: '100' }) };
  const earlier = { offerId: '100', instanceId: '5', machineId: '1100', rentedAt: time(-301) };
  const isSold = (rival: Given, setting: Setting = {}) =>
    seen({ object: mine, others: [other(rival)], ...setting })?.machine.isOfferSoldBefore;

  test('is one by which another object of the login rented the same machine earlier', () => {
    expect(isSold({ status: earlier })).toBe(true);
  });

  test.each<readonly [string, Given]>([
    ['another offer', { status: { ...earlier, offerId: '101' } }],
    ['another physical machine', { status: { ...earlier, machineId: '1101' } }],
    ['a machine of the same second', { status: { ...earlier, rentedAt: time(-300) } }],
    ['a later machine', { status: { ...earlier, rentedAt: time(-299) } }],
    ['a machine without a time', { status: { ...earlier, rentedAt: undefined } }],
    ['an offer alone', { status: { ...earlier, instanceId: undefined } }],
    ['nothing', {}],
  ])('is none when the other object records %s', (_, rival) => {
    expect(isSold(rival)).toBe(false);
  });

  test('is none when the other object rents by another login', () => {
    const elsewhere = { ...LOGIN, userId: '8' };
    expect(isSold({ spec: ELSEWHERE, status: earlier }, { elsewhere })).toBe(false);
  });

  test.each<readonly [string, Given]>([
    ['offer', { status: holding({ offerId: undefined }) }],
    ['physical machine', { status: holding({ offerId: '100', machineId: undefined }) }],
    ['time of rental', { status: holding({ offerId: '100', rentedAt: undefined }) }],
  ])('is none of an object whose record has no %s', (_, object) => {
    const rival = { status: { ...earlier, machineId: object.status?.machineId } };
    expect(isSold(rival, { object })).toBe(false);
  });
});

describe('the credit of an account', () => {
  const isUsedUp = (credit: number | undefined, minCredit?: number) => {
    const user = { credit, mayDestroy: true, sshKeyRegistered: true };
    const { account } = seen({ session: { user, limits: { minCredit } } }) ?? {};
    return account?.state === 'ready' && account.facts.creditUsedUp;
  };

  test.each([
    ['is used up at nothing', 0, undefined, true],
    ['is not used up above nothing', 1, undefined, false],
    ['is used up at the least that is to stay', 5, 5, true],
    ['is not used up above it', 6, 5, false],
    ['is not used up when it is not known', undefined, 5, false],
  ] as const)('%s', (_, credit, minCredit, expected) => {
    expect(isUsedUp(credit, minCredit)).toBe(expected);
  });
});

test('the start of a machine is dated by the intent of its own purchase alone', () => {
  const startOf = (attempt: number) => {
    const object = {
      status: holding({ attempt, rentedAt: undefined, runningAt: undefined, firstRentedAt: undefined }),
      intent: intent({ attempt: 1 }),
    };
    return seen({ rows: [row({ startedAt: at(-90_000) })], object })?.machine.list?.recorded;
  };
  expect(startOf(1)?.reports.startedAt).toBeDefined();
  expect(startOf(2)?.reports.startedAt).toBeUndefined();
});
