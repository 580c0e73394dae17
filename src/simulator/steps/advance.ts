import type { World } from '../world/world.ts';

/**
 * One thing that happens by itself as time passes. `nextAt` says when it next has something to do
 * (Infinity: never), `run` does what is due at `world.now` and returns the world after it, sharing all
 * rows that did not change; afterwards `nextAt` must lie in the future. Both are PURE: no clock, and
 * chance only by `chance(world.seed, …)`.
 */
export interface AdvanceStep {
  readonly name: string;
  nextAt(world: World): number;
  run(world: World): World;
  /**
   * Present where nothing else depends on the moment at which the step runs: does all that is due until
   * then in one go, so that a thousand boots cost one new table and not a thousand.
   */
  runUntil?(world: World, until: number): World;
}

/** Steps that keep having something to do at one instant would hang the server: stop and say who. */
const MAX_ROUNDS = 1_000_000;

/**
 * The world brought to `now`, event after event in the order of their times, so that one long step and
 * many short ones end in the same world. Time never goes back: an earlier `now` changes nothing. PURE.
 */
export function advance(world: World, now: number, steps: readonly AdvanceStep[]): World {
  if (now < world.nextEventAt) return now > world.now ? { ...world, now } : world;
  const single = steps.filter((step) => step.runUntil === undefined);
  let current = world;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const next = nextEvent(current, single);
    current = runBatches(current, steps, Math.max(current.now, Math.min(next, now)));
    if (next > now)
      return { ...current, now: Math.max(now, current.now), nextEventAt: nextEvent(current, steps) };
    current = runDue({ ...current, now: Math.max(next, current.now) }, single);
  }
  throw new Error(`These steps never come to rest: ${steps.map((step) => step.name).join(', ')}`);
}

function nextEvent(world: World, steps: readonly AdvanceStep[]): number {
  let next = Number.POSITIVE_INFINITY;
  for (const step of steps) next = Math.min(next, step.nextAt(world));
  return next;
}

function runBatches(world: World, steps: readonly AdvanceStep[], until: number): World {
  let current = world;
  for (const step of steps) current = step.runUntil?.(current, until) ?? current;
  return current;
}

function runDue(world: World, steps: readonly AdvanceStep[]): World {
  let current = world;
  for (const step of steps) {
    if (step.nextAt(current) <= current.now) current = step.run(current);
  }
  return current;
}
