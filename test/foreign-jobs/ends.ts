/** Object of any kind that reports its end by a phase or by conditions. */
interface Reporting {
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

const SUCCESSES: ReadonlySet<string> = new Set(['Complete', 'Completed', 'Succeeded']);
const FAILURES: ReadonlySet<string> = new Set(['Failed', 'Error']);

/**
 * Returns how the controller of an object reports its end: of a Job, JobSet, TaskRun or PipelineRun by a condition, of a
 * Pod or a Workflow by its phase. Undefined while it runs.
 */
export function endOf({ status = {} }: Reporting): 'succeeded' | 'failed' | undefined {
  const { phase = '', conditions = [] } = status;
  if (SUCCESSES.has(phase)) return 'succeeded';
  if (FAILURES.has(phase)) return 'failed';
  for (const condition of conditions) {
    if (SUCCESSES.has(condition.type) && condition.status === 'True') return 'succeeded';
    if (FAILURES.has(condition.type) && condition.status === 'True') return 'failed';
    // A TaskRun has one condition for both ends.
    if (condition.type === 'Succeeded' && condition.status === 'False') return 'failed';
  }
  return undefined;
}
