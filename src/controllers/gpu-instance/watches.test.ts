import { describe, expect, test } from 'vitest';
import { given, identity, labelOf, NOW, row } from '../../../test/builders/observed.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { SpendBudget } from '../../api/v1alpha1/spend-budget.ts';
import type { AccountRef } from '../../instance/account-ref.ts';
import type { FeedEvent } from '../../market/feed-state.ts';
import type { Change } from '../../runtime/list-watch/informer.ts';
import { SteadyClock } from './memory.ts';
import { Watches, type WatchesOptions } from './watches.ts';

interface Named {
  /** The first letter is its name. */
  readonly uid: string;
  readonly machine?: string;
  readonly adopts?: string;
  readonly account?: string;
}

/** Returns an object of the namespace `team` that names the account `default`, unless set otherwise. */
function objectOf({ uid, machine, adopts, account = 'default' }: Named): GpuInstance {
  const { object } = given({ spec: { accountRef: { name: account } } });
  return {
    ...object,
    metadata: { ...object.metadata, name: uid.slice(0, 1), uid },
    spec: {
      ...object.spec,
      ...(adopts !== undefined && { adopt: { instanceId: adopts, policy: 'Manage' } }),
    },
    ...(machine !== undefined && { status: { instanceId: machine } }),
  } as GpuInstance;
}

const uidOf = (name: string) => `${name}1111111-2222-4333-8444-555555555555`;

/** Returns the session of an account, whose lists come when the test decides. */
function sessionOf(name: string) {
  const listeners = new Set<(event: FeedEvent) => void>();
  const feed = {
    subscribe: (listener: (event: FeedEvent) => void) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const hear = (event: FeedEvent) => {
    for (const listener of [...listeners]) listener(event);
  };
  return { ref: { namespace: 'team', name }, feed, identity, hear, listeners };
}

type Session = ReturnType<typeof sessionOf>;

const rowEvent = (id: string, label: string | null, isGone = false): FeedEvent => {
  const machine = row({ id, label });
  return isGone
    ? { type: 'row', id, row: undefined, previous: machine }
    : { type: 'row', id, row: machine, previous: undefined };
};
const LIST: FeedEvent = { type: 'list', list: { begunAt: NOW - 1_000, endedAt: NOW, rows: new Map() } };

/** Objects enqueued, in order, among these objects and with sessions of these accounts. */
function situation(objects: readonly GpuInstance[], first: readonly Session[] = [sessionOf('default')]) {
  const woken: string[] = [];
  const changed: string[] = [];
  const sessions = [...first];
  const steady = new SteadyClock(createVirtualClock({ startMs: NOW }));
  let current = [...objects];
  let onAccount: (ref: AccountRef) => void = () => {};
  let onObject: (change: Change<GpuInstance>) => void = () => {};
  let onBudget: (change: Change<SpendBudget>) => void = () => {};
  const waking = new Watches({
    spendBudgets: {
      onChange: (listener: typeof onBudget) => {
        onBudget = listener;
        return () => {
          onBudget = () => {};
        };
      },
    },
    accounts: {
      get: ({ name }: AccountRef) => {
        const session = sessions.find(({ ref }) => ref.name === name);
        return session ? { type: 'ready', session } : { type: 'missing' };
      },
      sessions: () => sessions,
      onChange: (listener: typeof onAccount) => {
        onAccount = listener;
        return () => {
          onAccount = () => {};
        };
      },
    },
    instances: {
      list: () => current,
      onChange: (listener: typeof onObject) => {
        onObject = listener;
        return () => {
          onObject = () => {};
        };
      },
    },
    enqueue: (key: string) => woken.push(key),
    onAccountChange: ({ metadata }: GpuInstance) => changed.push(metadata.name),
    steady,
  } as unknown as WatchesOptions);
  waking.start();
  return {
    waking,
    steady,
    changed,
    sessions,
    /** Runs the event and returns the objects that it enqueued. */
    wokenBy: (event: () => void) => {
      woken.length = 0;
      changed.length = 0;
      event();
      return [...woken];
    },
    accountChanges: (name: string) => onAccount({ namespace: 'team', name }),
    budgetChanges: (change: Change<SpendBudget>) => onBudget(change),
    objectChanges: (change: Change<GpuInstance>) => {
      current = [...current.filter(({ metadata }) => metadata.uid !== change.object.metadata.uid)];
      if (change.type !== 'deleted') current.push(change.object);
      onObject(change);
    },
  };
}

describe('a row that changed', () => {
  const objects = [
    objectOf({ uid: uidOf('a'), machine: '4' }),
    objectOf({ uid: uidOf('b'), adopts: '5' }),
    objectOf({ uid: uidOf('c') }),
  ];
  test.each([
    ['the object that records the machine', rowEvent('4', null), ['team/a']],
    ['the object that wants to take it over', rowEvent('5', null), ['team/b']],
    ['the object whose label it carries', rowEvent('6', labelOf(1, NOW, uidOf('c'))), ['team/c']],
    [
      'the object whose label it carried, where it left the list',
      rowEvent('6', labelOf(1, NOW, uidOf('c')), true),
      ['team/c'],
    ],
    [
      'nobody where it carries the label of an object that is not there',
      rowEvent('6', labelOf(1, NOW, uidOf('d'))),
      [],
    ],
    ['nobody where it is a stranger’s', rowEvent('6', 'mine'), []],
  ])('wakes %s', (_, event, keys) => {
    const session = sessionOf('default');
    const { wokenBy } = situation(objects, [session]);
    expect(wokenBy(() => session.hear(event))).toEqual(keys);
  });

  test('wakes the object that records the machine now, and no more who did', () => {
    const session = sessionOf('default');
    const { wokenBy, objectChanges } = situation([objectOf({ uid: uidOf('a'), machine: '4' })], [session]);
    const previous = objectOf({ uid: uidOf('a'), machine: '4' });
    const object = objectOf({ uid: uidOf('a'), machine: '7' });
    objectChanges({ type: 'updated', key: 'team/a', object, previous });
    expect(wokenBy(() => session.hear(rowEvent('4', null)))).toEqual([]);
    expect(wokenBy(() => session.hear(rowEvent('7', null)))).toEqual(['team/a']);
    objectChanges({ type: 'deleted', key: 'team/a', object });
    expect(wokenBy(() => session.hear(rowEvent('7', labelOf(1, NOW, uidOf('a')))))).toEqual([]);
  });
});

describe('a complete list', () => {
  test('wakes once who waits for one of its login, and is remembered by its time', () => {
    const [session, other] = [sessionOf('default'), sessionOf('other')];
    const object = objectOf({ uid: uidOf('a') });
    const { waking, wokenBy, steady } = situation([object], [session, other]);
    waking.onNextList('team/a', object);
    expect(wokenBy(() => other.hear(LIST))).toEqual([]);
    expect(wokenBy(() => session.hear(LIST))).toEqual(['team/a']);
    expect(wokenBy(() => session.hear(LIST))).toEqual([]);
    expect(steady.listTimes(session.feed as never, [NOW - 1_000])).toEqual([NOW - 1_000]);
  });

  test('that failed enqueues no object', () => {
    const session = sessionOf('default');
    const object = objectOf({ uid: uidOf('a') });
    const { waking, wokenBy } = situation([object], [session]);
    waking.onNextList('team/a', object);
    expect(wokenBy(() => session.hear({ type: 'failed' } as FeedEvent))).toEqual([]);
    expect(wokenBy(() => session.hear(LIST))).toEqual(['team/a']);
  });
});

describe('a budget that changed', () => {
  const objects = [objectOf({ uid: uidOf('a') }), objectOf({ uid: uidOf('b'), account: 'other' })];
  const budget = (change: Partial<SpendBudget['status']> = {}, generation = 1, namespace = 'team') =>
    ({
      metadata: { name: 'budget', namespace, uid: 'budget', generation },
      status: { month: '2026-11', ...change },
    }) as SpendBudget;
  const updated = (object: SpendBudget): Change<SpendBudget> => ({
    ...{ type: 'updated', key: 'team/budget' },
    ...{ object, previous: budget() },
  });
  const exceeded = { conditions: [{ type: 'Exceeded' }] as never };

  test.each<[string, Change<SpendBudget>]>([
    ['was created', { type: 'added', key: 'team/budget', object: budget() }],
    ['was deleted', { type: 'deleted', key: 'team/budget', object: budget() }],
    ['has another spec', updated(budget({}, 2))],
    ['counts another month', updated(budget({ month: '2026-12' }))],
    ['is exceeded now', updated(budget(exceeded))],
  ])('and %s wakes the objects of its namespace, and what an account refused is asked again', (_, change) => {
    const { wokenBy, budgetChanges, changed } = situation(objects);
    expect(wokenBy(() => budgetChanges(change))).toEqual(['team/a', 'team/b']);
    expect(changed).toEqual(['a', 'b']);
  });

  test.each([
    ['in its figures', updated(budget({ spentThisMonth: '5.00' }))],
    ['in another namespace', updated(budget({}, 2, 'other'))],
  ])('%s wakes no object', (_, change) => {
    const { wokenBy, budgetChanges } = situation(objects);
    expect(wokenBy(() => budgetChanges(change))).toEqual([]);
  });
});

describe('an account that changed', () => {
  const objects = [objectOf({ uid: uidOf('a') }), objectOf({ uid: uidOf('b'), account: 'other' })];

  test('wakes the objects that name it, and what they remember of it is forgotten', () => {
    const { wokenBy, accountChanges, changed } = situation(objects);
    expect(wokenBy(() => accountChanges('default'))).toEqual(['team/a']);
    expect(changed).toEqual(['a']);
  });

  test('and has a session now is listened to', () => {
    const { wokenBy, accountChanges, sessions } = situation(
      [objectOf({ uid: uidOf('a'), machine: '4' })],
      [],
    );
    const session = sessionOf('default');
    sessions.push(session);
    accountChanges('default');
    expect(wokenBy(() => session.hear(rowEvent('4', null)))).toEqual(['team/a']);
  });

  test('and has none any more is not', () => {
    const session = sessionOf('default');
    const { accountChanges, sessions } = situation(objects, [session]);
    expect(session.listeners.size).toBe(1);
    sessions.length = 0;
    accountChanges('default');
    expect(session.listeners.size).toBe(0);
  });
});

test('enqueues no object after its stop', () => {
  const session = sessionOf('default');
  const { waking, wokenBy, accountChanges } = situation(
    [objectOf({ uid: uidOf('a'), machine: '4' })],
    [session],
  );
  waking.stop();
  expect(
    wokenBy(() => {
      session.hear(rowEvent('4', null));
      accountChanges('default');
    }),
  ).toEqual([]);
});
