import { expect, test } from 'vitest';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { logsToCut, MAX_FULL_LOGS } from './kept-logs.ts';

function finished(at: number, change: { namespace?: string; bytes?: number; isOver?: boolean } = {}) {
  const { namespace = 'team', bytes = 4_096, isOver = true } = change;
  return {
    metadata: { name: `run-${at}`, namespace, uid: `${namespace}-${at}` },
    status: {
      run: {
        log: { secretRef: { name: `run-${at}-log` }, bytes, truncated: false },
        ...(isOver && { finishedAt: new Date(at * 1_000).toISOString() }),
      },
    },
  } as unknown as GpuInstance;
}
const FULL = Array.from({ length: MAX_FULL_LOGS - 1 }, (_, at) => finished(1_000 + at));
const names = (objects: readonly GpuInstance[]) =>
  logsToCut(objects, finished(9_000)).map(({ metadata }) => metadata.name);

test('cuts no log when there are 100 with the new one', () => {
  expect(names([...FULL, finished(9_000)])).toEqual([]);
});

test('cuts the logs that finished before the 100 newest', () => {
  expect(names([finished(1), ...FULL, finished(2)])).toEqual(['run-2', 'run-1']);
});

test.each([
  ['of another namespace', finished(1, { namespace: 'other' })],
  ['that is short', finished(1, { bytes: 1_024 })],
  ['of a run that has not finished', finished(1, { isOver: false })],
])('neither counts nor cuts a log %s', (_, object) => {
  expect(names([object, ...FULL])).toEqual([]);
});
