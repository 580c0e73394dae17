/** Every span that scaling goes by, in milliseconds, and how many times as fast those of a spec run. */
export interface ScalingTimes {
  /** 1 outside demonstrations and tests. */
  readonly speed: number;
  /** Between two decisions about the number of workers. */
  readonly tickMs: number;
  /** Over which load is averaged. */
  readonly shortMs: number;
  /** Over which a burst is seen. */
  readonly burstMs: number;
  /** Whose largest load keeps the pool of cold workers. */
  readonly longMs: number;
  /** One entry of the remembered maxima. */
  readonly maximumMs: number;
  /** How long a capacity that was needed is kept. */
  readonly downMs: number;
  /** How long no hot worker goes after a burst. */
  readonly panicMs: number;
  /** How long a worker's last rate stands for one that has gone silent; then it counts as missing. */
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

/** The same spans run through `speed` times as fast: for demonstrations and tests, where minutes are long. */
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
