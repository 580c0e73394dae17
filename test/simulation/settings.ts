import { randomInt } from 'node:crypto';
import { type Given, LARGEST_SEED, SettingsReader } from '../settings/reader.ts';
import { MARKET_NAMES, type MarketName } from './simulated-market.ts';

export const SEARCH_MODES = ['swarm', 'systematic', 'sequences', 'outages', 'deadman', 'idle'] as const;
export type SearchMode = (typeof SEARCH_MODES)[number];

/** Settings of a simulation run. */
export interface Settings {
  readonly mode: SearchMode;
  /** The market that stories and swarms rent at. */
  readonly market: MarketName;
  readonly firstSeed: number;
  /** True if a single seed is replayed. */
  readonly isReplay: boolean;
  /** Number of seeds. */
  readonly seeds: number;
  /** No schedule begins later. */
  readonly minutes: number;
  /** True if the systematic mode also strikes pairs of effects. */
  readonly pairs: boolean;
  /** Number of seeds played at a time, each in a separate process. */
  readonly cores: number;
}

const USUAL_SEEDS = 100;
const MAX_CORES = 256;

/** Reads MODE, MARKET, SEEDS, SEED, FIRST_SEED, MINUTES, PAIRS and CORES. Without a seed, fresh ones are drawn. */
export function readSettings(environment: Given): Settings {
  const reader = new SettingsReader(environment);
  const mode = reader.oneOf('MODE', SEARCH_MODES) ?? 'swarm';
  const market = reader.oneOf('MARKET', MARKET_NAMES) ?? 'vast';
  const only = reader.seed('SEED');
  const first = reader.seed('FIRST_SEED');
  const seeds = reader.whole('SEEDS', 1, LARGEST_SEED);
  const minutes = reader.positive('MINUTES');
  const pairs = reader.oneOf('PAIRS', ['0', '1']) !== '0';
  const cores = reader.whole('CORES', 1, MAX_CORES);
  if (only !== undefined && (seeds !== undefined || first !== undefined)) {
    reader.problems.push(
      'SEED replays one seed: leave SEEDS and FIRST_SEED out, or write FIRST_SEED instead',
    );
  }
  if (mode === 'systematic' && [only, first, seeds].some((each) => each !== undefined)) {
    reader.problems.push(
      'MODE=systematic strikes every effect in turn and knows no seeds: leave SEED, FIRST_SEED and SEEDS out',
    );
  }
  if (mode !== 'swarm' && cores !== undefined)
    reader.problems.push(`CORES is for seeds of a swarm: leave it out with MODE=${mode}`);
  if (market !== 'vast' && mode !== 'swarm' && mode !== 'outages')
    reader.problems.push(`MARKET is for stories and swarms: leave it out with MODE=${mode}`);
  reader.check();
  const many = minutes === undefined ? USUAL_SEEDS : LARGEST_SEED;
  return {
    mode,
    market,
    isReplay: only !== undefined,
    firstSeed: only ?? first ?? randomInt(LARGEST_SEED),
    seeds: only === undefined ? (seeds ?? many) : 1,
    minutes: minutes ?? Number.POSITIVE_INFINITY,
    pairs,
    cores: cores ?? 1,
  };
}
