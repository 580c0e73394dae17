import { describe, expect, test } from 'vitest';
import { createGroup, groupBench } from './endpoint-group-bench.ts';
import { useBenches } from './gpu-instance-bench.ts';

useBenches();

describe('a load that rises', () => {
  test('workers are rented, published and asked with their token', async () => {
    const group = await groupBench();
    await createGroup(group, { minLoad: '150' });
    const ready = await group.reached('two workers are ready', ({ status }) => status?.ready === 2);
    expect(ready.status).toMatchObject({ hot: 2, cold: 0, total: 2, replicas: 2 });
    const slices = await group.slices();
    expect(slices).toHaveLength(2);
    group.close();
  });
});
