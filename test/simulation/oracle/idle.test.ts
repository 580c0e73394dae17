import { describe, expect, test } from 'vitest';
import { formatTime } from '../../../src/lib/time.ts';
import type { JsonObject } from '../memory-kube/json.ts';
import { Bench } from './bench.ts';
import { atWork, INTENT } from './situations.ts';

const MINUTE = 60;
const POLICY: JsonObject = { after: '15m', warning: '5m', action: 'Destroy', below: 5 };
const STEP_SECONDS = 10;

/** A world without an operator, in which the machine of `a` has run for half an hour. */
class IdleBench {
  readonly bench = new Bench();
  id = 0;

  static async create(policy: JsonObject = POLICY, ranMinutes = 30): Promise<IdleBench> {
    const made = new IdleBench();
    made.id = (await atWork(made.bench)).id;
    made.bench.users.setPolicies('a', { idle: policy });
    await made.pass(ranMinutes);
    return made;
  }

  /** Lets minutes pass, in which a process reads lists. */
  async pass(minutes: number): Promise<void> {
    for (let left = minutes * MINUTE; left > 0; left -= STEP_SECONDS) await this.bench.poll(STEP_SECONDS);
  }

  /** Ends the use of the machine, or begins it. */
  setUsed(isUsed: boolean): void {
    const { store } = this.bench.world.market;
    const contract = store.current().tables.contracts[this.id];
    if (!contract) throw new Error('the machine is gone');
    const { idleUntil: _before, ...used } = contract;
    store.put('contracts', isUsed ? used : { ...used, idleUntil: null });
    this.bench.invariants.check();
  }

  warn(): void {
    const { now } = this.bench.world;
    this.bench.setStatus({ idle: { since: formatTime(now - 600_000), endsAt: formatTime(now + 300_000) } });
  }

  /** Leaves the machine idle for sixteen minutes, the last six after the warning. */
  async becomeDue(): Promise<void> {
    this.setUsed(false);
    await this.pass(10);
    this.warn();
    await this.pass(6);
  }

  /** Records the end, as an operator does before it sends a call. */
  decide(reason = 'Idle'): void {
    const idleEndedAt = formatTime(this.bench.world.now);
    const ready = { type: 'Ready', status: 'False', reason, message: 'm', lastTransitionTime: idleEndedAt };
    this.bench.setStatus({ idleEndedAt, conditions: [ready] });
  }

  destroy(): void {
    this.decide();
    this.bench.sendDestroy(this.id);
  }

  stop(): void {
    this.decide('Stopping');
    this.bench.send('PUT', `/api/v0/instances/${this.id}/`, { body: '{"state":"stopped"}' });
  }

  broken(): readonly string[] {
    return this.bench.invariants.violations.flatMap(({ invariant, text }) =>
      invariant === 'I16' ? [text] : [],
    );
  }

  /** Reports what is missing in the end. */
  late(): readonly string[] {
    this.bench.invariants.checkConverged();
    return this.broken();
  }
}

describe('an end for idleness', () => {
  test.for(['destroy', 'stop'] as const)('by %s is right after idleness and a warning', async (call) => {
    const world = await IdleBench.create({ ...POLICY, action: call === 'stop' ? 'Stop' : 'Destroy' });
    await world.becomeDue();
    world[call]();
    expect(world.broken()).toEqual([]);
  });

  test.for(['destroy', 'stop'] as const)('by %s is wrong of a machine that was used', async (call) => {
    const world = await IdleBench.create({ ...POLICY, action: call === 'stop' ? 'Stop' : 'Destroy' });
    await world.becomeDue();
    world.setUsed(true);
    await world.pass(1);
    world.setUsed(false);
    await world.pass(1);
    world[call]();
    expect(world.broken()).toEqual([expect.stringMatching(/a list showed its use \d+/)]);
  });

  test('is right of a machine whose use began a moment ago, and wrong a minute later', async () => {
    const world = await IdleBench.create();
    await world.becomeDue();
    world.setUsed(true);
    await world.bench.pass(20);
    world.destroy();
    expect(world.broken()).toEqual([]);
    await world.bench.pass(20);
    world.destroy();
    expect(world.broken()).toEqual([expect.stringMatching(/has been in use for 4\d/)]);
  });

  test('is wrong without a warning, and with one that came late', async () => {
    const unwarned = await IdleBench.create();
    unwarned.setUsed(false);
    await unwarned.pass(16);
    unwarned.destroy();
    expect(unwarned.broken()).toEqual([expect.stringMatching(/warned of 0 s before/)]);
    const late = await IdleBench.create();
    late.setUsed(false);
    await late.pass(14);
    late.warn();
    await late.pass(2);
    late.destroy();
    expect(late.broken()).toEqual([expect.stringMatching(/warned of 120 s before/)]);
  });

  test('is wrong in the first time of a machine', async () => {
    const world = await IdleBench.create(POLICY, 5);
    await world.becomeDue();
    world.destroy();
    expect(world.broken()).toEqual([expect.stringMatching(/has run for \d+ s only/)]);
  });

  test('is wrong of an object that asks for none', async () => {
    const world = await IdleBench.create({ ...POLICY, action: 'Report' });
    await world.becomeDue();
    world.destroy();
    expect(world.broken()).toEqual([expect.stringMatching(/asks for no end/)]);
  });

  test.for<readonly [string, (world: IdleBench) => void]>([
    ['held', ({ bench }) => bench.users.hold('a')],
    ['paused', ({ bench }) => bench.users.setPolicies('a', { paused: true })],
    ['extended', ({ bench }) => bench.users.extendIdle('a', formatTime(bench.world.now + 600_000))],
    ['extended', ({ bench }) => bench.users.extendIdle('a', 'soon')],
  ])('is wrong of a machine that is %s', async ([kept, keep]) => {
    const world = await IdleBench.create();
    await world.becomeDue();
    keep(world);
    world.decide();
    expect(world.broken()).toEqual([expect.stringContaining(`is ${kept}`)]);
  });
});

test('another rental after an end for idleness is wrong unless a person asks for it', async () => {
  const world = await IdleBench.create();
  const { bench } = world;
  const endedAt = formatTime(bench.world.now);
  const history = [
    { attempt: 1, instanceId: String(world.id), reason: 'Idle', endedAt, rentedMinutes: 1, cost: '1' },
  ];
  bench.setStatus({ history });
  bench.edit({ annotations: { [INTENT]: JSON.stringify({ attempt: 2 }) } });
  expect(world.broken()).toEqual([expect.stringMatching(/rents another machine/)]);
  const [extend, later] = ['gpurental.dev/idle-extend-until', formatTime(bench.world.now + 600_000)];
  bench.edit({ annotations: { [INTENT]: JSON.stringify({ attempt: 3 }), [extend]: later } });
  expect(world.broken()).toHaveLength(1);
});

describe('a machine that is idle in the end', () => {
  test('must have ended after its time and its warning', async () => {
    const world = await IdleBench.create();
    world.setUsed(false);
    await world.pass(18);
    expect(world.late()).toEqual([]);
    await world.pass(8);
    expect(world.late()).toEqual([expect.stringMatching(/has been idle for 1560 s and still runs/)]);
  });

  test('has its warm-up again after lists were wrong', async () => {
    const world = await IdleBench.create();
    world.setUsed(false);
    await world.pass(18);
    world.bench.invariants.hindered();
    await world.pass(20);
    expect(world.late()).toEqual([]);
  });

  test('may run while a person keeps it', async () => {
    const world = await IdleBench.create();
    world.setUsed(false);
    world.bench.users.hold('a');
    await world.pass(60);
    expect(world.late()).toEqual([]);
  });
});
