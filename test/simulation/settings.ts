import { randomInt } from 'node:crypto';

export const SEARCH_MODES = ['swarm', 'systematic', 'sequences'] as const;
export type SearchMode = (typeof SEARCH_MODES)[number];

/** What one run of the simulation does. */
export interface Settings {
  readonly mode: SearchMode;
  readonly firstSeed: number;
  /** One seed alone is run again. */
  readonly isReplay: boolean;
  /** How many seeds. */
  readonly seeds: number;
  /** No schedule begins later. */
  readonly minutes: number;
  /** Whether the systematic mode strikes pairs of effects, too. */
  readonly pairs: boolean;
  /** How many seeds are played at a time, each in a process of its own. */
  readonly cores: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** What was asked for cannot be done; each line names a variable and what to write. */
export class SettingsError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'SettingsError';
  }
}

const LARGEST_SEED = 2 ** 31 - 1;
const USUAL_SEEDS = 100;
const MOST_CORES = 256;

/** Reads MODE, SEEDS, SEED, FIRST_SEED, MINUTES, PAIRS and CORES. Without a seed, fresh ones are drawn. */
export function readSettings(environment: Environment): Settings {
  const reader = new Reader(environment);
  const mode = reader.oneOf('MODE', SEARCH_MODES) ?? 'swarm';
  const only = reader.whole('SEED', 0, LARGEST_SEED);
  const first = reader.whole('FIRST_SEED', 0, LARGEST_SEED);
  const seeds = reader.whole('SEEDS', 1, LARGEST_SEED);
  const minutes = reader.positive('MINUTES');
  const pairs = reader.oneOf('PAIRS', ['0', '1']) !== '0';
  const cores = reader.whole('CORES', 1, MOST_CORES);
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
  if (reader.problems.length > 0) throw new SettingsError(reader.problems);
  const many = minutes === undefined ? USUAL_SEEDS : LARGEST_SEED;
  return {
    mode,
    isReplay: only !== undefined,
    firstSeed: only ?? first ?? randomInt(LARGEST_SEED),
    seeds: only === undefined ? (seeds ?? many) : 1,
    minutes: minutes ?? Number.POSITIVE_INFINITY,
    pairs,
    cores: cores ?? 1,
  };
}

class Reader {
  readonly problems: string[] = [];
  readonly #environment: Environment;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  oneOf<T extends string>(name: string, options: readonly T[]): T | undefined {
    const text = this.#text(name);
    const found = options.find((option) => option === text);
    if (text !== undefined && found === undefined)
      this.#wrong(name, text, `write one of ${options.join(', ')}`);
    return found;
  }

  whole(name: string, least: number, most: number): number | undefined {
    const text = this.#text(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    return this.#wrong(name, text, `write a whole number from ${least} to ${most}`);
  }

  positive(name: string): number | undefined {
    const text = this.#text(name);
    if (text === undefined) return undefined;
    const value = Number(text);
    if (Number.isFinite(value) && value > 0) return value;
    return this.#wrong(name, text, 'write a number above 0, such as 3 or 0.5');
  }

  /** Empty is as good as absent: make hands variables on that nobody set. */
  #text(name: string): string | undefined {
    const text = this.#environment[name]?.trim();
    return text === '' ? undefined : text;
  }

  #wrong(name: string, text: string, remedy: string): undefined {
    this.problems.push(`${name}=${text} means nothing here: ${remedy}`);
  }
}
