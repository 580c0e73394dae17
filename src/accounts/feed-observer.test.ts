import { describe, expect, test } from 'vitest';
import { instanceSummary } from '../../test/builders/instance-summary.ts';
import { row } from '../../test/builders/observed.ts';
import { observed } from '../../test/builders/observed-account.ts';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import type { InstanceSummary } from '../instance/summary.ts';
import { MarketplaceError } from '../market/errors.ts';
import type { FeedEvent } from '../market/feed-state.ts';
import type { MachineRow } from '../market/machine.ts';
import { vastFacts } from '../markets/vast/facts.ts';
import { type ClaimFacts, makeClaim } from '../ownership/claim.ts';
import { defaultConstants } from '../ownership/constants.ts';
import { newIdentity } from '../ownership/identity.ts';
import { makeLabel } from '../ownership/label.ts';
import { FeedObserver } from './feed-observer.ts';
import type { ServiceTime } from './service-clock.ts';

const identity = newIdentity(
  { id: new Uint8Array(16).fill(1), key: new Uint8Array(32).fill(2) },
  { kubeSystemUid: undefined, scope: '*' },
);
const label = makeLabel(identity, { uid: 'a', attempt: 1, issuedAt: 1 });

const object = (instanceId: string, change: Partial<InstanceSummary> = {}): InstanceSummary =>
  instanceSummary({ uid: `uid-${instanceId}`, key: `team/job-${instanceId}`, instanceId, ...change });

const login = { url: 'https://market.example', userId: '7' };

/** Returns the claim that an object records on a machine of its first purchase. */
function claimOf(instanceId: string, change: Partial<ClaimFacts> = {}): InstanceSummary['claim'] {
  const facts = { uid: `uid-${instanceId}`, attempt: 1, instanceId };
  return { ...facts, claim: makeClaim(identity.keys, { ...facts, login, ...change }) };
}

const list = (rows: readonly MachineRow[], endedAt = 1, begunAt = 0): FeedEvent => ({
  type: 'list',
  list: { begunAt, endedAt, rows: new Map(rows.map((each) => [each.id, each])) },
});

function watch(
  objects: readonly InstanceSummary[],
  status?: MarketplaceAccount['status'],
  spec: Partial<MarketplaceAccount['spec']> = {},
  serviceTime: ServiceTime = { type: 'unknown' },
) {
  const { account: usual } = observed();
  const account = { ...usual, spec: { ...usual.spec, ...spec }, ...(status && { status }) };
  const clock = createVirtualClock();
  let changes = 0;
  const options = {
    account,
    connection: { login, about: vastFacts, serviceClock: { now: () => serviceTime } },
    clock,
    constants: defaultConstants,
    identity: () => identity,
    objects: () => objects,
    pendingOrphans: () => [],
    onChange: () => {
      changes++;
    },
    onPoll: () => {},
  };
  return { watched: new FeedObserver(options, () => account), clock, changes: () => changes };
}

const IDS = ['1', '2', '3', '4', '5'];

/** Returns the breaker after all five machines ran and then all were gone. */
function afterMassEnd(change: Partial<InstanceSummary>): string {
  const { watched } = watch(IDS.map((id) => object(id, change)));
  watched.onFeedEvent(list(IDS.map((id) => row({ id }))));
  watched.onFeedEvent(list([]));
  return watched.breaker.type;
}

describe('ends that objects plan', () => {
  const running = list(IDS.map((id) => row({ id })));

  test('are judged by the next list, and not any more once they are dropped', () => {
    const { watched } = watch(IDS.map((id) => object(id)));
    watched.onFeedEvent(running);
    watched.planEnd('uid-1', true);
    expect(watched.isEndJudged('uid-1')).toBe(false);
    watched.onFeedEvent(running);
    expect([watched.isEndJudged('uid-1'), watched.isEndJudged('uid-2')]).toEqual([true, false]);
    watched.planEnd('uid-1', false);
    expect(watched.isEndJudged('uid-1')).toBe(false);
  });

  test('open the breaker together with the announced ones when one of them is due', () => {
    const { watched } = watch(IDS.map((id) => object(id)));
    watched.onFeedEvent(running);
    for (const id of IDS) watched.announceEnd(`uid-${id}`, true);
    watched.onFeedEvent(running);
    expect(watched.breaker.type).toBe('closed');
    watched.planEnd('uid-1', true);
    watched.onFeedEvent(running);
    expect(watched.breaker.type).toBe('open');
  });

  test('leave the breaker closed once the others are withdrawn', () => {
    const { watched } = watch(
      IDS.map((id) => object(id)),
      undefined,
      { maxUnhealthy: '50%' },
    );
    watched.onFeedEvent(running);
    for (const id of IDS) watched.announceEnd(`uid-${id}`, true);
    for (const id of IDS.slice(1)) watched.announceEnd(`uid-${id}`, false);
    watched.planEnd('uid-1', true);
    watched.onFeedEvent(running);
    expect(watched.breaker.type).toBe('closed');
  });
});

describe('an account whose login is listed for another account already', () => {
  const shown = list(IDS.map((id) => row({ id, state: 'offline' })));
  const health = { lastCompleteAt: 1, consecutiveFailures: 0, lastError: undefined, form: 'whole' } as const;
  const error = new MarketplaceError('told to fail', { kind: 'unavailable', outcome: 'refused' });

  test('has its breaker open by the latest list when machines failed together', () => {
    const { watched } = watch(IDS.map((id) => object(id)));
    const latest = () => (shown.type === 'list' ? shown.list : undefined);
    watched.catchUp({ latest, health: () => ({ ...health, state: 'healthy' }) });
    expect(watched.breaker).toMatchObject({ type: 'open', cause: 'massFailure', unhealthy: 5 });
  });

  test('has its breaker open when the list failed since', () => {
    const { watched } = watch([]);
    watched.catchUp({
      latest: () => undefined,
      health: () => ({ ...health, state: 'failing', consecutiveFailures: 1, lastError: error }),
    });
    expect(watched.breaker).toMatchObject({ type: 'open', cause: 'listFailed' });
  });

  test('has it closed before the first list', () => {
    const { watched, changes } = watch(IDS.map((id) => object(id)));
    watched.catchUp({ latest: () => undefined, health: () => ({ ...health, state: 'starting' }) });
    expect(watched.breaker.type).toBe('closed');
    expect(changes()).toBe(0);
  });
});

describe('the breaker of an account', () => {
  test('scenario 29: opens when many machines are gone at once', () => {
    expect(afterMassEnd({})).toBe('open');
  });

  test('stays closed where people deleted the objects, or where the machines are being replaced', () => {
    expect(afterMassEnd({ deleting: true })).toBe('closed');
    expect(afterMassEnd({ leaving: true })).toBe('closed');
  });

  test('stays closed when no object would replace its machine', () => {
    expect(afterMassEnd({ isReplaceable: false })).toBe('closed');
  });

  test('counts a machine that is being replaced as long as it is listed (C2)', () => {
    const { watched } = watch(IDS.map((id) => object(id, { leaving: true })));
    watched.onFeedEvent(list(IDS.map((id) => row({ id, state: 'offline' }))));
    expect(watched.breaker.type).toBe('open');
  });

  test('does not miss a machine that no list has shown yet', () => {
    const { watched } = watch(IDS.map((id) => object(id)));
    watched.onFeedEvent(list([]));
    expect(watched.breaker.type).toBe('closed');
  });

  test('stays open as long as the machines are bad, and its time counts for no tolerance (C2)', async () => {
    const { watched, clock } = watch(IDS.map((id) => object(id)));
    const seeIn = async (ms: number, actualStatus: 'running' | 'offline') => {
      await clock.advance(ms);
      watched.onFeedEvent(list(IDS.map((id) => row({ id, state: actualStatus }))));
      return watched.breaker.type;
    };
    expect(await seeIn(10_000, 'running')).toBe('closed');
    expect(await seeIn(10_000, 'offline')).toBe('open');
    const from = clock.monotonic();
    for (let poll = 0; poll < 100; poll++) expect(await seeIn(10_000, 'offline')).toBe('open');
    expect(watched.openSpans).toEqual([{ from, until: undefined }]);
    await seeIn(10_000, 'running');
    expect(await seeIn(10_000, 'running')).toBe('closed');
    expect(watched.openSpans).toEqual([{ from, until: from + 1_020_000 }]);
  });

  test('counts no failure against a host while it is open, nor for ten minutes after (C2)', async () => {
    const { watched, clock } = watch(IDS.map((id) => object(id)));
    const see = (actualStatus: 'running' | 'offline') =>
      watched.onFeedEvent(list(IDS.map((id) => row({ id, state: actualStatus }))));
    see('running');
    expect(watched.countsHostFailures).toBe(true);
    see('offline');
    expect(watched.countsHostFailures).toBe(false);
    see('running');
    see('running');
    expect([watched.breaker.type, watched.countsHostFailures]).toEqual(['closed', false]);
    await clock.advance(600_000);
    expect(watched.countsHostFailures).toBe(true);
  });

  test('lets one object at a time replace its machine after the maximum hold (C2)', async () => {
    const { watched, clock, changes } = watch(IDS.map((id) => object(id)));
    const see = () => watched.onFeedEvent(list(IDS.map((id) => row({ id, state: 'offline' }))));
    see();
    await clock.advance(30 * 60_000 - 1);
    see();
    expect(watched.breaker.type).toBe('open');
    const before = changes();
    await clock.advance(1);
    see();
    expect(watched.breaker).toMatchObject({ type: 'slow', releasedBy: 'hold', turn: 'uid-1' });
    expect(changes()).toBe(before + 1);
  });
});

describe('the machines that the breaker counts', () => {
  test('exclude a machine that no list has shown when the account allows no bad machine', () => {
    const { watched } = watch([object('1')], undefined, { maxUnhealthy: 0 });
    watched.onFeedEvent(list([]));
    expect(watched.breaker.type).toBe('closed');
    watched.onFeedEvent(list([row({ id: '1' })]));
    watched.onFeedEvent(list([]));
    expect(watched.breaker).toMatchObject({ type: 'open', unhealthy: 1 });
  });

  test('include a machine that its object recorded only after the one list that showed it', () => {
    const objects = [object('1', { instanceId: undefined })];
    const { watched } = watch(objects, undefined, { maxUnhealthy: 0 });
    watched.onFeedEvent(list([row({ id: '1' })]));
    objects.splice(0, 1, object('1'));
    watched.onFeedEvent(list([]));
    expect(watched.breaker).toMatchObject({ type: 'open', unhealthy: 1 });
    watched.onFeedEvent(list([]));
    expect(watched.breaker.type).toBe('open');
  });

  test('exclude an object without a machine when its record still shows a status', () => {
    const lost = object('1', { instanceId: undefined, wasListed: true });
    const { watched } = watch([lost], undefined, { maxUnhealthy: 0 });
    watched.onFeedEvent(list([]));
    expect(watched.breaker.type).toBe('closed');
  });

  test('exclude a machine that only its record showed when the record shows it no longer', () => {
    const objects = IDS.map((id) => object(id, { wasListed: true }));
    const { watched } = watch(objects);
    watched.onFeedEvent(list([]));
    expect(watched.breaker).toMatchObject({ type: 'open', unhealthy: 5 });
    objects.splice(0, objects.length, ...IDS.map((id) => object(id)));
    watched.onFeedEvent(list([]));
    watched.onFeedEvent(list([]));
    expect(watched.breaker.type).toBe('closed');
  });
});

describe('the maximum hold of an open breaker', () => {
  test.each([
    [5, '5m'],
    [60, '1h'],
    [30, undefined],
  ] as const)(
    'releases the breaker after %d minutes when maxUnhealthyHold is %s',
    async (minutes, maxUnhealthyHold) => {
      const spec = { maxUnhealthyHold } as Partial<MarketplaceAccount['spec']>;
      const { watched, clock } = watch(
        IDS.map((id) => object(id)),
        undefined,
        spec,
      );
      const see = () => watched.onFeedEvent(list(IDS.map((id) => row({ id, state: 'offline' }))));
      see();
      await clock.advance(minutes * 60_000 - 1);
      see();
      expect(watched.breaker.type).toBe('open');
      await clock.advance(1);
      see();
      expect(watched.breaker).toMatchObject({ type: 'slow', releasedBy: 'hold' });
    },
  );

  test('counts the time before a restart when the account remembers an open breaker', async () => {
    // 20 minutes before the process starts.
    const breaker = { open: true, since: '2023-11-14T21:53:20Z', unhealthy: 5 };
    const { watched, clock } = watch(
      IDS.map((id) => object(id)),
      { breaker } as MarketplaceAccount['status'],
      { maxUnhealthyHold: '30m' },
    );
    const see = () => watched.onFeedEvent(list(IDS.map((id) => row({ id, state: 'offline' }))));
    await clock.advance(10 * 60_000 - 1);
    see();
    expect(watched.breaker.type).toBe('open');
    await clock.advance(1);
    see();
    expect(watched.breaker).toMatchObject({ type: 'slow', releasedBy: 'hold' });
  });
});

describe('the turn to replace a machine while many are bad', () => {
  /** Returns a watch whose machines are all offline, after a person closed its breaker. */
  function released(objects: readonly InstanceSummary[], serviceTime?: ServiceTime) {
    const watching = watch(objects, undefined, {}, serviceTime);
    const { watched } = watching;
    const ids = objects.flatMap(({ instanceId }) => instanceId ?? []);
    const seeOffline = () => watched.onFeedEvent(list(ids.map((id) => row({ id, state: 'offline' }))));
    seeOffline();
    watched.closeBreaker();
    return { ...watching, seeOffline };
  }

  test.each([
    ['waits', 'loading', undefined],
    ['waits', 'offline', undefined],
    ['passes to the next object', 'running', 'uid-10'],
  ] as const)('%s when the machine of the last replacement is %s', (_, actualStatus, turn) => {
    const replaced = object('101', { uid: 'uid-1', lastEndedAt: 0 });
    const others = Array.from({ length: 19 }, (_each, index) => object(String(index + 2)));
    const { watched } = released([replaced, ...others]);
    const bad = others.flatMap(({ instanceId: id }) =>
      id === undefined ? [] : [row({ id, state: 'offline' })],
    );
    watched.onFeedEvent(list([row({ id: '101', state: actualStatus }), ...bad]));
    expect(watched.breaker).toMatchObject({ type: 'slow', turn });
  });

  test.each([
    ['an hour ahead of that of the service', { type: 'known', at: 500_000, isConfirmed: true }],
    ['doubtful', { type: 'stale' }],
  ] as const)('waits while the machine of the last replacement boots when our clock is %s', (_, time) => {
    const replaced = object('101', { uid: 'uid-1', lastEndedAt: 0 });
    const others = Array.from({ length: 19 }, (_each, index) => object(String(index + 2)));
    const { watched } = released([replaced, ...others], time);
    const bad = others.flatMap(({ instanceId: id }) =>
      id === undefined ? [] : [row({ id, state: 'offline' })],
    );
    watched.onFeedEvent(list([row({ id: '101', state: 'loading' }), ...bad], 4_100_000));
    expect(watched.breaker).toMatchObject({ type: 'slow', turn: undefined });
  });

  test('notifies the account when it passes to another object, and not while it stays', async () => {
    const { watched, clock, changes, seeOffline } = released(IDS.map((id) => object(id)));
    const before = changes();
    const turnAndChanges = () => [watched.breaker, changes() - before];
    expect(turnAndChanges()).toMatchObject([{ type: 'slow', turn: undefined }, 0]);
    seeOffline();
    expect(turnAndChanges()).toMatchObject([{ type: 'slow', turn: 'uid-1' }, 1]);
    await clock.advance(120_000 - 1);
    seeOffline();
    expect(turnAndChanges()).toMatchObject([{ type: 'slow', turn: 'uid-1' }, 1]);
    await clock.advance(1);
    seeOffline();
    expect(turnAndChanges()).toMatchObject([{ type: 'slow', turn: 'uid-2' }, 2]);
  });

  test('ends when the machines are well, and starts afresh when they fail again', () => {
    const { watched, seeOffline } = released(IDS.map((id) => object(id)));
    seeOffline();
    expect(watched.breaker).toMatchObject({ type: 'slow', turn: 'uid-1' });
    for (let poll = 0; poll < 2; poll++) watched.onFeedEvent(list(IDS.map((id) => row({ id }))));
    expect(watched.breaker.type).toBe('closed');
    seeOffline();
    watched.closeBreaker();
    expect(watched.breaker).toMatchObject({ type: 'slow', turn: undefined });
    seeOffline();
    expect(watched.breaker).toMatchObject({ type: 'slow', turn: 'uid-1' });
  });

  test('does not pass to the next object when a list fails while a machine whose destroy went unanswered is missing', () => {
    const leaving = object('1', { leaving: true });
    const objects = [leaving, ...IDS.slice(1).map((id) => object(id))];
    const { watched, seeOffline } = released(objects);
    seeOffline();
    expect(watched.breaker).toMatchObject({ type: 'slow', turn: undefined });
    objects[0] = object('1');
    const fail = () =>
      watched.onFeedEvent({
        type: 'failed',
        error: new MarketplaceError('told to fail', { kind: 'unavailable', outcome: 'refused' }),
      });
    const seeMissing = () =>
      watched.onFeedEvent(list(IDS.slice(1).map((id) => row({ id, state: 'offline' }))));
    seeMissing();
    expect(watched.breaker).toMatchObject({ type: 'slow', turn: undefined });
    fail();
    seeMissing();
    expect(watched.breaker).toMatchObject({ type: 'open', cause: 'listFailed' });
    seeMissing();
    expect(watched.breaker).toMatchObject({ type: 'slow', turn: undefined });
  });

  test('stays with its object when a list fails and a person closes the breaker', () => {
    const { watched, seeOffline } = released(IDS.map((id) => object(id)));
    seeOffline();
    watched.onFeedEvent({
      type: 'failed',
      error: new MarketplaceError('told to fail', { kind: 'unavailable', outcome: 'refused' }),
    });
    expect(watched.breaker).toMatchObject({ type: 'open', cause: 'listFailed' });
    watched.closeBreaker();
    expect(watched.breaker).toMatchObject({ type: 'slow', turn: 'uid-1' });
  });
});

describe('a process that has just started', () => {
  test('scenario 61: finds the breaker as the account remembers it', () => {
    const breaker = { open: true, since: '2026-11-20T12:00:00Z', unhealthy: 5 };
    const { watched } = watch([], { breaker } as MarketplaceAccount['status']);
    expect(watched.breaker).toMatchObject({ type: 'open', unhealthy: 5 });
    expect(watched.openSpans).toEqual([{ from: 0, until: undefined }]);
    watched.closeBreaker();
    expect(watched.breaker).toMatchObject({ type: 'slow', releasedBy: 'person' });
    watched.onFeedEvent(list([]));
    watched.onFeedEvent(list([]));
    expect(watched.breaker.type).toBe('closed');
  });

  test.each([
    ['just now', '2023-11-14T22:13:20Z', 5, false],
    ['without a mass failure', '2023-11-14T22:13:20Z', 0, true],
  ] as const)(
    'counts host failures by the status of the account: closed %s (C2)',
    (_, since, unhealthy, blames) => {
      const { watched } = watch([], {
        breaker: { open: false, since, unhealthy },
      } as MarketplaceAccount['status']);
      expect(watched.countsHostFailures).toBe(blames);
    },
  );

  test.each([
    ['four minutes before the start', '2023-11-14T22:09:20Z', 6],
    ['by a clock that is an hour ahead', '2023-11-14T23:13:20Z', 10],
  ] as const)('counts host failures again in time when the breaker closed %s', async (_, since, minutes) => {
    const { watched, clock } = watch([], {
      breaker: { open: false, since, unhealthy: 5 },
    } as MarketplaceAccount['status']);
    await clock.advance(minutes * 60_000 - 1);
    expect(watched.countsHostFailures).toBe(false);
    await clock.advance(1);
    expect(watched.countsHostFailures).toBe(true);
  });

  test.each([
    ['machines are bad', 'exited', 'open'],
    ['machines that the record says were listed are gone', undefined, 'open'],
    ['machines are well', 'running', 'closed'],
  ] as const)('goes by its first list: %s (C2)', (_, actualStatus, expected) => {
    const { watched } = watch(IDS.map((id) => object(id, { wasListed: true })));
    const rows = actualStatus === undefined ? [] : IDS.map((id) => row({ id, state: actualStatus }));
    for (let poll = 0; poll < 3; poll++) {
      watched.onFeedEvent(list(rows));
      expect(watched.breaker.type).toBe(expected);
    }
  });

  test('goes by the record at its first list, too, where others failed before', () => {
    const { watched } = watch(IDS.map((id) => object(id, { wasListed: true })));
    watched.onFeedEvent({
      type: 'failed',
      error: new MarketplaceError('told to fail', { kind: 'unavailable', outcome: 'refused' }),
    });
    expect(watched.breaker).toMatchObject({ type: 'open', cause: 'listFailed' });
    watched.onFeedEvent(list([]));
    expect(watched.breaker).toMatchObject({ type: 'open', cause: 'massFailure', unhealthy: 5 });
  });

  test.each([
    [true, 'echoed'],
    [false, 'notEchoed'],
  ] as const)('remembers whether labels come back: %s', (labelsEchoed, expected) => {
    const { watched } = watch([], { labelsEchoed } as MarketplaceAccount['status']);
    expect(watched.labelEcho).toBe(expected);
  });
});

describe('whether labels come back', () => {
  test('scenario 69: is learned from the first list that shows one of ours', () => {
    const { watched, changes } = watch([]);
    watched.onFeedEvent(list([row({ id: '1', label: null })]));
    expect(watched.labelEcho).toBe('unknown');
    watched.onFeedEvent(list([row({ id: '1', label, startedAt: 1_000 })]));
    expect(watched.labelEcho).toBe('echoed');
    expect(changes()).toBeGreaterThan(0);
  });

  test('scenario 69: is denied by a recorded machine that shows none, also when a late list would show it', async () => {
    const { watched, clock } = watch([object('1', { claim: claimOf('1') })]);
    const shown = async (ms: number) => {
      await clock.advance(ms);
      watched.onFeedEvent(list([row({ id: '1', label: null })], 1, clock.monotonic()));
      return watched.labelEcho;
    };
    expect([await shown(0), await shown(59_999), await shown(1)]).toEqual([
      'unknown',
      'unknown',
      'notEchoed',
    ]);
  });

  test('is not denied by a list that shows a machine a moment before its label', async () => {
    const { watched, clock } = watch([object('1', { claim: claimOf('1') })]);
    watched.onFeedEvent(list([row({ id: '1', label: null })]));
    await clock.advance(1_000);
    watched.onFeedEvent(list([row({ id: '1', label, startedAt: 1_000 })]));
    expect(watched.labelEcho).toBe('echoed');
  });

  test.each<readonly [string, InstanceSummary['claim']]>([
    ['without a claim', undefined],
    ['beside the claim of another machine', { ...claimOf('2'), instanceId: '1' } as InstanceSummary['claim']],
    ['with a claim for another login', claimOf('1', { login: { ...login, userId: '8' } })],
    ['with a claim for another object', claimOf('1', { uid: 'uid-2' })],
  ])('is not denied by a foreign machine whose id a person wrote into a status %s', (_, claim) => {
    const { watched } = watch([object('1', { claim })]);
    watched.onFeedEvent(list([row({ id: '1', label: null })]));
    expect(watched.labelEcho).toBe('unknown');
  });

  test.each(['Manage', 'Observe'] as const)(
    'is not denied by a machine that was taken over without a label (%s)',
    (adopted) => {
      const { watched } = watch([object('1', { adopted, claim: claimOf('1') })]);
      watched.onFeedEvent(list([row({ id: '1', label: null })]));
      expect(watched.labelEcho).toBe('unknown');
    },
  );

  test('is not learned from the label that an adopted machine was given', () => {
    const { watched } = watch([object('1', { adopted: 'Manage', claim: claimOf('1') })]);
    watched.onFeedEvent(list([row({ id: '1', label, startedAt: 1_000 })]));
    expect(watched.labelEcho).toBe('unknown');
  });

  test.each([
    ['of a stranger', 'mine'],
    ['of another installation', 'gpurental1:deadbeef:b:1:1:0123456789abcdef0123'],
  ])(
    'are unknown when the reply to a rental named a machine with a label %s (seed 1234)',
    async (_, shown) => {
      const { watched, clock } = watch([]);
      watched.labelReadBack(label, shown, 1);
      await clock.advance(60_000);
      watched.labelReadBack(label, shown, 2);
      expect(watched.labelEcho).toBe('unknown');
    },
  );

  test('come back when the reply to a rental named a machine of another purchase', () => {
    const { watched } = watch([]);
    watched.labelReadBack(label, makeLabel(identity, { uid: 'b', attempt: 1, issuedAt: 1 }), 1);
    expect(watched.labelEcho).toBe('echoed');
  });

  test.each([
    ['that it was rented with', 1_000, 'echoed'],
    ['that it got long after its rental', -3_600_000, 'notEchoed'],
  ] as const)('after they did not, a machine carries a label of ours %s: %s', (_, startedAt, expected) => {
    const { watched, changes } = watch([], { labelsEchoed: false });
    watched.onFeedEvent(list([row({ id: '1', label, startedAt })]));
    expect([watched.labelEcho, changes()]).toEqual([expected, expected === 'echoed' ? 2 : 1]);
  });

  test('is learned once: a label that is edited later proves nothing', () => {
    const { watched } = watch([]);
    watched.labelReadBack(label, label, 1);
    watched.labelReadBack(label, 'another', 2);
    expect(watched.labelEcho).toBe('echoed');
  });

  test('is not denied by one list, however long it is the latest and however often it is read', async () => {
    const { watched, clock } = watch([object('1', { claim: claimOf('1') })]);
    const bare = list([row({ id: '1', label: null })], 1, 7);
    watched.onFeedEvent(bare);
    for (const shown of [null, 'another']) {
      await clock.advance(60_000);
      watched.labelReadBack(label, shown, 7);
      watched.onFeedEvent(bare);
    }
    expect(watched.labelEcho).toBe('unknown');
    watched.labelReadBack(label, label, 8);
    expect(watched.labelEcho).toBe('echoed');
  });
});

describe('what a poll reports to the account', () => {
  const failed = {
    type: 'failed',
    error: new MarketplaceError('told to fail', { kind: 'unavailable', outcome: 'refused' }),
  } as const;

  /** Returns a watch, its output, and the number of its change notifications. */
  function listening() {
    const { account } = observed();
    const looks: string[] = [];
    let changes = 0;
    const clock = createVirtualClock({ startMs: 77 });
    const options = {
      account,
      connection: { login, about: vastFacts, serviceClock: { now: () => ({ type: 'unknown' }) as const } },
      clock,
      constants: defaultConstants,
      identity: () => identity,
      objects: () => [],
      pendingOrphans: () => [],
      onChange: () => {
        changes++;
      },
      onPoll: ({ type }: FeedEvent) => looks.push(type),
    };
    return { watched: new FeedObserver(options, () => account), looks, changes: () => changes, clock };
  }

  test('is that its list failed, which opens the breaker then and there', () => {
    const { watched, looks, changes } = listening();
    watched.onFeedEvent(failed);
    expect(watched.breaker).toMatchObject({ type: 'open', cause: 'listFailed', since: 77 });
    watched.onFeedEvent(failed);
    expect(looks).toEqual(['failed', 'failed']);
    expect(changes()).toBe(1);
  });

  test('is that the first list is there, and then only what is new', () => {
    const { watched, looks, changes } = listening();
    for (let poll = 0; poll < 3; poll++) watched.onFeedEvent(list([]));
    expect(looks).toEqual(['list', 'list', 'list']);
    expect(changes()).toBe(1);
  });

  test('is not a single row', () => {
    const { watched, looks, changes } = listening();
    watched.onFeedEvent({ type: 'row', id: '1', row: undefined, previous: undefined });
    expect([looks, changes()]).toEqual([[], 0]);
  });

  test('is that a person closed the breaker', () => {
    const { watched, changes } = listening();
    watched.onFeedEvent(failed);
    watched.closeBreaker();
    expect(watched.breaker).toEqual({ type: 'closed' });
    expect(changes()).toBe(2);
  });

  test.each([
    ['as it was sent', label, 'echoed'],
    ['not at all', null, 'notEchoed'],
    ['changed', `${label}x`, 'notEchoed'],
  ] as const)(
    'is that the first label came back %s, or not after the lag of a list either',
    async (_, shown, echo) => {
      const { watched, changes, clock } = listening();
      watched.labelReadBack(label, shown, 1);
      await clock.advance(60_000);
      watched.labelReadBack(label, shown, 2);
      expect([watched.labelEcho, changes()]).toEqual([echo, 1]);
      watched.labelReadBack(label, label, 3);
      watched.onFeedEvent(list([row({ id: '9', label })]));
      expect(watched.labelEcho).toBe(echo);
    },
  );

  test('is that a list shows a label of ours, once', () => {
    const { watched, changes } = listening();
    watched.onFeedEvent(list([row({ id: '9', label, startedAt: 1_000 })]));
    watched.onFeedEvent(list([row({ id: '9', label, startedAt: 1_000 })]));
    expect([watched.labelEcho, changes()]).toEqual(['echoed', 2]);
  });
});

test('a machine that the status lists as kept is unlisted for long after lists further apart than two list-lags, never after one, nor once it was found', async () => {
  const kept = {
    instanceId: '5',
    owner: 'team/a',
    ownerUid: 'u',
    since: '2026-11-20T00:00:00Z',
    policy: 'Retain',
  } as const;
  const { watched, clock } = watch([], { retained: [kept] });
  const unlistedAfter = async (ms: number, rows: readonly MachineRow[] = []) => {
    await clock.advance(ms);
    const byId = new Map(rows.map((each) => [each.id, each]));
    watched.onFeedEvent({ type: 'list', list: { begunAt: 0, endedAt: 0, rows: byId } });
    return [...watched.longUnlisted()];
  };
  expect(await unlistedAfter(0)).toEqual([]);
  expect(await unlistedAfter(120_000)).toEqual([]);
  expect(await unlistedAfter(1)).toEqual(['5']);
  watched.onPresent('5');
  expect(await unlistedAfter(1)).toEqual([]);
  expect(await unlistedAfter(120_001)).toEqual(['5']);
  expect(await unlistedAfter(1, [row({ id: '5' })])).toEqual([]);
});

test.each<readonly [string, MarketplaceAccount['status'], readonly string[]]>([
  ['nothing', undefined, []],
  ['a machine whose rental was rolled back', { rolledBack: ['6'] }, ['6']],
])('follows what the account remembers when its status names %s', async (_, status, unlisted) => {
  const { watched, clock } = watch([], status);
  watched.onFeedEvent(list([]));
  await clock.advance(120_002);
  watched.onFeedEvent(list([]));
  expect([...watched.longUnlisted()]).toEqual(unlisted);
});
