import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { simulatedService } from '../../../test/builders/simulated-service.ts';
import { advanceSteps } from '../catch-up.ts';
import { recordArrival, scaleEndpoint } from '../scaling/scale-endpoint.ts';
import { type DeploymentRow, ENDPOINT_STATES } from '../tables/endpoint-groups.ts';
import type { World } from '../world/world.ts';
import { withoutRows, withRows } from '../world/world-store.ts';
import { type AdvanceStep, advance, advancePart } from './advance.ts';
import { quietScalingStep, scalingStep } from './scaling.ts';

/** The rule without optimization: it checks every group at every tick. */
const everyTick: AdvanceStep = {
  name: 'every tick',
  nextAt: (world) =>
    Math.min(...Object.values(world.tables.endpointGroups).map(({ scaledAt }) => scaledAt + 10_000)),
  run: (world) =>
    Object.values(world.tables.endpointGroups)
      .filter(({ scaledAt }) => scaledAt + 10_000 <= world.now)
      .reduce((current, { id }) => scaleEndpoint(current, id), world),
};
const literalSteps = [
  ...advanceSteps.filter((step) => step !== scalingStep && step !== quietScalingStep),
  everyTick,
];

/** Change by a user or the world of the first group or one of its workers. */
type Change = (world: World) => World;
const FIRST_GROUP = 1;

/** Returns a deployment without heartbeats: after that time its endpoint group is stopped. */
const expiring = ({ now }: World, ttlSeconds: number): DeploymentRow => ({
  id: 1,
  userId: 1,
  name: 'chat',
  tag: 'default',
  image: 'x',
  endpointId: FIRST_GROUP,
  workerGroupId: 1,
  versions: [],
  storage: null,
  ttlSeconds,
  env: {},
  searchParams: '',
  lastHeartbeatAt: null,
  createdAt: now,
  updatedAt: now,
});

const changes = fc.oneof(
  fc.double({ min: 0, max: 5000, noNaN: true }).map(
    (amount): Change =>
      (world) => {
        const group = world.tables.endpointGroups[FIRST_GROUP];
        return group ? withRows(world, 'endpointGroups', [recordArrival(group, world.now, amount)]) : world;
      },
  ),
  fc.constantFrom(...ENDPOINT_STATES).map(
    (state): Change =>
      (world) => {
        const group = world.tables.endpointGroups[FIRST_GROUP];
        return group ? withRows(world, 'endpointGroups', [{ ...group, state }]) : world;
      },
  ),
  fc.integer({ min: 1, max: 12 }).map(
    (tens): Change =>
      (world) => {
        const [machine] = Object.values(world.tables.contracts).map(
          (row) => world.tables.machines[row.machineId],
        );
        const stateUntil = world.now + tens * 10_000;
        return machine ? withRows(world, 'machines', [{ ...machine, state: 'offline', stateUntil }]) : world;
      },
  ),
  fc.integer({ min: 1, max: 30 }).map(
    (tens): Change =>
      (world) =>
        withRows(world, 'deployments', [expiring(world, tens * 10)]),
  ),
  fc.nat(3).map(
    (index): Change =>
      (world) => {
        const contract = Object.values(world.tables.contracts)[index];
        return contract ? withoutRows(world, 'contracts', [contract.id]) : world;
      },
  ),
);
const pauses = fc.oneof(
  fc.constant(4_000_000),
  fc.integer({ min: 1, max: 400 }).map((tens) => tens * 10_000),
  fc.integer({ min: 1, max: 4_000_000 }),
);

const options = fc.record({
  min_load: fc.constantFrom(0, 1, 200),
  cold_workers: fc.nat(3),
  max_workers: fc.nat(4),
  inactivity_timeout: fc.constantFrom(null, -1, 0, 75, 1800),
});

async function worldWith(given: object, { scaleDownSeconds = 120, initialCredit = 20 } = {}): Promise<World> {
  const service = simulatedService({
    catalog: 12,
    settings: { boot: { scale: 0.1 }, billing: { initialCredit }, workers: { scaleDownSeconds } },
  });
  await service.call('POST /api/v0/endptjobs/', { endpoint_name: 'chat', ...given });
  await service.call('POST /api/v0/workergroups/', { endpoint_name: 'chat', search_params: 'num_gpus<=8' });
  return structuredClone(service.simulator.world());
}

describe('endpoint groups as time passes', () => {
  test('come to the same whether quiet ticks are passed over or not', async () => {
    await fc.assert(
      fc.asyncProperty(
        options,
        fc.record({ scaleDownSeconds: fc.constantFrom(0, 120), initialCredit: fc.constantFrom(20, 1000) }),
        fc.array(fc.tuple(pauses, changes), { maxLength: 8 }),
        async (given, settings, story) => {
          let skipping = await worldWith(given, settings);
          let literal = skipping;
          for (const [pause, change] of story) {
            const end = skipping.now + pause;
            skipping = advance(skipping, end, advanceSteps);
            literal = advance(literal, end, literalSteps);
            expect(skipping.tables).toEqual(literal.tables);
            skipping = { ...change(skipping), nextEventAt: 0 };
            literal = { ...change(literal), nextEventAt: 0 };
          }
        },
      ),
      { numRuns: 30 },
    );
  }, 60_000);

  test('keep the cold workers of a peak for as long as it counts, then let them go', async () => {
    const world = await worldWith(
      { cold_workers: 0, max_workers: 4 },
      { scaleDownSeconds: 0, initialCredit: 1000 },
    );
    const group = world.tables.endpointGroups[FIRST_GROUP];
    if (!group) throw new Error('The service made no group.');
    const peak = {
      ...withRows(world, 'endpointGroups', [recordArrival(group, world.now, 20_000)]),
      nextEventAt: 0,
    };
    const workersAfter = (seconds: number): number =>
      Object.keys(advance(peak, peak.now + seconds * 1000, advanceSteps).tables.workers).length;
    expect({ meanwhile: workersAfter(3500), afterwards: workersAfter(4000) }).toEqual({
      meanwhile: 4,
      afterwards: 0,
    });
  });

  test('without load cost no round a tick: a year passes within a few hundred instants', async () => {
    const world = await worldWith({ cold_workers: 2 });
    const end = world.now + 365 * 86_400_000;
    const after = advancePart(world, { now: end, rounds: 500 }, advanceSteps);
    expect(after.now).toBe(end);
    expect(after.tables.endpointGroups[1]?.scaledAt).toBeGreaterThan(end - 10_000);
  });
});
