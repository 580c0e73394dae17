/** `make check`: what a change breaks first, in less than a minute of processor time. `make test` has all tests. */
import { close, QUICK_TESTS, runSuites, type Suite } from './suite.ts';

/** All that reads the code without running it. */
const READING: readonly Suite[] = [
  {
    name: 'format and lint (biome)',
    command: ['biome', 'check', '--error-on-warnings', '.'],
    counts: 'exit',
  },
  {
    name: 'types, imports, purity, promises (oxlint)',
    command: ['oxlint', '--type-aware', '--type-check'],
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
  { name: 'nothing unused (knip)', command: ['knip', '--no-progress'], counts: 'exit' },
  {
    name: 'nothing used by tests alone (knip --production)',
    command: ['knip', '--no-progress', '--production', '--include', 'files,exports'],
    counts: 'exit',
  },
];

close(await runSuites([{ rows: [READING, [QUICK_TESTS]] }]));
