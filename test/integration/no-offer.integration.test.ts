import { expect, test } from 'vitest';
import { until } from '../builders/until.ts';
import {
  conditionOf,
  deleteInstance,
  goneFromCluster,
  patchInstance,
  reached,
  rents,
  useSharedBench,
} from './gpu-instance-bench.ts';

const offer = { gpuName: 'RTX 4090', gpuCount: 1 };
const shared = useSharedBench({
  simulator: {
    catalog: [
      { ...offer, pricePerHour: 0.5, hostId: 1, machineId: 1 },
      { ...offer, pricePerHour: 0.6, hostId: 2, machineId: 2 },
    ],
  },
});

test.each([
  ['missing', { maxPricePerHour: '2.00' }, 'price-missing', 'NoOffers', /allowUnknownPrice/],
  ['above the limit', { maxPricePerHour: '0.10' }, undefined, 'NoOffers', /maxPricePerHour 0.10/],
] as const)('scenario 13: a price that is %s is refused', async (what, requirements, fault, reason, said) => {
  const bench = shared();
  if (fault) await bench.fault(fault, {});
  const name = `thrifty-${what.split(' ')[0]}`;
  // Searches for another disk are not answered out of what the row before found.
  await bench.createInstance(name, { offers: [requirements], disk: fault ? '11G' : '12G' });
  await reached(bench, name, reason);
  // What would match is searched when nothing else waits for a search.
  await until(`it says ${said}`, async () =>
    said.test(conditionOf(await bench.instance(name), 'Ready')?.message ?? ''),
  );
  expect(rents(bench)).toEqual([]);
  // Left alone it would rent one of the two offers as soon as prices are shown again.
  await deleteInstance(bench, name);
  await goneFromCluster(bench, name);
  await bench.clearFaults();
});

const searches = (bench: ReturnType<typeof shared>): number => bench.callsTo('POST', /\/bundles\//).length;

/** Passes of the controller over the bench's objects so far. */
async function passes(): Promise<number> {
  const counts = (await shared().metrics()).matchAll(
    /^controller_runtime_reconcile_total\{[^}]*controller="gpuinstance"[^}]*\} (\d+)/gm,
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

test('scenario 11: where no offer matches the condition counts what each requirement costs, and no try is written', async () => {
  const bench = shared();
  await bench.createInstance('choosy', {
    offers: [{ gpuNames: ['RTX 4090'], gpuCount: 4, maxPricePerHour: '2.00' }],
  });
  await reached(bench, 'choosy', 'NoOffers');
  // What would match is searched when nothing else waits for a search.
  const choosy = await until('it counts', async () => {
    const now = await bench.instance('choosy');
    return /2 .*gpuCount 4/.test(conditionOf(now, 'Ready')?.message ?? '') ? now : undefined;
  });
  const searched = searches(bench);
  const before = await passes();
  // The search is repeated at growing intervals: what comes of a minute of them is not written either.
  const end = performance.now() + 60_000;
  await until('it tries again', () => searches(bench) > searched || performance.now() > end, 90_000);
  await until(
    'it has looked again',
    async () => (await passes()) > before || performance.now() > end,
    90_000,
  );
  expect((await bench.instance('choosy'))?.metadata.resourceVersion).toBe(choosy.metadata.resourceVersion);
  expect(rents(bench)).toEqual([]);
  await deleteInstance(bench, 'choosy');
  await goneFromCluster(bench, 'choosy');
});

test('a filter on a field that no offer has is reported with the nearest one, and nothing is searched or rented', async () => {
  const bench = shared();
  const searchedBefore = searches(bench);
  const filters = [{ field: 'inet_dwon', operator: 'Gt', value: '500' }];
  await bench.createInstance('typo', { offers: [{ maxPricePerHour: '2.00', filters }] });
  const told = await reached(bench, 'typo', 'InvalidSpec');
  expect(conditionOf(told, 'Ready')?.message).toContain(
    'spec.offers[0].filters[0].field: "inet_dwon" is no field of an offer: did you mean "inet_down"?',
  );
  expect(conditionOf(told, 'Stalled')?.status).toBe('True');
  const before = await passes();
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect((await passes()) - before).toBeLessThan(5);
  expect(searches(bench)).toBe(searchedBefore);
  expect(rents(bench)).toEqual([]);
  filters[0] = { field: 'inet_down', operator: 'Gt', value: '0' };
  await patchInstance(bench, { spec: { offers: [{ maxPricePerHour: '2.00', filters }] } }, 'typo');
  await reached(bench, 'typo', 'Ready');
});
