import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import type { FailureReporter } from './avoid-list.ts';
import { type AvoidEntry, AvoidList } from './avoid-list.ts';

const HOUR = 3_600_000;
const host = { type: 'host', id: '1' } as const;
const machine = { type: 'machine', id: '2' } as const;
const offer = { type: 'offer', id: '9' } as const;

function list(entries: readonly AvoidEntry[] = []) {
  const clock = createVirtualClock({ startMs: 0 });
  let changes = 0;
  const avoid = new AvoidList(clock, entries, () => {
    changes += 1;
  });
  return { avoid, clock, changes: () => changes };
}

const entry = (until: number, reason = 'Exited'): AvoidEntry => ({
  target: host,
  until,
  failures: 1,
  reason,
});

describe('the avoid list of an account and its status', () => {
  test('a failure counts at once and asks for a write; an offer asks for none', () => {
    const { avoid, changes } = list();
    avoid.add(offer, 'OfferGone');
    avoid.add(host, 'Exited');
    expect(avoid.current()).toMatchObject({ offers: new Set(['9']), hosts: new Set(['1']) });
    expect(avoid.durable()).toEqual([entry(24 * HOUR)]);
    expect(changes()).toBe(1);
  });

  test('a failure that no status shows yet outlives a status without it', () => {
    const { avoid } = list();
    avoid.add(host, 'Exited');
    avoid.follow([]);
    expect(avoid.durable()).toEqual([entry(24 * HOUR)]);
  });

  test('what a person added to the status is avoided', () => {
    const { avoid } = list();
    avoid.follow([entry(5 * HOUR, 'Requested')]);
    expect(avoid.current().hosts).toEqual(new Set(['1']));
    expect(avoid.durable()).toEqual([entry(5 * HOUR, 'Requested')]);
  });

  test('what a person took out of the status is rented again', () => {
    const { avoid } = list();
    avoid.add(host, 'Exited');
    avoid.follow([entry(24 * HOUR)]);
    avoid.follow([]);
    expect(avoid.durable()).toEqual([]);
  });

  test('an entry that the process began with can be taken out as well', () => {
    const { avoid } = list([entry(5 * HOUR)]);
    avoid.follow([]);
    expect(avoid.current().hosts).toEqual(new Set());
  });

  test('a failure during a longer ban does not shorten it', () => {
    const { avoid } = list([entry(90 * HOUR, 'Requested')]);
    avoid.add(host, 'Exited');
    avoid.follow([entry(90 * HOUR, 'Requested')]);
    expect(avoid.durable()).toEqual([entry(90 * HOUR, 'Requested')]);
  });

  test('one more failure than a status takes is written in the place of what ends first, so that the status can be written', () => {
    const full = Array.from({ length: 256 }, (_, index) => ({
      ...entry((24 + index) * HOUR),
      target: { type: 'host', id: String(index + 100) } as const,
    }));
    const { avoid } = list(full);
    avoid.add(host, 'Exited');
    avoid.add(host, 'Exited');
    avoid.follow(full);
    const written = avoid.durable();
    expect(written).toHaveLength(256);
    expect(written.map(({ target }) => target.id)).toContain(host.id);
    expect(written.map(({ target }) => target.id)).not.toContain(100);
    avoid.follow(written);
    expect(avoid.durable()).toEqual(written);
  });

  test('what failed a moment ago is avoided at once, however many others are for longer', () => {
    const full = Array.from({ length: 256 }, (_, index) => ({
      ...entry(24 * HOUR),
      target: { type: 'host', id: String(index + 100) } as const,
    }));
    const { avoid, clock } = list(full);
    avoid.add(machine, 'Exited');
    avoid.follow(full);
    expect(avoid.current().machines).toEqual(new Set([machine.id]));
    expect(avoid.durable()).toHaveLength(256);
    void clock.advance(2 * HOUR);
    avoid.follow(full);
    expect(avoid.durable()).toEqual(full);
  });

  test('offers stay whatever the status says', () => {
    const { avoid } = list();
    avoid.add(offer, 'OfferGone');
    avoid.follow([]);
    expect(avoid.current().offers).toEqual(new Set(['9']));
  });
});

describe('the word of one namespace (H9)', () => {
  const witness = (namespace: string, change: Partial<FailureReporter> = {}): FailureReporter => ({
    namespace,
    owner: `${namespace}-object`,
    image: `example/${namespace}:1`,
    reason: 'ProvisioningTimedOut',
    patient: false,
    ...change,
  });

  test('scenario 82: counts for its own object at once, and for no other', () => {
    const { avoid, changes } = list();
    avoid.add(machine, 'ProvisioningTimedOut', witness('red'));
    avoid.add(offer, 'refused', witness('red'));
    expect(avoid.current('red-object')).toMatchObject({ machines: new Set(['2']), offers: new Set(['9']) });
    for (const other of [undefined, 'blue-object'])
      expect(avoid.current(other)).toEqual({ machines: new Set(), offers: new Set(), hosts: new Set() });
    expect([avoid.durable(), changes()]).toEqual([[], 0]);
  });

  test('is over for its own object after minutes: its own status remembers longer', async () => {
    const { avoid, clock } = list();
    avoid.add(machine, 'ProvisioningTimedOut', witness('red'));
    await clock.advance(HOUR / 12);
    expect(avoid.current('red-object').machines).toEqual(new Set());
  });

  test('counts for all when another one agrees within a day', async () => {
    const { avoid, clock } = list();
    avoid.add(machine, 'ProvisioningTimedOut', witness('red'));
    await clock.advance(23 * HOUR);
    avoid.add(machine, 'ProvisioningTimedOut', witness('blue'));
    expect(avoid.current().machines).toEqual(new Set(['2']));
    await clock.advance(25 * HOUR);
    avoid.add(host, 'HostOffline', witness('red'));
    await clock.advance(25 * HOUR);
    avoid.add(host, 'HostOffline', witness('blue'));
    expect(avoid.current().hosts).toEqual(new Set());
  });

  test('counts for all when it was patient, and is written with its namespace until another one agrees', () => {
    const { avoid } = list();
    avoid.add(machine, 'CannotStart', witness('red', { patient: true }));
    expect(avoid.durable()).toMatchObject([{ target: machine, namespace: 'red' }]);
    avoid.add(machine, 'CannotStart', witness('blue', { patient: true }));
    expect(avoid.durable()).toMatchObject([{ target: machine, failures: 2 }]);
    expect(avoid.durable()[0]).not.toHaveProperty('namespace');
  });

  test('is forgotten before it fills the memory', () => {
    const { avoid } = list();
    for (let id = 0; id < 100; id += 1)
      avoid.add({ type: 'machine', id: String(id) }, 'Exited', witness('red'));
    expect(avoid.current('red-object').machines.size).toBe(64);
    avoid.add({ type: 'machine', id: '0' }, 'CannotStart', witness('blue'));
    avoid.add({ type: 'machine', id: '99' }, 'CannotStart', witness('blue'));
    expect(avoid.current().machines).toEqual(new Set(['99']));
  });
});

describe('a report that no status shows yet', () => {
  test('is written once, as the latest failure has it, when the same thing fails again', () => {
    const { avoid } = list();
    avoid.add(host, 'Exited');
    avoid.add(machine, 'Exited');
    avoid.add(host, 'HostOffline');
    avoid.follow([]);
    const again = { ...entry(48 * HOUR, 'HostOffline'), failures: 2 };
    expect(avoid.durable()).toEqual([{ ...entry(HOUR), target: machine }, again]);
  });

  test('is all that outlives a status without it: what was read from there is gone', () => {
    const { avoid } = list([entry(90 * HOUR)]);
    avoid.add(machine, 'Exited');
    avoid.follow([]);
    expect(avoid.durable().map(({ target }) => target)).toEqual([machine]);
  });

  test.each([
    ['is on record when the status has whole seconds of its time', -999, []],
    ['is not on record when the status has the time of an earlier failure', -1_000, [24 * HOUR]],
  ])('%s', (_, offset, left) => {
    const { avoid } = list();
    avoid.add(host, 'Exited');
    avoid.follow([entry(24 * HOUR + offset)]);
    avoid.follow([]);
    expect(avoid.durable().map(({ until }) => until)).toEqual(left);
  });
});

describe('what a namespace reported', () => {
  const witness = (namespace: string, owner = `${namespace}-object`): FailureReporter => {
    return { namespace, owner, image: `example/${namespace}:1`, reason: 'HostOffline', patient: false };
  };
  const machineOf = (id: number) => ({ type: 'machine', id: String(id) }) as const;

  test('stays when another namespace reports something else', () => {
    const { avoid } = list();
    avoid.add(machineOf(1), 'HostOffline', witness('red'));
    avoid.add(machineOf(2), 'HostOffline', witness('blue'));
    expect(avoid.current('red-object').machines).toEqual(new Set(['1']));
    expect(avoid.current('blue-object').machines).toEqual(new Set(['2']));
  });

  test('takes one place however often it reports the same: 64 others stay beside it', () => {
    const { avoid } = list();
    for (let id = 1; id < 64; id += 1) avoid.add(machineOf(id), 'HostOffline', witness('red'));
    for (let times = 0; times < 10; times += 1) avoid.add(machineOf(64), 'HostOffline', witness('red'));
    expect(avoid.current('red-object').machines.size).toBe(64);
  });

  test('is forgotten when 256 other namespaces have reported since, and not before', () => {
    const { avoid } = list();
    avoid.add(machineOf(1), 'HostOffline', witness('red'));
    for (let other = 1; other < 256; other += 1)
      avoid.add(machineOf(1_000 + other), 'HostOffline', witness(`n${other}`));
    expect(avoid.current('red-object').machines.size).toBe(1);
    avoid.add(machineOf(2_000), 'HostOffline', witness('n256'));
    expect(avoid.current('red-object').machines.size).toBe(0);
    expect(avoid.current('n1-object').machines.size).toBe(1);
  });

  test('outlives the reports of namespaces that reported earlier when it reports again', () => {
    const { avoid } = list();
    avoid.add(machineOf(1), 'HostOffline', witness('red'));
    for (let other = 1; other < 256; other += 1)
      avoid.add(machineOf(1_000 + other), 'HostOffline', witness(`n${other}`));
    avoid.add(machineOf(2), 'HostOffline', witness('red'));
    avoid.add(machineOf(2_000), 'HostOffline', witness('n256'));
    expect(avoid.current('red-object').machines).toEqual(new Set(['1', '2']));
    expect(avoid.current('n1-object').machines.size).toBe(0);
  });

  test('is avoided by its own object alone for less than five minutes', async () => {
    const { avoid, clock } = list();
    avoid.add(machineOf(1), 'HostOffline', witness('red', 'first'));
    expect(avoid.current('second').machines.size).toBe(0);
    await clock.advance(5 * 60_000 - 1);
    expect(avoid.current('first').machines).toEqual(new Set(['1']));
    await clock.advance(1);
    expect(avoid.current('first').machines.size).toBe(0);
  });

  test('no longer agrees with another namespace when it is a day old to the millisecond', async () => {
    const { avoid, clock } = list();
    avoid.add(machineOf(1), 'HostOffline', witness('red'));
    avoid.add(machineOf(2), 'HostOffline', witness('red'));
    await clock.advance(24 * HOUR - 1);
    avoid.add(machineOf(1), 'HostOffline', witness('blue'));
    expect(avoid.current().machines).toEqual(new Set(['1']));
    await clock.advance(1);
    avoid.add(machineOf(2), 'HostOffline', witness('green'));
    expect(avoid.current().machines).toEqual(new Set(['1']));
  });
});

describe('B04: what is taken back', () => {
  const reporter: FailureReporter = {
    namespace: 'team',
    owner: 'uid',
    image: 'x/y:1',
    reason: 'LoadingTimedOut',
    patient: true,
  };
  const written = { until: HOUR, failures: 1, reason: 'LoadingTimedOut', namespace: 'team', target: machine };

  test('is avoided no more by any object, and its removal is written', () => {
    const { avoid, changes } = list();
    avoid.add(machine, 'LoadingTimedOut', reporter);
    expect(avoid.durable()).toEqual([written]);
    avoid.takeBack(machine, reporter);
    expect(avoid.durable()).toEqual([]);
    expect(changes()).toBe(2);
  });

  test('is avoided no more by the object that alone avoided it', () => {
    const { avoid } = list();
    const impatient = { ...reporter, patient: false };
    avoid.add(machine, 'LoadingTimedOut', impatient);
    expect(avoid.current('uid').machines).toEqual(new Set(['2']));
    avoid.takeBack(machine, impatient);
    expect(avoid.current('uid').machines).toEqual(new Set());
  });

  test('stays taken back while a status still shows it, and a person may add it again', () => {
    const { avoid } = list([written]);
    avoid.takeBack(machine, reporter);
    avoid.follow([written]);
    expect(avoid.durable()).toEqual([]);
    avoid.follow([]);
    avoid.follow([written]);
    expect(avoid.durable()).toEqual([written]);
  });

  test.each([
    ['failed before', { failures: 2 }],
    ['failed for others as well', { namespace: undefined }],
    ['failed in another way', { reason: 'Exited' }],
  ])('is not what %s', (_, change) => {
    const kept = { ...written, ...change };
    const { avoid } = list([kept]);
    avoid.takeBack(machine, reporter);
    expect(avoid.durable()).toEqual([kept]);
  });
});
