import { expect, test } from 'vitest';
import { condition, groupWorker, workerObject } from '../../../test/builders/group-worker.ts';
import { blockedWorkers } from './conditions.ts';
import type { Worker } from './workers/worker.ts';

/** A hot worker without a machine, whose Rented says why. */
function waiting(name: string, reason: string, more: Partial<Worker> = {}): Worker {
  const rented = { ...condition('Rented', 'False', '2026-11-20T11:10:00Z'), reason };
  const object = workerObject(name, { status: { observedGeneration: 1, conditions: [rented] } });
  return groupWorker({ name, object, isRented: false, isServing: false, ...more });
}

test('workers that find no offer say so, and the first by name says more', () => {
  expect(blockedWorkers([waiting('b', 'NoOffers'), waiting('a', 'NoOffers'), groupWorker()], 'Hot')).toBe(
    '2 have no machine (NoOffers): look at the conditions of worker a.',
  );
});

test('those that wait for another reason are not counted with them', () => {
  expect(blockedWorkers([waiting('a', 'AccountMissing'), waiting('b', 'NoOffers')], 'Hot')).toBe(
    '1 has no machine (AccountMissing): look at the conditions of worker a.',
  );
});

test('what stalls a worker is said, too', () => {
  expect(blockedWorkers([waiting('a', 'InvalidSpec')], 'Hot')).toContain('1 has no machine (InvalidSpec)');
});

test.each<[string, readonly Worker[]]>([
  ['whose rental is under way', [waiting('a', 'Provisioning')]],
  ['that says a word of another version', [waiting('a', 'constructor')]],
  ['that has said nothing yet', [groupWorker({ isRented: false, object: workerObject('a') })]],
  ['that is being deleted', [waiting('a', 'NoOffers', { isDeleting: true })]],
  ['that is cold', [waiting('a', 'NoOffers', { desiredRole: 'Cold' })]],
  ['that has a machine', [waiting('a', 'NoOffers', { isRented: true })]],
])('nothing is said of a worker %s', (_, workers) => {
  expect(blockedWorkers(workers, 'Hot')).toBeUndefined();
});

test('separates workers of the pool from hot ones', () => {
  const workers = [waiting('a', 'AccountMissing'), waiting('b', 'NoOffers', { desiredRole: 'Cold' })];
  expect(blockedWorkers(workers, 'Cold')).toBe(
    '1 has no machine (NoOffers): look at the conditions of worker b.',
  );
});
