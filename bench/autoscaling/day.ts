import { type Random, seededRandom } from '../../src/lib/random.ts';
import type { WorkerModel } from '../../src/replay/fleet.ts';
import type { WhatIf } from '../../src/replay/replay.ts';
import type { Trace } from '../../src/replay/trace.ts';

const HOURS = 24;
export const POINT_SECONDS = 10;
const POINTS = (HOURS * 3600) / POINT_SECONDS;

/** Work per second at these hours of the day, straight lines between: a service that people use by day. */
const PROFILE: readonly (readonly [hour: number, load: number])[] = [
  [0, 150],
  [2, 60],
  [2.5, 0],
  [4.5, 0],
  [5, 40],
  [7, 250],
  [9, 800],
  [12, 650],
  [14, 850],
  [17, 700],
  [19.5, 900],
  [22, 400],
  [24, 150],
];

/** Bursts of a day: each multiplies the load for some minutes. */
const BURSTS = 14;

interface Burst {
  readonly from: number;
  readonly seconds: number;
  readonly factor: number;
}

/**
 * Returns the load of one day: the profile, jitter of ±15 % for about a minute, and bursts to two and a half times
 * the load within ten seconds. Uses only sums and products, so that a seed gives the same day on every machine.
 */
export function dayOf(seed: number): Trace {
  const random = seededRandom(seed);
  const bursts = Array.from({ length: BURSTS }, () => burstOf(random));
  let jitter = 0;
  const points = Array.from({ length: POINTS }, (_, index) => {
    const seconds = index * POINT_SECONDS;
    jitter = 0.85 * jitter + 0.15 * (random.next() * 2 - 1);
    const factor = bursts.reduce((most, burst) => Math.max(most, factorAt(burst, seconds)), 1);
    const load = profileAt(seconds / 3600) * factor * (1 + JITTER * jitter);
    return { seconds, load: Math.round(load) };
  });
  const [first = { seconds: 0, load: 0 }, ...rest] = points;
  return { points: [first, ...rest], start: { hot: undefined, cold: undefined, queue: undefined } };
}

/** The filtered noise stays within about half of ±1. */
const JITTER = 0.3;

function burstOf(random: Random): Burst {
  return {
    from: Math.floor(random.next() * HOURS * 3600),
    seconds: 120 + Math.floor(random.next() * 480),
    factor: 1.3 + random.next() * 1.2,
  };
}

function factorAt({ from, seconds, factor }: Burst, at: number): number {
  return at >= from && at < from + seconds ? factor : 1;
}

function profileAt(hour: number): number {
  const after = PROFILE.findIndex(([at]) => at > hour);
  const [to, high] = PROFILE[after] ?? [HOURS, 0];
  const [from, low] = PROFILE[after - 1] ?? [0, 0];
  return low + ((high - low) * (hour - from)) / (to - from);
}

/** Workers as a market offers them, alike and none quite like another: those of the beginning, and those to rent. */
export function marketOf(
  seed: number,
  { hot, cold }: { readonly hot: number; readonly cold: number },
): Pick<WhatIf, 'first' | 'models'> {
  const random = seededRandom(seed + 1_000_000);
  const draw = (): WorkerModel => ({
    perf: 90 + Math.floor(random.next() * 21),
    pricePerHour: 320_000 + Math.floor(random.next() * 9) * 10_000,
    coldPricePerHour: 20_000,
    bootSeconds: 120 + Math.floor(random.next() * 241),
    wakeSeconds: 15 + Math.floor(random.next() * 31),
  });
  const first = Array.from({ length: hot + cold }, (_, index) => ({
    model: draw(),
    desired: index < hot ? ('Hot' as const) : ('Cold' as const),
  }));
  return { first, models: [draw(), ...Array.from({ length: 199 }, draw)] };
}
