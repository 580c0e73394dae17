import { isUnresolved } from '../accounts/breaker.ts';
import type { AccountSession } from '../accounts/session.ts';
import { accountKey } from '../instance/account-ref.ts';
import { monthCostByNamespace } from '../ledger/cost-sums.ts';
import type { Clock } from '../lib/clock.ts';
import { CLASS_ORDER } from '../market/pacing.ts';
import { type AccountFigures, showAccounts } from '../server/account-metrics.ts';
import { showBudgets } from '../server/budget-metrics.ts';
import { watchConditions } from '../server/condition-metrics.ts';
import { showGroups } from '../server/group-metrics.ts';
import { watchInstances } from '../server/instance-metrics.ts';
import type { MetricRegistry } from '../server/metric-registry.ts';
import { watchOutages } from '../server/outage-metrics.ts';
import { showTeamCosts } from '../server/team-metrics.ts';
import type { Operator } from './operator.ts';

/** Connects the families that are read from caches and sessions. Call it once, before the caches start. */
export function exposeOperator(registry: MetricRegistry, operator: Operator, clock: Clock): void {
  const { accounts, instances, groups, budgets } = operator.caches;
  watchConditions(registry, 'marketplaceaccount', { source: accounts, clock });
  watchConditions(registry, 'gpuinstance', { source: instances, clock });
  watchConditions(registry, 'endpointgroup', { source: groups, clock });
  watchConditions(registry, 'spendbudget', { source: budgets, clock });
  watchOutages(registry, 'marketplaceaccount', { source: accounts, clock });
  watchOutages(registry, 'gpuinstance', { source: instances, clock });
  watchOutages(registry, 'endpointgroup', { source: groups, clock });
  watchInstances(registry, {
    source: instances,
    clock,
    spendingTime: (account) => operator.registry.spendingTime(accountKey(account)),
    utilizationOf: (account, id) =>
      operator.registry.session(account)?.feed.latest()?.rows.get(id)?.gpuUtilization,
  });
  showTeamCosts(registry, () => {
    const view = operator.ledger.view();
    return (
      view &&
      monthCostByNamespace({ ...view, instances: instances.list(), now: operator.registry.spendingTime() })
    );
  });
  showGroups(registry, groups);
  showBudgets(registry, budgets);
  showAccounts(registry, () =>
    operator.registry.proven().map((session) => accountFigures(session, clock.now())),
  );
}

/** Returns the figures of an account for metrics. */
export function accountFigures(session: AccountSession, now: number): AccountFigures {
  const { dollarsPerHour, credit, liveMachines, rentalsLastHour, spentThisMonth } = session.admission.sums();
  const list = session.feed.latest();
  const { orphans, copied, late = [] } = session.findings;
  const mislabelled = [...copied, ...late];
  const priceOf = (ids: readonly string[]) =>
    ids.reduce((sum, id) => sum + (list?.rows.get(id)?.pricePerHour ?? 0), 0);
  const waiting = session.queue.waiting();
  const waits = CLASS_ORDER.map((name) => [name, session.pacer.nextSlotMs(name) / 1000] as const);
  return {
    namespace: session.ref.namespace,
    account: session.ref.name,
    dollarsPerHour,
    credit,
    liveMachines,
    rentalsLastHour,
    spentThisMonth,
    orphans: orphans.length,
    orphanDollarsPerHour: priceOf(orphans),
    mislabelled: mislabelled.length,
    mislabelledDollarsPerHour: priceOf(mislabelled),
    breakerOpen: isUnresolved(session.observer.breaker),
    listAgeSeconds: list && (now - list.endedAt) / 1000,
    queued: waiting.count,
    queueSeconds: waiting.longestMs / 1000,
    waitSeconds: Object.fromEntries(waits),
  };
}
