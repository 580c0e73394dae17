/** `make check`: what a change breaks first, in less than a minute of processor time. `make test` has all tests. */
import { close, QUICK_TESTS, runSuites, type Suite } from './suite.ts';

/** Folders whose types are checked here; `make test` also checks those of tests. */
const TYPED = ['src', 'scripts', 'examples'] as const;

/** Checks that read the code without running it. `make test` has those of tests and scripts that take long. */
const READING: readonly Suite[] = [
  {
    name: 'format and lint (biome)',
    command: ['biome', 'check', '--error-on-warnings', '.'],
    counts: 'exit',
  },
  { name: 'imports, purity (oxlint)', command: ['oxlint'], counts: 'exit' },
  {
    name: 'types and promises of all but tests (oxlint)',
    command: ['oxlint', '--type-aware', '--type-check', '--ignore-pattern', '**/*.test.ts', ...TYPED],
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
];

close(await runSuites([{ rows: [READING, [QUICK_TESTS]] }]));
