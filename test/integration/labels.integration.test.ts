import { describe, expect, test } from 'vitest';
import { until } from '../builders/until.ts';
import {
  contracts,
  crashAt,
  deleteInstance,
  destroys,
  goneFromCluster,
  reached,
  readyBench,
  rentCall,
  rents,
  running,
  useBenches,
} from './gpu-instance-bench.ts';

useBenches();

const LOST_LABELS = [
  ['dropped', 'label-dropped'],
  ['cut', 'label-cut'],
  ['lower-cased', 'label-lower-cased'],
] as const;

describe('labels that do not come back', () => {
  test.each(LOST_LABELS)(
    'scenario 69: a label that is %s: machines are distinguished by what is new, and each goes with its object',
    async (_, fault) => {
      const bench = await readyBench();
      await bench.fault(fault, {});
      const first = await running(bench, 'first');
      const crashed = crashAt(bench, rentCall('after'));
      await bench.createInstance('second');
      await crashed;
      await bench.start();
      const second = await reached(bench, 'second', 'Ready');
      expect(second.status?.instanceId).not.toBe(first.status?.instanceId);
      expect(contracts(bench)).toBe(2);
      await deleteInstance(bench, 'second');
      await goneFromCluster(bench, 'second');
      expect(bench.billing().map(({ id }) => String(id))).toEqual([first.status?.instanceId]);
    },
  );
});

test('scenario 69: the very first rental of a login is lost with its label: it is looked at, and nothing else is rented', async () => {
  const bench = await readyBench();
  await bench.fault('label-dropped', {});
  const crashed = crashAt(bench, rentCall('after'));
  await bench.createInstance('first');
  await crashed;
  await bench.start();
  await reached(bench, 'first', 'RentalUncertain');
  await until('the settle time is over', () => bench.callsTo('GET', /\/instances\/$/).length > 10);
  expect(rents(bench)).toHaveLength(1);
  expect(destroys(bench)).toEqual([]);
});

test('scenario 69: of two new machines without a label none is taken, none destroyed, and nothing is rented', async () => {
  const bench = await readyBench();
  await bench.fault('label-dropped', {});
  await running(bench, 'first');
  const crashed = crashAt(bench, rentCall('after'));
  await bench.createInstance('second');
  await crashed;
  const { store } = bench.simulator;
  const newest = Object.values(bench.simulator.world().tables.contracts).at(-1);
  if (!newest) throw new Error('nothing was rented');
  store.put('contracts', { ...newest, id: store.nextId('contract') });
  await bench.start();
  await reached(bench, 'second', 'RentalUncertain');
  await until('the settle time is over', () => bench.callsTo('GET', /\/instances\/$/).length > 12);
  expect((await reached(bench, 'second', 'RentalUncertain')).status?.instanceId).toBeUndefined();
  expect(rents(bench)).toHaveLength(2);
  expect(destroys(bench)).toEqual([]);
  expect(bench.billing()).toHaveLength(3);
});
