/** `make test`: unit tests and everything on a real Kubernetes API. Its last line is one sum over all suites. */
import { close, runSuites } from './suite.ts';

close(
  await runSuites([
    { name: 'unit tests', command: ['vitest', 'run', '--project', 'unit'], counts: 'vitest' },
    { name: 'cluster binaries', command: ['node', 'test/cluster/main.ts', 'build'], counts: 'exit' },
    { name: 'helm', command: ['node', 'test/tools/main.ts'], counts: 'exit' },
    {
      name: 'integration tests',
      command: ['env', 'SEED=1', 'vitest', 'run', '--project', 'integration'],
      counts: 'vitest',
    },
    {
      name: 'simulation, two minutes of seeds',
      command: ['env', 'FIRST_SEED=1', 'MINUTES=2', 'node', 'test/simulation/main.ts'],
      counts: 'exit',
    },
  ]),
);
