import type { Clock } from '../lib/clock.ts';
import { showAccounts } from '../server/account-metrics.ts';
import { watchConditions } from '../server/condition-metrics.ts';
import { showGroups } from '../server/group-metrics.ts';
import { watchInstances } from '../server/instance-metrics.ts';
import type { MetricRegistry } from '../server/metric-registry.ts';
import { accountFigures } from './account-figures.ts';
import type { Operator } from './operator.ts';

/** Connects the families that are read from caches and sessions. Call it once, before the caches start. */
export function exposeOperator(registry: MetricRegistry, operator: Operator, clock: Clock): void {
  const { accounts, instances, groups } = operator.caches;
  watchConditions(registry, 'marketplaceaccount', { source: accounts, clock });
  watchConditions(registry, 'gpuinstance', { source: instances, clock });
  watchConditions(registry, 'endpointgroup', { source: groups, clock });
  watchInstances(registry, { source: instances, clock });
  showGroups(registry, groups);
  showAccounts(registry, () =>
    operator.registry.proven().map((session) => accountFigures(session, clock.now())),
  );
}
