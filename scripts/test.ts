/** `make test`: unit tests and everything on a real Kubernetes API. Its last line is one sum over all suites. */
import { close, runSuites } from './suite.ts';

close(
  await runSuites([
    { name: 'unit tests', command: ['vitest', 'run', '--project', 'unit'], counts: 'vitest' },
    { name: 'cluster binaries', command: ['node', 'test/cluster/main.ts', 'build'], counts: 'exit' },
    { name: 'helm', command: ['node', 'test/tools/main.ts'], counts: 'exit' },
    { name: 'integration tests', command: ['vitest', 'run', '--project', 'integration'], counts: 'vitest' },
    {
      name: 'simulation, three minutes of fresh seeds',
      command: ['env', 'MINUTES=3', 'node', 'test/simulation/main.ts'],
      counts: 'exit',
    },
    {
      name: 'ten of the mutants',
      command: ['node', 'test/simulation/mutants/main.ts', '--rotate', '10'],
      counts: 'exit',
    },
  ]),
);
