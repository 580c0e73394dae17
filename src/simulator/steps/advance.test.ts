import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../lib/random.ts';
import { advanceSteps } from '../catch-up.ts';
import { newWorld } from '../new-world.ts';
import { createSimulator } from '../simulator.ts';
import type { World } from '../world/world.ts';
import { advance } from './advance.ts';

const START = Date.UTC(2026, 0, 1);

/** Freezes a world: the code below only reads it. */
function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const child of Object.values(value)) deepFreeze(child);
  }
  return value;
}

/** Returns a busy world: boots, an outage, interruptible machines, little credit. */
async function busyWorld(seed: number): Promise<World> {
  let now = START;
  const clock = { now: () => now, monotonic: () => now, setTimer: () => ({ cancel: () => undefined }) };
  const simulator = createSimulator({
    clock,
    random: seededRandom(seed),
    seed,
    catalog: 12,
    control: true,
    settings: {
      pauses: { scale: 0 },
      market: { bidChangeSeconds: 60, bidVolatility: 0.5 },
      billing: { initialCredit: 3 },
    },
  });
  const call = (method: string, path: string, body: unknown) =>
    simulator.handle({
      method,
      path,
      origin: 'http://test',
      headers: { authorization: `Bearer ${simulator.apiKey}` },
      body: JSON.stringify(body),
    });
  for (const offer of Object.values(simulator.world().tables.offers).slice(0, 6)) {
    const price = offer.id % 2 === 0 ? offer.minBidPerHour / 1e6 + 0.001 : null;
    await call('PUT', `/api/v0/asks/${offer.id}/`, { image: 'x', price });
    now += 700;
  }
  const host = Object.values(simulator.world().tables.machines)[0]?.hostId;
  await call('POST', '/sim/faults', { name: 'offline', host, seconds: 90 });
  return structuredClone(simulator.world());
}

describe('advance', () => {
  test('one long step and many short ones end in the same world', async () => {
    for (const seed of [1, 2, 3]) {
      const world = deepFreeze(await busyWorld(seed));
      fc.assert(
        fc.property(fc.array(fc.integer({ min: 1, max: 900_000 }), { maxLength: 12 }), (steps) => {
          const end = world.now + steps.reduce((sum, step) => sum + step, 0);
          const atOnce = advance(world, end, advanceSteps);
          let inSteps = world;
          for (const step of steps) inSteps = advance(inSteps, inSteps.now + step, advanceSteps);
          expect(inSteps.tables.contracts).toEqual(atOnce.tables.contracts);
          expect(inSteps.tables.machines).toEqual(atOnce.tables.machines);
          expect(inSteps.tables.offers).toEqual(atOnce.tables.offers);
          expect(inSteps.now).toBe(atOnce.now);
        }),
        { numRuns: 25 },
      );
    }
  });

  test('never moves the clock back', () => {
    const world = newWorld({ now: START, seed: 1, random: seededRandom(1), catalog: 3 });
    const later = advance(world, START + 5000, advanceSteps);
    expect(advance(later, START, advanceSteps).now).toBe(START + 5000);
  });

  test('a world in which nothing is due costs no copy of a table', () => {
    const world = advance(
      newWorld({ now: START, seed: 1, random: seededRandom(1), catalog: 3 }),
      START,
      advanceSteps,
    );
    expect(advance(world, START + 60_000, advanceSteps).tables).toBe(world.tables);
  });

  test('says which steps never come to rest', () => {
    const world = newWorld({ now: START, seed: 1, random: seededRandom(1), catalog: 1 });
    const restless = { name: 'restless', nextAt: (at: World) => at.now, run: (at: World) => at };
    expect(() => advance(world, START, [restless])).toThrow(/restless/);
  });

  test('names at once the step that does not know when it is due', () => {
    const world = newWorld({ now: START, seed: 1, random: seededRandom(1), catalog: 1 });
    const lost = { name: 'lost', nextAt: () => Number.NaN, run: (at: World) => at };
    expect(() => advance(world, START, [lost])).toThrow(/"lost" has no due time/);
  });
});
