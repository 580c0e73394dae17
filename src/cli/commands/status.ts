import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import {
  endpointGroupResource,
  gpuInstanceResource,
  labels,
  spendBudgetResource,
} from '../../api/v1alpha1/names.ts';
import type { SpendBudget } from '../../api/v1alpha1/spend-budget.ts';
import type { MicroDollars } from '../../lib/money.ts';
import { accountReport } from '../../views/account-report.ts';
import { budgetReport } from '../../views/budget-report.ts';
import { groupReport } from '../../views/group-report.ts';
import { instanceReport } from '../../views/instance-report.ts';
import { formatReport, reportJson, type StatusReport } from '../../views/report.ts';
import type { Command } from '../command.ts';
import { countedInstances } from '../limits.ts';
import { eventsOf, getObject } from '../objects/cluster-objects.ts';
import { readIdentity } from '../objects/identity-secret.ts';
import { parseObject } from '../objects/object-name.ts';
import { createOutput, createPaint, tableWidth } from '../output/output.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';

/** Shows the state of one object: machine, cost, timeline, next step. */
export const statusCommand: Command = {
  examples: [
    'gpu-rent status gpui/trainer',
    'gpu-rent status epg/chat -n serving',
    'gpu-rent status gpuacct/default -o json',
    'gpu-rent status gpubudget/team',
  ],
  args: [{ name: '<object>', description: 'gpui/name, epg/name, gpuacct/name or gpubudget/name.' }],
  optionSets: ['report', 'cluster'],
  async run(input, context) {
    const { resource, name } = parseObject(input.args[0] ?? '');
    const now = Date.now();
    const report = await withCluster(input, context, (cluster) => reportOf(cluster, { resource, name, now }));
    const text = formatReport(report, {
      now,
      paint: createPaint(input.options, context),
      width: tableWidth(context),
    });
    await createOutput(input, context).value(reportJson(report), text);
    return 0;
  },
};

interface Target {
  readonly resource: ReturnType<typeof parseObject>['resource'];
  readonly name: string;
  readonly now: number;
}

async function reportOf(cluster: ClusterSession, { resource, name, now }: Target): Promise<StatusReport> {
  if (resource === gpuInstanceResource) {
    const object = await getObject<GpuInstance>(cluster, resource, name);
    return instanceReport(object, await eventsOf(cluster, object), now);
  }
  if (resource === endpointGroupResource) {
    const group = await getObject<EndpointGroup>(cluster, resource, name);
    const labelSelector = `${labels.endpointGroup}=${name}`;
    const [{ items: workers }, events] = await Promise.all([
      cluster.kube.list<GpuInstance>(gpuInstanceResource, { namespace: cluster.namespace, labelSelector }),
      eventsOf(cluster, group),
    ]);
    return groupReport(group, { workers, events }, now);
  }
  if (resource === spendBudgetResource) {
    const budget = await getObject<SpendBudget>(cluster, resource, name);
    return budgetReport(budget, await eventsOf(cluster, budget), now);
  }
  const account = await getObject<MarketplaceAccount>(cluster, resource, name);
  const [events, spentThisMonth] = await Promise.all([
    eventsOf(cluster, account),
    spendingOf(cluster, account),
  ]);
  return accountReport(account, { events, spentThisMonth }, now);
}

/** Returns the spending that the account's monthly limit applies to; undefined if a part of it cannot be read. */
async function spendingOf(
  cluster: ClusterSession,
  account: MarketplaceAccount,
): Promise<MicroDollars | undefined> {
  const [{ instances: objects, isWhole }, reading, { accountGate }] = await Promise.all([
    countedInstances(cluster, account),
    readIdentity(cluster),
    import('../limits.ts'),
  ]);
  const identity = reading.type === 'identity' ? reading.identity : undefined;
  return isWhole
    ? accountGate({ account, objects, identity, credit: undefined }).sums().spentThisMonth
    : undefined;
}
