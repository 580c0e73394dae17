import { join } from 'node:path';
import { expect, test } from 'vitest';
import { vitestTally } from '../../scripts/tally.ts';

const passed = { status: 'passed', fullName: 'adds', failureMessages: [] };
const failed = {
  status: 'failed',
  fullName: 'divides',
  failureMessages: ['expected 1 to be 2\n    at sum.ts:3'],
};

function tallyOf(code: number, ...files: readonly object[]) {
  const testResults = files.map((file) => ({
    name: join(process.cwd(), 'src/sum.test.ts'),
    message: '',
    ...file,
  }));
  return vitestTally('unit tests', JSON.stringify({ numPassedTests: 7, testResults }), code);
}

test('a run in which all passed names nothing', () => {
  const tally = tallyOf(0, { status: 'passed', assertionResults: [passed] });
  expect(tally).toEqual({ passed: 7, failed: 0, failures: [] });
});

test('a failed test is named with its file and the first line of why', () => {
  const tally = tallyOf(1, { status: 'failed', assertionResults: [passed, failed] });
  expect(tally).toEqual({ passed: 7, failed: 1, failures: ['src/sum.test.ts: divides: expected 1 to be 2'] });
});

test('a file that could not be read counts as one failure', () => {
  const tally = tallyOf(1, { status: 'failed', message: 'Unexpected token\nat 3', assertionResults: [] });
  expect(tally).toEqual({ passed: 7, failed: 1, failures: ['src/sum.test.ts: Unexpected token'] });
});

test('an exit code that no test explains counts as one failure', () => {
  const tally = tallyOf(130, { status: 'passed', assertionResults: [passed] });
  expect(tally).toEqual({
    passed: 7,
    failed: 1,
    failures: ['unit tests: exit 130: an error outside its tests'],
  });
});
