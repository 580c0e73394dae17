import { describe, expect, test } from 'vitest';
import { readSettings } from './settings.ts';

describe('settings of a simulation', () => {
  test.for([
    ['nothing: a hundred fresh seeds', {}, { mode: 'swarm', seeds: 100, pairs: true, cores: 1 }],
    ['how many seeds', { SEEDS: '7' }, { seeds: 7 }],
    ['one seed to replay', { SEED: '42' }, { firstSeed: 42, seeds: 1 }],
    ['minutes: seeds until they have passed', { MINUTES: '0.5' }, { minutes: 0.5, seeds: 2 ** 31 - 1 }],
    ['both: whichever ends first', { MINUTES: '3', SEEDS: '5' }, { minutes: 3, seeds: 5 }],
    ['a mode without pairs', { MODE: 'systematic', PAIRS: '0' }, { mode: 'systematic', pairs: false }],
    ['a market', { MARKET: 'toy' }, { mode: 'swarm', market: 'toy' }],
    ['how many cores; one where nothing is said', { CORES: '8' }, { cores: 8 }],
    ['empty values, as make hands them on', { SEEDS: '', MODE: '' }, { mode: 'swarm', seeds: 100 }],
  ] as const)('are read from %s', ([, environment, expected]) => {
    expect(readSettings(environment)).toMatchObject(expected);
  });

  test.for([
    [
      { MODE: 'chaos' },
      'MODE=chaos means nothing here: write one of swarm, systematic, sequences, outages, deadman, idle',
    ],
    [{ SEEDS: '0' }, 'SEEDS=0 means nothing here: write a whole number from 1 to 2147483647'],
    [{ SEEDS: 'ten' }, 'SEEDS=ten means nothing here'],
    [{ SEED: '-1' }, 'SEED=-1 means nothing here: write a whole number from 0 to 2147483647'],
    [{ SEED: '1.5' }, 'SEED=1.5 means nothing here'],
    [{ MINUTES: '-3' }, 'MINUTES=-3 means nothing here: write a number above 0, such as 3 or 0.5'],
    [{ CORES: '0' }, 'CORES=0 means nothing here: write a whole number from 1 to 256'],
    [{ MODE: 'sequences', CORES: '2' }, 'CORES is for seeds of a swarm: leave it out with MODE=sequences'],
    [{ MARKET: 'Vast' }, 'MARKET=Vast means nothing here: write one of vast, toy'],
    [
      { MODE: 'systematic', MARKET: 'toy' },
      'MARKET is for stories and swarms: leave it out with MODE=systematic',
    ],
    [{ PAIRS: 'no' }, 'PAIRS=no means nothing here: write one of 0, 1'],
    [{ SEED: '1', SEEDS: '2' }, 'SEED replays one seed: leave SEEDS and FIRST_SEED out'],
    [{ MODE: 'systematic', SEED: '1' }, 'MODE=systematic strikes every effect in turn and knows no seeds'],
  ] as const)('that are wrong are refused with the remedy: %o', ([environment, message]) => {
    expect(() => readSettings(environment)).toThrow(message);
  });

  test('that are all wrong are reported at once', () => {
    expect(() => readSettings({ MODE: 'x', SEEDS: 'y' })).toThrow(/MODE=x.*\nSEEDS=y/);
  });
});
