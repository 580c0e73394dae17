import { seededRandom } from '../../src/lib/random.ts';
import type { Arrival } from './load.ts';

export interface TraceOptions {
  readonly seed: number;
  readonly requests: number;
  readonly seconds: number;
  /** The least and the most milliseconds that a worker takes for one. */
  readonly tokens: readonly [number, number];
}

/** In a burst this share of requests comes together. */
const BURST_SHARE = 0.5;
const BURST_MS = 300;
const SECONDS_PER_BURST = 5;
const STREAM_SHARE = 0.5;

/** Requests that come evenly, and as many in bursts; every second one is a stream. The same seed is the same trace. */
export function burstyTrace({
  seed,
  requests,
  seconds,
  tokens: [least, most],
}: TraceOptions): readonly Arrival[] {
  const random = seededRandom(seed);
  const bursts = Array.from(
    { length: Math.max(1, Math.round(seconds / SECONDS_PER_BURST)) },
    () => random.next() * (seconds * 1000 - BURST_MS),
  );
  const arrivals = Array.from({ length: requests }, (): Arrival => {
    const burst = bursts[Math.floor(random.next() * bursts.length)] ?? 0;
    const inBurst = random.next() < BURST_SHARE;
    const atMs = inBurst ? burst + random.next() * BURST_MS : random.next() * seconds * 1000;
    const tokens = Math.round(least + random.next() * (most - least));
    return { atMs, tokens, stream: random.next() < STREAM_SHARE };
  });
  return arrivals.toSorted((one, other) => one.atMs - other.atMs);
}
