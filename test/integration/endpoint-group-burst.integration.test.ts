import { afterEach, expect, test } from 'vitest';
import { until } from '../builders/until.ts';
import { createGroup, type GroupBench, groupBench, offers, patchGroup } from './endpoint-group-bench.ts';
import { rents, useBenches } from './gpu-instance-bench.ts';

useBenches();

let open: GroupBench | undefined;
afterEach(() => open?.close());

test('scenario 73: a group that is asked for fifty workers, for none, and again within a second rents no more than its maximum and ends with none', async () => {
  open = await groupBench({ simulator: { catalog: offers(30) }, flags: { scalingSpeed: '60' } });
  const epg = open;
  const { bench } = epg;
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, bench.billing().length);
  }, 20);
  await createGroup(epg, { maxWorkers: 12, minLoad: '0' });
  await epg.reached('it is looked at', ({ status }) => status?.observedGeneration === 1);
  await patchGroup(epg, { spec: { minLoad: '5000' } });
  await until('it rents', () => rents(bench).length > 0);
  for (const minLoad of ['0', '5000', '0']) {
    await patchGroup(epg, { spec: { minLoad } });
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  await until(
    'nothing bills and no worker is left',
    async () => bench.billing().length === 0 && (await epg.workers()).length === 0,
  );
  clearInterval(watch);
  expect(most).toBeLessThanOrEqual(12);
  const settled = rents(bench).length;
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(rents(bench)).toHaveLength(settled);
  expect(bench.billing()).toEqual([]);
});
