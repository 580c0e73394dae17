import { relative } from 'node:path';

/** Number of passed and failed tests of a suite, and a line for each failed one with a name. */
export interface Tally {
  readonly passed: number;
  readonly failed: number;
  readonly failures: readonly string[];
}

/** Returns a failure without a test. */
export function failedAs(why: string): Tally {
  return { passed: 0, failed: 1, failures: [why] };
}

interface VitestReport {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages: readonly string[] | null;
    }[];
  }[];
}

/** Counts Vitest's JSON report; an exit code that no failed test explains is a failure of its own. */
export function vitestTally(suite: string, text: string, code: number): Tally {
  const report: VitestReport = JSON.parse(text);
  const named = namedFailures(report);
  const failures =
    code === 0 || named.length > 0 ? named : [`${suite}: exit ${code}: an error outside its tests`];
  return { passed: report.numPassedTests, failed: failures.length, failures };
}

/**
 * Returns failures with names. A file that failed without a failed test could not be read, or its preparation failed:
 * it has its own reason.
 */
function namedFailures({ testResults }: VitestReport): string[] {
  return testResults.flatMap(({ name, status, message, assertionResults }) => {
    const file = relative(process.cwd(), name);
    const failed = assertionResults.filter((test) => test.status === 'failed');
    if (failed.length === 0 && status === 'failed') return [`${file}: ${firstLine(message)}`];
    return failed.map((test) => `${file}: ${test.fullName}: ${firstLine(test.failureMessages?.[0])}`);
  });
}

function firstLine(text = ''): string {
  return text.split('\n', 1)[0] ?? '';
}
