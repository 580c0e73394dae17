/** Spans of scaling in milliseconds, and the factor by which spans of a spec run faster. */
export interface ScalingTimes {
  /** 1 outside demonstrations and tests. */
  readonly speed: number;
  /** Interval of decisions on the number of workers. */
  readonly tickMs: number;
  /** Window of the average load. */
  readonly shortMs: number;
  /** Window of a burst. */
  readonly burstMs: number;
  /** Window whose maximum load sizes the cold pool. */
  readonly longMs: number;
  /** Span of one recorded maximum. */
  readonly maximumMs: number;
  /** Down window: time for which a needed capacity is kept. */
  readonly downMs: number;
  /** Time after a burst in which no hot worker is removed. */
  readonly panicMs: number;
  /** Time for which the last rate of a silent worker continues; then the worker counts as missing. */
  readonly missingMs: number;
}

const SECOND = 1000;

export const defaultTimes: ScalingTimes = {
  speed: 1,
  tickMs: 10 * SECOND,
  shortMs: 60 * SECOND,
  burstMs: 10 * SECOND,
  longMs: 3600 * SECOND,
  maximumMs: 60 * SECOND,
  downMs: 300 * SECOND,
  panicMs: 60 * SECOND,
  missingMs: 90 * SECOND,
};

/** Returns the spans `speed` times as fast, for demonstrations and tests. */
export function timesAt(speed: number): ScalingTimes {
  const at = (ms: number) => Math.max(1, Math.round(ms / speed));
  return {
    speed,
    tickMs: at(defaultTimes.tickMs),
    shortMs: at(defaultTimes.shortMs),
    burstMs: at(defaultTimes.burstMs),
    longMs: at(defaultTimes.longMs),
    maximumMs: at(defaultTimes.maximumMs),
    downMs: at(defaultTimes.downMs),
    panicMs: at(defaultTimes.panicMs),
    missingMs: at(defaultTimes.missingMs),
  };
}
