import { expect, test } from 'vitest';
import type { MicroDollars } from '../lib/money.ts';
import { createMetricRegistry } from './metric-registry.ts';
import { showTeamCosts } from './team-metrics.ts';

test('shows a series for each namespace with a cost, and none while costs are not known', async () => {
  const registry = createMetricRegistry();
  let costs: ReadonlyMap<string, MicroDollars> | undefined;
  showTeamCosts(registry, () => costs);
  const series = async () =>
    (await registry.expose())
      .split('\n')
      .filter((line) => line.startsWith('gpu_rental_namespace_month_dollars{'));
  expect(await series()).toEqual([]);
  costs = new Map([['team-a', 11_120_000]]);
  expect(await series()).toEqual(['gpu_rental_namespace_month_dollars{namespace="team-a"} 11.12']);
  costs = new Map();
  expect(await series()).toEqual([]);
});
