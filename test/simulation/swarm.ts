import { type PlayedSeed, playOnCores } from './cores.ts';
import type { Figures, Finished } from './figures.ts';
import { type Mode, runSchedule } from './schedule.ts';
import type { Settings } from './settings.ts';
import type { MarketName } from './simulated-market.ts';

const MODES: readonly Mode[] = ['sweeperOff', 'all'];

/** Seed, and the market that it rents from. */
export interface Play {
  readonly seed: number;
  readonly market: MarketName;
}

/** Plays one seed without the sweeper and with it, saying before each what is played. */
export async function playSeed(
  { seed, market }: Play,
  onBegin: (what: string) => void,
): Promise<readonly Finished[]> {
  const schedules: Finished[] = [];
  for (const mode of MODES) {
    onBegin(`seed ${seed}, ${mode}`);
    const result = await runSchedule({ seed, mode, market, keepTrace: false });
    const { wastedSeconds, virtualSeconds, traceHash, isMassive } = result;
    const violations = result.violations.length;
    const faultKinds = result.faults.map(({ kind }) => kind);
    schedules.push({ mode, violations, wastedSeconds, isMassive, virtualSeconds, faultKinds, traceHash });
  }
  return schedules;
}

/** A schedule that broke a promise. */
export interface Broken {
  readonly seed: number;
  readonly mode: Mode;
}

export interface SwarmOptions {
  readonly settings: Settings;
  readonly figures: Figures;
  readonly goOn: () => boolean;
  readonly onBegin: (what: string) => void;
  readonly onBroken: (broken: Broken) => void;
}

/** Plays seeds on the configured number of cores, and adds up the results in seed order. */
export async function playSwarm(options: SwarmOptions): Promise<void> {
  const { settings, figures, goOn, onBegin, onBroken } = options;
  const { firstSeed, seeds, cores, market } = settings;
  const add = (seed: number, schedules: readonly Finished[]): void => {
    for (const finished of schedules) {
      figures.add(finished);
      if (finished.violations > 0) onBroken({ seed, mode: finished.mode });
    }
  };
  if (cores > 1) {
    const onPlayed = ({ seed, schedules, cpuMicros }: PlayedSeed): void => {
      figures.spent(cpuMicros);
      add(seed, schedules);
    };
    return playOnCores({ cores, market, firstSeed, seeds, goOn, onPlayed });
  }
  for (let seed = firstSeed; seed < firstSeed + seeds && goOn(); seed += 1)
    add(seed, await figures.measure(() => playSeed({ seed, market }, onBegin)));
}
