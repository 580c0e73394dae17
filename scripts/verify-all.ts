/**
 * `make verify-all`: what is too long for CI, one part after the other. The figures it prints are those that the
 * documents quote. `ONLY=mutants` runs the parts whose name contains that word; a word that is in none is an error.
 */
import { availableParallelism } from 'node:os';
import { close, runSuites, type Suite } from './suite.ts';

/** Not the one of `make check`: other examples than those that always pass. */
const PROPERTY_SEED = Math.floor(Date.now() / 1000);

const PARTS: readonly Suite[] = [
  { name: 'check', command: ['npm', 'run', '--silent', 'check'], counts: 'exit' },
  { name: 'test', command: ['npm', 'run', '--silent', 'test'], counts: 'exit' },
  {
    name: `unit tests, properties from seed ${PROPERTY_SEED}`,
    command: ['env', `PROPERTY_SEED=${PROPERTY_SEED}`, 'vitest', 'run', '--project', 'unit'],
    counts: 'vitest',
  },
  {
    name: 'simulation, systematic: every fault at every effect, and pairs',
    command: ['env', 'MODE=systematic', 'node', 'test/simulation/main.ts'],
    counts: 'exit',
  },
  {
    name: 'simulation, sequences of edits',
    command: ['env', 'MODE=sequences', 'node', 'test/simulation/main.ts'],
    counts: 'exit',
  },
  {
    name: 'simulation, outages of fleets of 1 to 200',
    command: ['env', 'MODE=outages', 'node', 'test/simulation/main.ts'],
    counts: 'exit',
  },
  {
    name: 'simulation, deadman: 10,000 erased clusters and 10,000 worlds with outages',
    command: ['env', 'MODE=deadman', 'SEEDS=10000', 'node', 'test/simulation/main.ts'],
    counts: 'exit',
  },
  {
    name: 'simulation, 1,000 lives of idle machines',
    command: ['env', 'MODE=idle', 'SEEDS=1000', 'node', 'test/simulation/main.ts'],
    counts: 'exit',
  },
  {
    name: 'simulation, 200 ends of a month: exported costs against the bill',
    command: [
      'env',
      'MONTH_WORLDS=200',
      'vitest',
      'run',
      '--project',
      'unit',
      'test/simulation/stories/month',
    ],
    counts: 'vitest',
  },
  {
    name: 'simulation, swarm of 100,000 schedules',
    command: ['env', 'SEEDS=50000', `CORES=${availableParallelism()}`, 'node', 'test/simulation/main.ts'],
    counts: 'exit',
  },
  {
    name: 'simulation at a market without labels, stop and bids',
    command: ['env', 'MARKET=toy', 'SEEDS=1000', 'node', 'test/simulation/main.ts'],
    counts: 'exit',
  },
  {
    name: 'mutants of the protocol, all',
    command: ['node', 'test/simulation/mutants/main.ts'],
    counts: 'exit',
  },
  {
    name: "mutants of the gateway's bounds, all",
    command: ['node', 'test/gateway/mutants/main.ts'],
    counts: 'exit',
  },
  {
    name: 'mutants of pure files (StrykerJS), at least 90 % of each killed',
    command: ['node', 'test/mutation/main.ts'],
    counts: 'exit',
  },
  {
    name: 'fuzz, guided by coverage, ten minutes',
    command: ['env', 'MINUTES=10', 'node', 'test/fuzz/main.ts'],
    counts: 'exit',
  },
  {
    name: 'differential programs, 20,000',
    command: [
      'env',
      'PROGRAMS=20000',
      'vitest',
      'run',
      '--project',
      'integration',
      'test/simulation/differential',
    ],
    counts: 'vitest',
  },
  {
    name: 'kill and freeze, ten minutes',
    command: ['env', 'CHAOS_SECONDS=600', 'vitest', 'run', '--project', 'integration', 'test/chaos'],
    counts: 'vitest',
  },
  {
    name: "other projects' programs: Helm 3, helm-unittest, Flux, promtool, kube-score, kubernetes-validate, focus-validator, actionlint, older Node, release rehearsal; 100,000 schedules of admission",
    command: ['vitest', 'run', '--project', 'verify'],
    counts: 'vitest',
  },
  {
    name: 'soak: a day of 2,000 instances in virtual time',
    command: ['node', 'bench/soak.ts'],
    counts: 'exit',
  },
  {
    name: 'bench: autoscaling, settings tuned again',
    command: ['node', 'bench/autoscaling.ts', '--tune'],
    counts: 'exit',
  },
  {
    name: "memory of the operator's container with 1,000 GpuInstances, on a node",
    command: ['env', 'MEMORY_INSTANCES=1000', 'vitest', 'run', '--project', 'node', 'test/install/memory'],
    counts: 'vitest',
  },
  { name: 'bench: operator', command: ['npm', 'run', '--silent', 'bench:operator'], counts: 'exit' },
  { name: 'bench: beside peers', command: ['npm', 'run', '--silent', 'bench'], counts: 'exit' },
  { name: 'bench: simulator', command: ['node', 'bench/simulator.ts'], counts: 'exit' },
  { name: 'demo', command: ['env', 'CI=true', 'npm', 'run', '--silent', 'demo'], counts: 'exit' },
  {
    name: 'demo-endpoint',
    command: ['env', 'CI=true', 'npm', 'run', '--silent', 'demo-endpoint'],
    counts: 'exit',
  },
  {
    name: 'demo-gateway',
    command: ['env', 'CI=true', 'npm', 'run', '--silent', 'demo-gateway'],
    counts: 'exit',
  },
  {
    name: 'demo-deadman',
    command: ['env', 'CI=true', 'npm', 'run', '--silent', 'demo-deadman'],
    counts: 'exit',
  },
  {
    name: 'demo-job',
    command: ['env', 'CI=true', 'npm', 'run', '--silent', 'demo-job'],
    counts: 'exit',
  },
  {
    name: 'demo-agent',
    command: ['env', 'CI=true', 'npm', 'run', '--silent', 'demo-agent'],
    counts: 'exit',
  },
  {
    name: "jobs: manifests of other projects, under those projects' controllers",
    command: ['node', 'test/foreign-jobs/main.ts'],
    counts: 'exit',
  },
  {
    name: 'jobs: 100 runs that are outbid once',
    command: ['node', 'test/outbid-jobs/main.ts'],
    counts: 'exit',
  },
];

const only = process.env['ONLY'] ?? '';
const chosen = PARTS.filter(({ name }) => name.includes(only));
if (chosen.length > 0) close(await runSuites(chosen));
else {
  const names = PARTS.map(({ name }) => `  ${name}\n`).join('');
  process.stderr.write(`ONLY=${only} is in the name of no part. The parts are\n${names}`);
  process.exitCode = 2;
}
