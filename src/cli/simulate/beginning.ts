import type { WhatIf } from '../../controllers/endpoint-group/what-if/replay.ts';
import { usageError } from '../failures/command-error.ts';
import type { WorkersFile } from './workers-file.ts';

/**
 * Puts together how the group begins: workers stand in the workers file with their state, or as counts in the first
 * row of the trace; then they are the first of the file's list.
 */
export function beginWith(
  { spec, trace, traceFile }: Pick<WhatIf, 'spec' | 'trace'> & { readonly traceFile: string },
  workers: WorkersFile,
): WhatIf {
  const { hot, cold } = trace.start;
  const isCounted = hot !== undefined || cold !== undefined;
  if (isCounted && workers.first.length > 0)
    throw usageError(
      `${traceFile} says with how many workers the group begins, and the workers file does, too.`,
      'Leave out the columns hot and cold, or the states of the workers.',
    );
  const first = isCounted ? counted({ hot: hot ?? 0, cold: cold ?? 0 }, workers) : workers.first;
  if (first.length > spec.maxWorkers)
    throw usageError(
      `The group is to begin with ${first.length} workers, and its maxWorkers is ${spec.maxWorkers}.`,
      'Let it begin with fewer, or raise maxWorkers.',
    );
  const [next, ...later] = isCounted ? afterFirst(workers, first.length) : workers.models;
  if (!next) throw usageError('The workers file describes no worker.', 'Write at least one.');
  return { spec, trace, first, models: [next, ...later] };
}

function counted(
  { hot, cold }: { readonly hot: number; readonly cold: number },
  { models }: WorkersFile,
): WhatIf['first'] {
  return Array.from({ length: hot + cold }, (_, index) => {
    const model = models[Math.min(index, models.length - 1)];
    return model === undefined ? [] : [{ model, wanted: index < hot ? ('Hot' as const) : ('Cold' as const) }];
  }).flat();
}

function afterFirst({ models }: WorkersFile, taken: number): WorkersFile['models'] {
  return models.slice(Math.min(taken, models.length - 1));
}
