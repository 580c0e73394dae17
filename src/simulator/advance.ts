import type { World } from './world.ts';

/**
 * One thing that happens by itself as time passes. `nextAt` says when it next has something to do
 * (Infinity: never), `run` does what is due at `world.now` and returns the world after it, sharing all
 * rows that did not change. Both are PURE: no clock, no chance but `chance(world.seed, …)`.
 */
export interface AdvanceStep {
  readonly name: string;
  nextAt(world: World): number;
  run(world: World): World;
}
