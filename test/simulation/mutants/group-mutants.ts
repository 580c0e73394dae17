import type { Mutant } from './mutant.ts';

const GROUP = 'controllers/endpoint-group';

/** Groups: who is made, who goes, and in which order. */
export const GROUP_MUTANTS: readonly Mutant[] = [
  {
    name: 'group-lets-go-first',
    loses: 'the wait for the last worker before a deleted group goes',
    file: `${GROUP}/decide.ts`,
    find: "actions: left.length === 0 ? [{ type: 'release' }] : actions,",
    replace: "actions: [...actions, { type: 'release' }],",
  },
  {
    name: 'group-goes-by-its-copy',
    loses: 'the question to the API server whether a worker is left before a deleted group goes',
    file: `${GROUP}/actions.ts`,
    find: "text: () => 'remove the finalizer of the group',\n    needsAllWorkers: true,",
    replace: "text: () => 'remove the finalizer of the group',",
  },
  {
    name: 'group-keeps-its-workers',
    loses: 'the end of the workers of a deleted group',
    file: `${GROUP}/decide.ts`,
    find: 'const left = orphans ? [] : workers;',
    replace: 'const left = orphans || workers.length > 0 ? [] : workers;',
  },
  {
    name: 'group-spends-on',
    loses: 'the ceiling of what a group may cost',
    file: `${GROUP}/decide.ts`,
    find: 'ceiling: parseDollars(spec.maxSpendPerHour),',
    replace:
      'ceiling: spec.maxSpendPerHour === undefined ? undefined : 10 * (parseDollars(spec.maxSpendPerHour) ?? 0),',
  },
  {
    name: 'waiting-workers-rent-beyond-ceiling',
    loses:
      'the withdrawal of workers that wait for a machine when the ceiling leaves no room for them any more',
    file: `${GROUP}/autoscale/candidates.ts`,
    find: 'if (left <= ceiling) break;',
    replace: 'if (left <= Math.max(ceiling, spend)) break;',
  },
  {
    name: 'group-names-at-random',
    loses: 'the name that makes a creation that is repeated the same',
    file: `${GROUP}/act.ts`,
    find: 'const name = workerName(group, ordinal);',
    replace: 'const name = workerName(group, ordinal + Math.floor(performance.now() * 1000));',
  },
  {
    name: 'group-served-while-leaving',
    loses: 'leaving the Service before anything else happens to a worker',
    file: `${GROUP}/decide.ts`,
    find: 'leaving.get(endpoint.worker.metadata.name)',
    replace: 'leaving.get(endpoint.worker.metadata.uid ?? "")',
  },
  {
    name: 'group-cuts-work',
    loses: 'the end of the work that a leaving worker has',
    file: `${GROUP}/actions.ts`,
    find: 'isLate || !mayWork(worker)',
    replace: "isLate || worker.name !== ''",
  },
  {
    name: 'group-stops-what-boots',
    loses: 'the first readiness of a worker before it is stopped for the cold pool',
    file: `${GROUP}/actions.ts`,
    find: 'const mayStop = isServing || drainSince !== undefined;',
    replace: 'const mayStop = isServing || drainSince !== undefined || !worker.isStopped;',
  },
  {
    name: 'group-wake-forgotten',
    loses: 'a wake that the process before recorded and did not carry out',
    file: `${GROUP}/facts.ts`,
    find: "if (memory !== undefined || group.status?.autoscaling?.rule !== 'Wake') return false;",
    replace: 'if (memory !== undefined || group.status?.autoscaling?.rule !== undefined) return false;',
  },
  {
    name: 'group-shrinks-after-restart',
    loses: 'the workers that a new process keeps until it knows the load',
    file: `${GROUP}/decide.ts`,
    find: 'panicUntil: hot > 0 ? Math.max(recorded, now + times.panicMs) : recorded,',
    replace: 'panicUntil: Math.min(recorded, now - times.panicMs),',
  },
  {
    name: 'group-acts-unrecorded',
    loses: 'the end of a pass whose decision was refused by a conflict',
    file: 'runtime/writes.ts',
    find: 'const write = await recordStatus<S, T>({ client, resource, object, status });',
    replace:
      "const write = await recordStatus<S, T>({ client, resource, object, status });\n    if (write.type === 'conflict' && resource.plural === 'endpointgroups') return receiptOf(object);",
  },
  {
    name: 'lowered-maximum-ignored',
    loses: 'the end of workers beyond a lowered `maxWorkers`, where the load needs them',
    file: 'controllers/endpoint-group/autoscale/choose-workers.ts',
    find: 'return onHold.length + cover.length > maxWorkers ? [] :',
    replace: 'return onHold.length + cover.length > 1_000 * maxWorkers ? [] :',
  },
  {
    name: 'old-restless-blocks-room',
    loses: 'the wake of an old cold worker that never came to rest, where the ceiling lets no other come',
    file: 'controllers/endpoint-group/autoscale/choose-workers.ts',
    find: 'if (!next.isCut) return next;',
    replace: 'if (next) return next;',
  },
  {
    name: 'group-drops-who-serves',
    loses: 'the wait until others serve, before one that serves goes',
    file: 'controllers/endpoint-group/autoscale/choose-workers.ts',
    find: 'isMissed(next, worker, input) ? deferred(next)',
    replace: "isMissed(next, worker, input) && worker.name === '' ? deferred(next)",
  },
];
