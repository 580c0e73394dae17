import type { World } from '../world/world.ts';

/**
 * A step of simulated time. `nextAt` returns the time of its next event (Infinity: never). `run` handles all events
 * that are due at `world.now` and returns the world after them, sharing all unchanged rows; afterwards `nextAt` must
 * be in the future. Both are PURE: no clock, and random values only by `chance(world.seed, …)`.
 */
export interface AdvanceStep {
  readonly name: string;
  nextAt(world: World): number;
  run(world: World): World;
  /**
   * Present if no other step depends on the time at which this one runs: it handles all events until then in one run,
   * so that a thousand boots cost one new table instead of a thousand. `isFree`: no other step acts at `until`
   * itself.
   */
  runUntil?(world: World, until: number, isFree: boolean): World;
}

/** Maximum rounds at one instant: steps that are always due would hang the server, so it throws with their names. */
const MAX_ROUNDS_AT_ONCE = 1000;

/**
 * Returns the world advanced to `now`, event after event in the order of their times, so that one long step and many
 * short ones end in the same world. Time never goes back: an earlier `now` changes nothing. Throws if steps never
 * finish. PURE.
 */
export const advance = (world: World, now: number, steps: readonly AdvanceStep[]): World =>
  advancePart(world, { now, rounds: Number.POSITIVE_INFINITY }, steps);

/**
 * Advances through at most that many instants with events. If there are more, the `now` of the result is earlier than
 * requested, and continuing from it gives the same world. Throws like {@link advance}. PURE.
 */
export function advancePart(
  world: World,
  { now, rounds }: { readonly now: number; readonly rounds: number },
  steps: readonly AdvanceStep[],
): World {
  if (now < world.nextEventAt) return now > world.now ? { ...world, now } : world;
  const single = steps.filter((step) => step.runUntil === undefined);
  let current = world;
  let roundsAtOnce = 0;
  for (let round = 0; round < rounds; round += 1) {
    const next = nextEvent(current, single);
    const isFree = next > now;
    current = runBatches(current, steps, { until: Math.max(current.now, Math.min(next, now)), isFree });
    if (isFree)
      return { ...current, now: Math.max(now, current.now), nextEventAt: nextEvent(current, steps) };
    roundsAtOnce = next > current.now ? 0 : roundsAtOnce + 1;
    if (roundsAtOnce > MAX_ROUNDS_AT_ONCE)
      throw new Error(`These steps never finish: ${steps.map((step) => step.name).join(', ')}`);
    current = runDue({ ...current, now: Math.max(next, current.now) }, single);
  }
  return { ...current, nextEventAt: 0 };
}

function nextEvent(world: World, steps: readonly AdvanceStep[]): number {
  let next = Number.POSITIVE_INFINITY;
  for (const step of steps) next = Math.min(next, dueTime(world, step));
  return next;
}

/** Returns the time of a step's next event. Throws for NaN, with which no comparison would be true. */
function dueTime(world: World, step: AdvanceStep): number {
  const at = step.nextAt(world);
  if (!Number.isNaN(at)) return at;
  throw new Error(`The step "${step.name}" has no due time: a figure of the world is no number.`);
}

function runBatches(
  world: World,
  steps: readonly AdvanceStep[],
  { until, isFree }: { until: number; isFree: boolean },
): World {
  let current = world;
  for (const step of steps) current = step.runUntil?.(current, until, isFree) ?? current;
  return current;
}

function runDue(world: World, steps: readonly AdvanceStep[]): World {
  let current = world;
  for (const step of steps) {
    if (step.nextAt(current) <= current.now) current = step.run(current);
  }
  return current;
}
