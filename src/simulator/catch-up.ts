import type { Clock } from '../lib/clock.ts';
import { Refusal } from './refusal.ts';
import { type AdvanceStep, advancePart } from './steps/advance.ts';
import { creditStep, lostBillingStep, priceIncreasesStep } from './steps/billing.ts';
import { listingsStep } from './steps/listings.ts';
import { bidPricesStep, outagesStep, outbidStep, transitionsStep } from './steps/machines.ts';
import { deploymentsStep, quietScalingStep, scalingStep } from './steps/scaling.ts';
import type { WorldStore } from './world/world-store.ts';

/** All that happens by itself, in this order within one instant. */
export const advanceSteps: readonly AdvanceStep[] = [
  transitionsStep,
  outagesStep,
  listingsStep,
  priceIncreasesStep,
  bidPricesStep,
  outbidStep,
  lostBillingStep,
  creditStep,
  deploymentsStep,
  scalingStep,
  quietScalingStep,
];

/*
 * Brings the world up to simulated time, in parts that are kept: what happened is never done again, however far
 * behind the world was.
 */

/** Instants of one part; a world is put in place and written down after each. */
const ROUNDS = 5000;
/** What one caller waits for at max: milliseconds of the process, and parts if its clock stands still. */
const PATIENCE_MS = 5000;
const MAX_PARTS = 200;

export interface CatchUpOptions {
  readonly store: WorldStore;
  readonly time: SimulatedTime;
  /** Tells how long this has taken. */
  readonly clock: Clock;
}

/** Whether the world is up to date now; where not, the next call goes on from where this one ended. */
export function catchUp({ store, time, clock }: CatchUpOptions): boolean {
  const [target, deadline] = [time.now(), clock.monotonic() + PATIENCE_MS];
  for (let part = 0; part < MAX_PARTS && clock.monotonic() <= deadline; part += 1) {
    store.replace(advancePart(store.current(), { now: target, rounds: ROUNDS }, advanceSteps));
    if (store.current().now >= target) return true;
  }
  return false;
}

/** 503 `catching_up`: how far the market is, and that to ask again helps. */
export function stillBehind({ store, time }: CatchUpOptions): Refusal {
  const [reached, target] = [store.current().now, time.now()].map((at) => new Date(at).toISOString());
  const msg = `The market has reached ${reached} on its way to ${target}: ask again, and it goes on from there.`;
  return new Refusal(503, 'catching_up', msg);
}

/** Where simulated time stood when the clock of the process stood at `real`; both in ms since the epoch. */
export interface TimeAnchor {
  readonly simulated: number;
  readonly real: number;
}

/** The market's own time: follows a clock, perhaps faster, and can be pushed ahead. Never goes back. */
export interface SimulatedTime {
  now(): number;
  /** Pushes time ahead. */
  advance(milliseconds: number): void;
  /** Milliseconds that it was pushed ahead so far. */
  pushed(): number;
  /** What a restart needs to go on as if it had never stopped. */
  anchor(): TimeAnchor;
}

/** `scale` 60 lets a simulated hour pass in a minute; with scale 1 and no anchor both times are equal. */
export function createSimulatedTime(options: {
  clock: Clock;
  scale: number;
  anchor?: TimeAnchor;
}): SimulatedTime {
  const { clock, scale } = options;
  const start = options.anchor ?? { simulated: clock.now(), real: clock.now() };
  let skew = 0;
  let latest = start.simulated;
  const now = (): number => {
    const computed = start.simulated + (clock.now() - start.real) * scale + skew;
    latest = Math.max(latest, computed);
    return latest;
  };
  return {
    now,
    advance(milliseconds) {
      skew += Math.max(0, milliseconds);
    },
    pushed: () => skew,
    anchor: () => ({ simulated: now(), real: clock.now() }),
  };
}
