/** `make test`: unit tests and everything on a real Kubernetes API. Its last line is one sum over all suites. */
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { close, runSuites, type Suite, type Together, UNIT_TESTS } from './suite.ts';

/** Integration tests mostly wait: two halves, each with an API server of its own, take half the time. */
const halves: Together = { rows: [[half(1)], [half(2)]] };

function half(which: number): Suite {
  return integration(`integration tests, half ${which}`, [`--shard=${which}/2`]);
}

function integration(name: string, shard: readonly string[]): Suite {
  const command = ['env', 'SEED=1', 'vitest', 'run', '--project', 'integration', ...shard] as const;
  return { name, command, counts: 'vitest' };
}

/** Two halves on one cluster that already stands would be in each other's way. */
const shared = process.env.USE_EXISTING_CLUSTER === 'true';

/**
 * Returns new seeds for each state of the code, and the same ones for a second run of that state, so that every verdict
 * can be repeated.
 */
function firstSeed(): number {
  const hash = createHash('sha256');
  for (const file of globSync('src/**/*.ts').sort()) {
    if (!file.endsWith('.test.ts')) hash.update(file).update(readFileSync(file));
  }
  return hash.digest().readUInt32BE() % 2 ** 28;
}

/** Checks of the code that `make check` has in part. */
const READING: readonly Suite[] = [
  {
    name: 'types, promises and exhaustive cases everywhere (oxlint)',
    command: ['oxlint', '--type-aware', '--type-check'],
    counts: 'exit',
  },
  { name: 'nothing unused in tests and scripts (knip)', command: ['knip', '--no-progress'], counts: 'exit' },
  {
    name: 'nothing unused, or used by tests alone (knip --production)',
    command: ['knip', '--no-progress', '--production', '--include', 'files,exports'],
    counts: 'exit',
  },
];

const SEED = firstSeed();
const CORES = availableParallelism();

close(
  await runSuites([
    ...READING,
    UNIT_TESTS,
    { name: 'cluster binaries', command: ['node', 'test/cluster/main.ts', 'build'], counts: 'exit' },
    { name: 'helm', command: ['node', 'test/tools/main.ts'], counts: 'exit' },
    shared ? integration('integration tests', []) : halves,
    { name: 'tests that run Pods', command: ['vitest', 'run', '--project', 'node'], counts: 'vitest' },
    {
      name: 'image in a Docker engine',
      command: ['node', 'test/containers/main.ts', 'vitest', 'run', '--project', 'docker'],
      counts: 'vitest',
    },
    {
      name: `simulation, three minutes of seeds from ${SEED}`,
      command: [
        'env',
        `FIRST_SEED=${SEED}`,
        'MINUTES=3',
        `CORES=${CORES}`,
        'node',
        'test/simulation/main.ts',
      ],
      counts: 'exit',
    },
    {
      name: `simulation of machines that end themselves, 40 seeds from ${SEED}`,
      command: ['env', 'MODE=deadman', `FIRST_SEED=${SEED}`, 'SEEDS=40', 'node', 'test/simulation/main.ts'],
      counts: 'exit',
    },
    {
      name: 'ten mutants of the protocol, others each day',
      command: ['node', 'test/simulation/mutants/main.ts', '--rotate', '10', '--seconds', '30'],
      counts: 'exit',
    },
  ]),
);
