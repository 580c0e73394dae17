import { deletingStatus } from './status.ts';
import type { Action, Decision, Observed } from './types.ts';
import { afterRestart } from './wanted-workers.ts';

/** All workers go; the group goes when they are gone. Deletion with orphans leaves them as they are. */
export function decideDeletion(observed: Observed): Decision {
  const { group, workers, memory, now, times } = observed;
  const orphans = group.metadata.finalizers?.includes('orphan') === true;
  const left = orphans ? [] : workers;
  const actions = left
    .filter((worker) => !worker.isDeleting)
    .map((worker): Action => ({ type: 'delete', worker }));
  return {
    needsFinalizer: false,
    status: deletingStatus(observed, left.length),
    // Nobody is led to a worker that is about to go.
    endpoints: orphans ? undefined : [],
    endpointProblems: [],
    actions: left.length === 0 ? [{ type: 'release' }] : actions,
    waiting: [],
    changes: [],
    because: '',
    memory: {
      ...(memory ?? {
        scaling: afterRestart(observed),
        decision: undefined,
        hotAtTick: 0,
        slowSince: undefined,
      }),
      // Nothing is decided by load any more: it is not read at each look.
      nextTickAt: now + times.tickMs,
    },
    requeueAfterMs: 5000,
  };
}
