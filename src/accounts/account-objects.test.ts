import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { instanceSummary } from '../../test/builders/instance-summary.ts';
import { createVirtualClock, type VirtualClock } from '../../test/builders/virtual-clock.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../api/v1alpha1/names.ts';
import { recentRentals } from '../instance/rentals.ts';
import { type InstanceSummary, summarize } from '../instance/summary.ts';
import { Secret } from '../lib/secret.ts';
import { formatTime } from '../lib/time.ts';
import { makeClaim } from '../ownership/claim.ts';
import type { KeyRing } from '../ownership/key-ring.ts';
import type { Change } from '../runtime/list-watch/informer.ts';
import {
  type AccountObjects,
  type Counting,
  countedObjects,
  InstanceSummaries,
  listedObjects,
} from './account-objects.ts';

const KEYS: KeyRing = [new Secret('1'.repeat(64))];
const login = { url: 'https://market.example', userId: '7' };
const permits = (namespace: string) => namespace === 'team';
const counting: Counting = { permits, keys: KEYS, login };

const facts = { uid: 'u1', attempt: 1, instanceId: '7' };
const claim = { ...facts, claim: makeClaim(KEYS, { ...facts, login }) };

describe('an object of a namespace that the account does not permit', () => {
  const counts = (change: Parameters<typeof instanceSummary>[0], more = {}) =>
    countedObjects([instanceSummary({ key: 'other/a', ...change })], { ...counting, ...more }).length === 1;

  test.each([
    ['and that has rented nothing counts for nothing', {}, false],
    ['counts while it has a machine that is proven to be rented', { instanceId: '7', claim }, true],
    [
      'and that names a machine without proof counts for nothing',
      { instanceId: '8', claim: { ...claim, instanceId: '8' } },
      false,
    ],
    ['counts where it has rented before, or is about to', { hasProvenIntent: true }, true],
    ['and whose intent nobody can read counts for nothing', { hasDoubtfulIntent: true }, false],
  ] as const)('%s', (_, change, counted) => {
    expect(counts(change)).toBe(counted);
  });

  test('has no claim that fits another login', () => {
    expect(counts({ claim }, { login: { ...login, userId: '8' } })).toBe(false);
    expect(counts({ claim }, { login: undefined })).toBe(false);
  });

  test('counts while no identity is known, since nothing can be proven', () => {
    expect(counts({}, { keys: undefined })).toBe(true);
  });
});

test('every object of a permitted namespace counts, and each namespace is asked for once', () => {
  const asked: string[] = [];
  const noting = {
    ...counting,
    permits: (namespace: string) => {
      asked.push(namespace);
      return permits(namespace);
    },
  };
  const objects = ['team/a', 'other/a', 'team/b', 'other/b'].map((key) => instanceSummary({ key }));
  expect(countedObjects(objects, noting).map(({ key }) => key)).toEqual(['team/a', 'team/b']);
  expect(asked).toEqual(['team', 'other']);
});

/** The cluster as an informer has it. */
class Copies {
  readonly #objects = new Map<string, GpuInstance>();
  readonly #listeners = new Set<(change: Change<GpuInstance>) => void>();

  get(key: string): GpuInstance | undefined {
    return this.#objects.get(key);
  }

  list(): readonly GpuInstance[] {
    return [...this.#objects.values()];
  }

  onChange(listener: (change: Change<GpuInstance>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  put(object: GpuInstance): void {
    const key = keyOf(object);
    const known = this.#objects.get(key);
    if (known && known.metadata.uid !== object.metadata.uid) this.remove(key);
    const previous = this.#objects.get(key);
    this.#objects.set(key, object);
    this.#tell(previous ? { type: 'updated', key, object, previous } : { type: 'added', key, object });
  }

  remove(key: string): void {
    const object = this.#objects.get(key);
    if (!object) return;
    this.#objects.delete(key);
    this.#tell({ type: 'deleted', key, object });
  }

  #tell(change: Change<GpuInstance>): void {
    for (const listener of this.#listeners) listener(change);
  }
}

const keyOf = ({ metadata }: GpuInstance) => `${metadata.namespace}/${metadata.name}`;
const REF = { namespace: 'team', name: 'default' };

interface Drawn {
  readonly uid?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly account?: string;
  readonly intent?: string | undefined;
  readonly status?: Partial<NonNullable<GpuInstance['status']>> | undefined;
  readonly observes?: boolean;
}

function instance({ name = 'a', namespace = 'team', uid = name, ...drawn }: Drawn = {}): GpuInstance {
  const { account = 'default', intent, status, observes = false } = drawn;
  const noted = intent === undefined ? {} : { annotations: { [annotations.rentalIntent]: intent } };
  return {
    metadata: { namespace, name, uid, ...noted },
    spec: { accountRef: { ...REF, name: account }, ...(observes && { adopt: { policy: 'Observe' } }) },
    ...(status && { status }),
  } as unknown as GpuInstance;
}

let clock: VirtualClock;
let copies: Copies;
let keys: KeyRing | undefined;
let summaries: InstanceSummaries;
/** Differences of the services of accounts to the clock. */
let offsets: Map<string, number>;
const timeOf = (account: string) => clock.now() + (offsets.get(account) ?? 0);

beforeEach(() => {
  clock = createVirtualClock({ startMs: Date.parse('2026-11-20T12:00:00Z') });
  copies = new Copies();
  keys = KEYS;
  offsets = new Map();
  summaries = new InstanceSummaries({ instances: copies, timeOf, keys: () => keys });
});

describe('what is worked out of an object', () => {
  test('stays until the object changes', () => {
    copies.put(instance());
    const [first] = summaries.all();
    expect(summaries.all()[0]).toBe(first);
    copies.put(instance({ status: { instanceId: '1' } }));
    expect(summaries.all()).toMatchObject([{ uid: 'a', instanceId: '1' }]);
    copies.remove('team/a');
    expect(summaries.all()).toEqual([]);
  });

  test('is read again when it is known what intents are signed with', () => {
    keys = undefined;
    copies.put(instance({ intent: '{"attempt":1,"issuedAt":5}' }));
    expect(summaries.all()).toMatchObject([{ hasOpenIntent: true }]);
    keys = KEYS;
    expect(summaries.all()).toMatchObject([{ hasOpenIntent: false, hasDoubtfulIntent: true }]);
  });

  test('has money that is at most ten seconds old', () => {
    const since = formatTime(clock.now());
    const cost = { pricePerHour: '3.60', storagePricePerHour: '0.01', accrued: '0.00', since };
    copies.put(instance({ status: { instanceId: '1', rentedAt: since, actualStatus: 'running', cost } }));
    const spent = () => summaries.all()[0]?.spentThisMonth;
    const [first] = summaries.all();
    clock.jumpWallClock(9_999);
    expect(summaries.all()[0]).toBe(first);
    clock.jumpWallClock(1);
    expect(spent()).toBe(10_000);
    clock.jumpWallClock(-10_000);
    expect(spent()).toBe(0);
  });

  test('has money by the time of its own account, at once when that changes', () => {
    const since = formatTime(clock.now());
    const cost = { pricePerHour: '3.60', storagePricePerHour: '0.01', accrued: '0.00', since };
    const status = { instanceId: '1', rentedAt: since, actualStatus: 'running', cost };
    copies.put(instance({ name: 'a', status }));
    copies.put(instance({ name: 'b', account: 'another', status }));
    const spent = () => Object.fromEntries(summaries.all().map((each) => [each.uid, each.spentThisMonth]));
    expect(spent()).toEqual({ a: 0, b: 0 });
    offsets.set('team/another', 20_000);
    expect(spent()).toEqual({ a: 0, b: 20_000 });
    copies.remove('team/b');
    offsets.set('team/default', 60_000);
    expect(spent()).toEqual({ a: 60_000 });
  });

  test('is there for objects that the copies held before', () => {
    copies.put(instance());
    const late = new InstanceSummaries({ instances: copies, timeOf, keys: () => keys });
    expect(late.all()).toHaveLength(1);
  });
});

describe('the objects that are followed for an account', () => {
  const uids = (objects: AccountObjects) =>
    objects
      .all()
      .map(({ uid }) => uid)
      .toSorted();

  test('are those that name it, as soon as they do and as long', () => {
    copies.put(instance({ name: 'a' }));
    const followed = summaries.follow(REF);
    expect(uids(followed.counted(counting))).toEqual(['a']);
    copies.put(instance({ name: 'b', account: 'another' }));
    expect(uids(followed.counted(counting))).toEqual(['a']);
    copies.put(instance({ name: 'b' }));
    copies.put(instance({ name: 'a', account: 'another' }));
    expect(uids(followed.counted(counting))).toEqual(['b']);
    copies.remove('team/b');
    expect(uids(followed.counted(counting))).toEqual([]);
  });

  test('are counted again where its namespaces, its login or the keys are others', () => {
    copies.put(instance({ name: 'a' }));
    copies.put(instance({ name: 'b', namespace: 'other' }));
    const followed = summaries.follow(REF);
    expect(uids(followed.counted(counting))).toEqual(['a']);
    expect(uids(followed.counted({ ...counting, permits: () => true }))).toEqual(['a', 'b']);
    expect(uids(followed.counted({ ...counting, permits: () => false }))).toEqual([]);
    expect(uids(followed.counted({ ...counting, keys: undefined }))).toEqual(['a', 'b']);
    expect(uids(followed.counted(counting))).toEqual(['a']);
  });

  test('count in a namespace that is not permitted as long as a claim for this login proves a machine', () => {
    const { claim: text, ...recorded } = claim;
    const proven = (status: Drawn['status']) =>
      copies.put(instance({ name: 'b', namespace: 'other', uid: recorded.uid, status }));
    proven({ instanceId: recorded.instanceId, attempt: recorded.attempt, claim: text });
    const followed = summaries.follow(REF);
    expect(uids(followed.counted(counting))).toEqual(['u1']);
    expect(uids(followed.counted({ ...counting, login: { ...login, userId: '8' } }))).toEqual([]);
    expect(uids(followed.counted({ ...counting, login: undefined }))).toEqual([]);
    expect(uids(followed.counted(counting))).toEqual(['u1']);
    proven({});
    expect(uids(followed.counted(counting))).toEqual([]);
  });

  test('are those of the account alone where others are followed too, and change no more once closed', () => {
    copies.put(instance({ name: 'a' }));
    copies.put(instance({ name: 'b', account: 'another' }));
    const [one, other] = [summaries.follow(REF), summaries.follow({ ...REF, name: 'another' })];
    const second = summaries.follow(REF);
    expect([uids(one.counted(counting)), uids(other.counted(counting))]).toEqual([['a'], ['b']]);
    one.close();
    copies.put(instance({ name: 'c' }));
    expect(uids(one.counted(counting))).toEqual(['a']);
    expect(uids(second.counted(counting))).toEqual(['a', 'c']);
  });

  test('are not counted again while nothing that decides it has changed', () => {
    copies.put(instance({ name: 'a' }));
    const followed = summaries.follow(REF);
    const first = followed.counted(counting);
    expect(followed.counted({ ...counting, login: { ...login } })).toBe(first);
    expect(followed.counted({ ...counting, permits: () => false })).not.toBe(first);
  });

  test('leave nothing behind where an object takes the name of another', () => {
    copies.put(instance({ uid: 'first', status: { instanceId: '1' } }));
    const followed = summaries.follow(REF);
    followed.counted(counting);
    copies.put(instance({ uid: 'second' }));
    const counted = followed.counted(counting);
    expect(uids(counted)).toEqual(['second']);
    expect(counted.get('first')).toBeUndefined();
    expect(counted.sums(clock.now(), []).liveMachines).toBe(0);
  });
});

/** Returns the input of the limits with all sums computed from scratch. */
function addedUp(objects: readonly InstanceSummary[], now: number) {
  const paid = objects.filter(({ adopted }) => adopted !== 'Observe');
  const live = paid.filter(({ instanceId, hasOpenIntent }) => instanceId !== undefined || hasOpenIntent);
  const rentals = recentRentals(
    objects.flatMap((object) => object.rentals),
    now,
  );
  return {
    openIntents: objects.filter(({ hasOpenIntent }) => hasOpenIntent).length,
    liveMachines: live.length,
    dollarsPerHour: live.reduce((sum, { pricePerHour }) => sum + pricePerHour, 0),
    spentThisMonth: paid.reduce((sum, object) => sum + object.spentThisMonth, 0),
    unconfirmedPerHour: live.reduce((sum, object) => sum + object.unconfirmedPerHour, 0),
    unconfirmedThisMonth: paid.reduce((sum, object) => sum + object.unconfirmedThisMonth, 0),
    rentalsLastHour: rentals.length,
    oldestRentalAt: rentals.length === 0 ? undefined : Math.min(...rentals),
  };
}

test('running sums equal the sums of all objects after any changes', { tags: 'long' }, () => {
  const time = fc
    .integer({ min: -7_200, max: 60 })
    .map((seconds) => Date.UTC(2026, 10, 20, 12) + seconds * 1000);
  const drawn = fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd'),
    namespace: fc.constantFrom('team', 'other', 'third'),
    life: fc.constantFrom('1', '2'),
    account: fc.constantFrom('default', 'default', 'another'),
    intent: fc.constantFrom(undefined, undefined, '{"attempt":1,"issuedAt":5}', 'broken'),
    observes: fc.boolean(),
    status: fc.option(
      fc.record({
        instanceId: fc.constantFrom('1', '2'),
        rentedAt: time.map(formatTime),
        offerPricePerHour: fc.constantFrom('0.5', '1.25', undefined),
        cost: fc.record({
          pricePerHour: fc.constant('3.60'),
          accrued: fc.constant('1.00'),
          since: time.map(formatTime),
        }),
        rentals: fc.array(time.map(formatTime), { maxLength: 3 }),
      }),
      { nil: undefined },
    ),
  });
  const step = fc.oneof(
    { weight: 6, arbitrary: drawn.map((object) => ({ type: 'put' as const, object })) },
    {
      weight: 2,
      arbitrary: drawn.map(({ name, namespace }) => ({
        type: 'remove' as const,
        key: `${namespace}/${name}`,
      })),
    },
    {
      weight: 1,
      arbitrary: fc.integer({ min: -20_000, max: 4_000_000 }).map((ms) => ({ type: 'jump' as const, ms })),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(undefined, KEYS).map((ring) => ({ type: 'keys' as const, ring })),
    },
    {
      weight: 1,
      arbitrary: fc
        .subarray(['team', 'other', 'third'])
        .map((namespaces) => ({ type: 'permit' as const, namespaces })),
    },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const time = createVirtualClock({ startMs: Date.UTC(2026, 10, 20, 12) });
      const cluster = new Copies();
      let ring: KeyRing | undefined = KEYS;
      let allowed: readonly string[] = ['team'];
      const known = new InstanceSummaries({
        instances: cluster,
        timeOf: () => time.now(),
        keys: () => ring,
      });
      const followed = known.follow(REF);
      for (const one of steps) {
        switch (one.type) {
          case 'put': {
            const { life, name, ...rest } = one.object;
            cluster.put(instance({ ...rest, name, uid: `${rest.namespace}-${name}-${life}` }));
            break;
          }
          case 'remove':
            cluster.remove(one.key);
            break;
          case 'jump':
            time.jumpWallClock(one.ms);
            break;
          case 'keys':
            ring = one.ring;
            break;
          case 'permit':
            allowed = one.namespaces;
        }
        const now = time.now();
        const how: Counting = { permits: (namespace) => allowed.includes(namespace), keys: ring, login };
        const named = cluster.list().filter(({ spec }) => spec.accountRef.name === 'default');
        const counted = followed.counted(how);
        const shown = counted.all();
        const anew = countedObjects(
          named.map((object) => summarize(object, now, ring)),
          how,
        );
        const settled = ({ spentThisMonth: _moves, ...summary }: InstanceSummary) => summary;
        const inOrder = (objects: readonly InstanceSummary[]) =>
          objects.map(settled).toSorted((left, right) => (left.uid < right.uid ? -1 : 1));
        expect(inOrder(shown)).toEqual(inOrder(anew));
        expect(counted.sums(now, [])).toEqual(addedUp(shown, now));
        const isUndecided = (object: InstanceSummary) =>
          object.hasOpenIntent || object.hasDoubtfulIntent || object.hasUnknownPrice;
        expect(inOrder(counted.undecided())).toEqual(inOrder(shown.filter(isUndecided)));
        const instead = shown
          .slice(0, 2)
          .map((object) => ({ ...object, hasOpenIntent: false, pricePerHour: 7 }));
        const changed = shown.map((object) => instead.find(({ uid }) => uid === object.uid) ?? object);
        expect(counted.sums(now, instead)).toEqual(addedUp(changed, now));
      }
    }),
    { numRuns: 300 },
  );
});

test('a replacement for an object that does not count changes nothing', () => {
  const objects = listedObjects([instanceSummary({ uid: 'a', instanceId: '1', pricePerHour: 5 })]);
  const other = instanceSummary({ uid: 'b', instanceId: '2', pricePerHour: 9 });
  expect(objects.sums(clock.now(), [other])).toEqual(objects.sums(clock.now(), []));
});
