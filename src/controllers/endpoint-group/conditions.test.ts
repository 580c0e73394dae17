import { expect, test } from 'vitest';
import { condition, groupWorker, workerObject } from '../../../test/builders/group-worker.ts';
import { blockedWorkers } from './conditions.ts';
import type { Worker } from './workers/worker.ts';

/** Returns a hot worker without a machine, with the reason of its condition Rented. */
function waiting(name: string, reason: string, more: Partial<Worker> = {}): Worker {
  const rented = { ...condition('Rented', 'False', '2026-11-20T11:10:00Z'), reason };
  const object = workerObject(name, { status: { observedGeneration: 1, conditions: [rented] } });
  return groupWorker({ name, object, isRented: false, isServing: false, ...more });
}

test('counts workers without an offer and names the first', () => {
  expect(blockedWorkers([waiting('b', 'NoOffers'), waiting('a', 'NoOffers'), groupWorker()], 'Hot')).toBe(
    '2 hot workers have no machine (NoOffers); see the conditions of worker a.',
  );
});

test('counts only workers with the reason of the first', () => {
  expect(blockedWorkers([waiting('a', 'AccountMissing'), waiting('b', 'NoOffers')], 'Hot')).toBe(
    '1 hot worker has no machine (AccountMissing); see the conditions of worker a.',
  );
});

test('reports the reason of a stalled worker', () => {
  expect(blockedWorkers([waiting('a', 'InvalidSpec')], 'Hot')).toContain(
    '1 hot worker has no machine (InvalidSpec)',
  );
});

test.each<[string, readonly Worker[]]>([
  ['is being rented', [waiting('a', 'Provisioning')]],
  ['has the reason of another version', [waiting('a', 'constructor')]],
  ['has no conditions yet', [groupWorker({ isRented: false, object: workerObject('a') })]],
  ['is being deleted', [waiting('a', 'NoOffers', { isDeleting: true })]],
  ['is cold', [waiting('a', 'NoOffers', { desiredRole: 'Cold' })]],
  ['has a machine', [waiting('a', 'NoOffers', { isRented: true })]],
])('reports nothing when the worker %s', (_, workers) => {
  expect(blockedWorkers(workers, 'Hot')).toBeUndefined();
});

test('counts cold workers apart from hot ones', () => {
  const workers = [waiting('a', 'AccountMissing'), waiting('b', 'NoOffers', { desiredRole: 'Cold' })];
  expect(blockedWorkers(workers, 'Cold')).toBe(
    '1 cold worker has no machine (NoOffers); see the conditions of worker b.',
  );
});
