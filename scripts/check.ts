/** `make check`: everything that needs no cluster. */
import { close, runSuites, type Suite, UNIT_TESTS } from './suite.ts';

/** All that reads the code without running it. */
const READING: readonly Suite[] = [
  { name: 'types', command: ['tsc', '--noEmit'], counts: 'exit' },
  {
    name: 'format and lint (biome)',
    command: ['biome', 'check', '--error-on-warnings', '.'],
    counts: 'exit',
  },
  { name: 'imports, purity, promises (oxlint)', command: ['oxlint', '--type-aware'], counts: 'exit' },
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

close(await runSuites([{ rows: [READING, [UNIT_TESTS]] }]));
