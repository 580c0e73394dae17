import type { Clock } from '../lib/clock.ts';
import { Refusal } from './refusal.ts';
import { type AdvanceStep, advancePart } from './steps/advance.ts';
import { creditStep, lostBillingStep, priceIncreasesStep } from './steps/billing.ts';
import { listingsStep } from './steps/listings.ts';
import { bidPricesStep, outagesStep, outbidStep, transitionsStep } from './steps/machines.ts';
import { programsStep } from './steps/programs.ts';
import { deploymentsStep, quietScalingStep, scalingStep } from './steps/scaling.ts';
import type { WorldStore } from './world/world-store.ts';

/** All steps of time, in this order within one instant. */
export const advanceSteps: readonly AdvanceStep[] = [
  transitionsStep,
  programsStep,
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
 * Advances the world to simulated time, in parts that are saved: no event happens twice, however far behind the world
 * was.
 */

/** Maximum instants of one part; the world is replaced and saved after each part. */
const ROUNDS = 5000;
/** Maximum wait of one caller: milliseconds of the process, and parts if its clock does not advance. */
const PATIENCE_MS = 5000;
const MAX_PARTS = 200;

export interface CatchUpOptions {
  readonly store: WorldStore;
  readonly time: SimulatedTime;
  /** Clock that measures the duration. */
  readonly clock: Clock;
}

/** Returns true if the world is up to date now; otherwise the next call continues where this one ended. */
export function catchUp({ store, time, clock }: CatchUpOptions): boolean {
  const [target, deadline] = [time.now(), clock.monotonic() + PATIENCE_MS];
  for (let part = 0; part < MAX_PARTS && clock.monotonic() <= deadline; part += 1) {
    store.replace(advancePart(store.current(), { now: target, rounds: ROUNDS }, advanceSteps));
    if (store.current().now >= target) return true;
  }
  return false;
}

/** Returns the refusal 503 `catching_up`, with the progress and the advice to repeat the call. */
export function stillBehind({ store, time }: CatchUpOptions): Refusal {
  const [reached, target] = [store.current().now, time.now()].map((at) => new Date(at).toISOString());
  const msg = `The market has reached ${reached} on its way to ${target}: repeat the call, and it continues from there.`;
  return new Refusal(503, 'catching_up', msg);
}

/** Simulated time at the time `real` of the process; both in ms since the epoch. */
export interface TimeAnchor {
  readonly simulated: number;
  readonly real: number;
}

/** The market's own time: it follows a clock, possibly faster, and can be advanced. It never decreases. */
export interface SimulatedTime {
  now(): number;
  /** Advances time. */
  advance(milliseconds: number): void;
  /** Returns the milliseconds by which it was advanced so far. */
  pushed(): number;
  /** Returns the anchor with which a restart continues without a gap. */
  anchor(): TimeAnchor;
}

/**
 * Creates the time. With `scale` 60 a simulated hour lasts a minute; with scale 1 and no anchor both times are equal.
 */
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
