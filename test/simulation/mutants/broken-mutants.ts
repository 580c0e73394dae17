import type { Mutant } from './mutant.ts';

const GROUP = 'controllers/endpoint-group';

/** Machines that run and do no work, and people who ask the operator to look now. */
export const BROKEN_MUTANTS: readonly Mutant[] = [
  {
    name: 'stopping-worker-broken',
    loses:
      'the cold pool: a worker that is being stopped and does not serve any more is taken for a broken one',
    file: 'controllers/endpoint-group/workers/worker.ts',
    find: "unreadySince: isServing || spec.powerState === 'Stopped' ? undefined : unreadySince(object, times),",
    replace: 'unreadySince: isServing ? undefined : unreadySince(object, times),',
  },
  {
    name: 'unready-worker-kept',
    loses: 'the deadline of a worker that runs and never becomes ready',
    file: `${GROUP}/autoscale/candidates.ts`,
    find: 'return unreadySince !== undefined && limitMs !== undefined && now >= unreadySince + limitMs;',
    replace:
      'return unreadySince !== undefined && limitMs !== undefined && now >= unreadySince + 1_000 * limitMs;',
  },
  {
    name: 'broken-image-at-full-pace',
    loses: 'the growing time between replacements whose new workers are broken as well',
    file: `${GROUP}/autoscale/failing.ts`,
    find: '? 0 : last.count;',
    replace: '? 0 : Math.min(1, last.count);',
  },
  {
    name: 'error-worker-serves',
    loses: 'that the Service leads to no worker that reports an error',
    file: `${GROUP}/facts.ts`,
    find: '!isFaulty(view.workers.get(name)));',
    replace: "name !== '' || !isFaulty(view.workers.get(name)));",
  },
  {
    name: 'error-worker-kept',
    loses: 'the end of a worker that reports an error for a minute',
    file: `${GROUP}/autoscale/candidates.ts`,
    find: 'if (faultySince !== undefined && now >= faultySince + FAULTY_FOR_MS) return true;',
    replace: 'if (faultySince !== undefined && now >= faultySince + 1_000 * FAULTY_FOR_MS) return true;',
  },
  {
    name: 'error-counts-from-restart',
    loses: 'the record of the time since which a worker reports an error',
    file: `${GROUP}/autoscale/failing.ts`,
    find: "  }: Pick<Observed, 'group' | 'workers' | 'load' | 'clock'>,\n  view: LoadView,",
    replace:
      "    memory,\n  }: Pick<Observed, 'group' | 'workers' | 'load' | 'clock' | 'memory'>,\n  view: LoadView,",
    also: [
      {
        file: `${GROUP}/autoscale/failing.ts`,
        find: 'const recorded = group.status?.failingWorkers ?? [];',
        replace: 'const recorded = (memory && group.status?.failingWorkers) ?? [];',
      },
    ],
  },
  {
    name: 'requested-at-keeps-backoff',
    loses: 'the end of a backoff when a person asks to look now',
    file: 'controllers/gpu-instance/memory.ts',
    find: 'if (asked === status?.requestedAt) return;',
    replace: "if (asked !== '') return;",
  },
  {
    name: 'unmapped-ports-are-ready',
    loses: 'that an object is ready only if its machine maps the declared ports',
    file: 'reach/machine-ports.ts',
    find: '.filter((port) => !mappingOf(port, declared, mappings))',
    replace: '.filter((port) => port.containerPort < 0 && !mappingOf(port, declared, mappings))',
  },
];
