/** `make check`: what a change breaks first, in less than a minute of processor time. `make test` has all tests. */
import { close, QUICK_TESTS, runSuites, type Suite } from './suite.ts';

/** Checks that read the code without running it. `make test` has those of tests and scripts that take long. */
const READING: readonly Suite[] = [
  {
    name: 'format and lint (biome)',
    command: ['biome', 'check', '--error-on-warnings', '.'],
    counts: 'exit',
  },
  { name: 'types (tsc)', command: ['tsc', '--noEmit'], counts: 'exit' },
  { name: 'imports, purity (oxlint)', command: ['oxlint'], counts: 'exit' },
  {
    name: 'promises of the product (oxlint --type-aware)',
    command: ['oxlint', '--type-aware', '--ignore-pattern', '**/*.test.ts', 'src'],
    counts: 'exit',
  },
  {
    name: 'English of comments and messages',
    command: ['node', 'scripts/lint/doc-comments.ts'],
    counts: 'exit',
  },
  {
    name: 'generated files leave no diff',
    command: ['node', 'scripts/generate.ts', '--check'],
    counts: 'exit',
  },
  {
    name: 'nothing unused, or used by tests alone (knip --production)',
    command: ['knip', '--no-progress', '--production', '--include', 'files,exports'],
    counts: 'exit',
  },
];

close(await runSuites([{ rows: [READING, [QUICK_TESTS]] }]));
