import { cpus, loadavg, totalmem } from 'node:os';

const GIB = 2 ** 30;

/** Machine of the measurement, and its other load. */
export interface Machine {
  readonly cores: number;
  readonly processor: string;
  readonly memoryGiB: number;
  readonly node: string;
  /** Processes that want a core, over 1, 5 and 15 minutes: more than this bench's own say that the clock is not to be trusted. */
  readonly loadAverage: readonly number[];
}

export function machine(): Machine {
  const all = cpus();
  return {
    cores: all.length,
    processor: all[0]?.model ?? '',
    memoryGiB: Math.round(totalmem() / GIB),
    node: process.version,
    loadAverage: loadavg().map((load) => Math.round(load * 100) / 100),
  };
}
