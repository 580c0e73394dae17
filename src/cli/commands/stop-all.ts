import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { labels } from '../../api/v1alpha1/names.ts';
import { isRun } from '../../instance/run.ts';
import { parseDollars } from '../../lib/money.ts';
import { agreeing, counted } from '../../lib/plural.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { hourlyText, inDollars, roundedDollars } from '../../views/amounts.ts';
import { formatTable } from '../../views/table.ts';
import type { CommandContext, CommandInput } from '../command.ts';
import { type Fleet, FleetChanges, listFleet } from '../fleet.ts';
import { type ChangedObject, patchObject } from '../object-change.ts';
import { listAccounts } from '../objects/cluster-objects.ts';
import { stopping } from '../power-change.ts';
import { confirmed } from '../secrets/prompt.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';

/**
 * Stops every machine of a namespace, or of all, and prints what still bills. Disks stay: objects get powerState
 * Stopped, groups are paused before their workers are stopped. Resolves to 1 if the change of an object failed.
 */
export async function stopAll(input: CommandInput, context: CommandContext): Promise<number> {
  return withCluster(input, context, async (cluster) => {
    const before = await listFleet(cluster);
    if (hasWork(before)) await confirmed(question(before, cluster), input, context);
    const changes = new FleetChanges(input, context);
    const means = { cluster, input, context };
    const stop = async (target: ChangedObject<GpuInstance>) => {
      const { patch, did } = stopping(target);
      if (patch) await patchObject(means, target, patch);
      return did;
    };
    const pause = async (target: ChangedObject<EndpointGroup>) => {
      await patchObject(means, target, { spec: { pause: { scaleUp: true, scaleDown: true } } });
      return 'paused';
    };
    const tried = new Set<string>();
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const isNew = ({ object }: ChangedObject<GpuInstance | EndpointGroup>) =>
        !tried.has(object.metadata.uid ?? '');
      const { groups, instances, workers } = await listFleet(cluster);
      const running = groups.filter(isScaling).filter(isNew);
      const machines = [...instances, ...workers].filter(isToStop).filter(isNew);
      if (running.length + machines.length === 0) break;
      for (const { object } of [...running, ...machines]) tried.add(object.metadata.uid ?? '');
      // An unpaused group would start another worker for each stopped one.
      await changes.each(running, pause);
      await changes.each(machines, stop);
    }
    await report(changes, await stillBilling(cluster));
    return changes.exitCode;
  });
}

/**
 * Maximum number of listings. A group may create a worker while it is being paused, so the objects are listed again
 * until none is new.
 */
const MAX_ROUNDS = 4;

const isObserved = ({ object: { spec } }: ChangedObject<GpuInstance>) => spec.adopt?.policy === 'Observe';

const isToStop = (target: ChangedObject<GpuInstance>) =>
  target.object.spec.powerState !== 'Stopped' && !isObserved(target) && !isDone(target);

/** Returns true for a finished run without a machine, which neither bills nor rents. */
function isDone({ object: { spec, status } }: ChangedObject<GpuInstance>): boolean {
  return isRun({ spec }) && status?.instanceId === undefined && DONE.has(status?.phase ?? '');
}

const DONE: ReadonlySet<string> = new Set(['Succeeded', 'Failed']);

/** Returns true if a machine or a group can be stopped. */
function hasWork({ instances, workers, groups }: Fleet): boolean {
  return [...instances, ...workers].some(isToStop) || groups.some(isScaling);
}

function isScaling({ object: { spec } }: ChangedObject<EndpointGroup>): boolean {
  return !(spec.pause.scaleUp && spec.pause.scaleDown);
}

function question({ instances, workers, groups }: Fleet, { scope }: ClusterSession): string {
  const running = [...instances, ...workers].filter(isToStop);
  const objects = running.filter(
    ({ object }) => object.metadata.labels?.[labels.endpointGroup] === undefined,
  );
  const cost = running.reduce((sum, { object }) => sum + (priceOf(object) ?? 0), 0);
  const where = scope === undefined ? 'all namespaces' : `namespace ${scope}`;
  const what = [
    counted(objects.length, 'GpuInstance'),
    counted(running.length - objects.length, 'worker'),
    `pause ${counted(groups.filter(isScaling).length, 'EndpointGroup')}`,
  ].join(', ');
  return `Stop ${what} in ${where} (${hourlyText(cost)}/h now)? Disks stay and bill; GPUs may be rented by others.`;
}

/** A machine that bills after the stop. */
interface Bill {
  readonly namespace: string;
  readonly object: string;
  readonly machine: string;
  /** Dollars; undefined if the marketplace has not reported the price. */
  readonly perHour: number | undefined;
  readonly why: string;
}

async function stillBilling(cluster: ClusterSession): Promise<readonly Bill[]> {
  const { instances, workers, deleting } = await listFleet(cluster);
  const bills = [
    ...[...instances, ...workers].flatMap((target) => billOf(target)),
    ...deleting.flatMap((target) => billOf(target, 'is being deleted')),
    ...(await accountsOf(cluster)).flatMap(retainedBills),
  ];
  return bills.sort((a, b) => (b.perHour ?? 0) - (a.perHour ?? 0) || a.object.localeCompare(b.object));
}

function billOf(target: ChangedObject<GpuInstance>, instead?: string): readonly Bill[] {
  const { object, shown } = target;
  const { instanceId, cost } = object.status ?? {};
  if (instanceId === undefined) return [];
  const { namespace = '' } = object.metadata;
  const isStopped = !isToStop(target) && !isObserved(target) && instead === undefined;
  const perHour = isStopped ? inDollars(parseDollars(cost?.storagePricePerHour)) : priceOf(object);
  const why = instead ?? (isObserved(target) ? 'only observed' : isStopped ? 'disk' : 'not stopped');
  return [{ namespace, object: shown, machine: instanceId, perHour, why }];
}

/** Returns the hourly price in dollars. */
function priceOf({ status }: GpuInstance): number | undefined {
  return status?.instanceId === undefined ? undefined : inDollars(parseDollars(status.cost?.pricePerHour));
}

/** Returns the accounts; none if the caller may not list them. */
async function accountsOf(cluster: ClusterSession): Promise<readonly MarketplaceAccount[]> {
  try {
    return await listAccounts(cluster, cluster.scope);
  } catch (error) {
    if (isKubeError(error, 'forbidden')) return [];
    throw error;
  }
}

function retainedBills({ metadata, status }: MarketplaceAccount): readonly Bill[] {
  const common = { namespace: metadata.namespace ?? '', object: `gpuacct/${metadata.name}` };
  const retained = (status?.retained ?? []).map(({ instanceId, owner, pricePerHour }) => ({
    ...common,
    ...{ machine: instanceId, perHour: inDollars(parseDollars(pricePerHour)), why: `retained from ${owner}` },
  }));
  const orphaned = status?.machines?.orphaned ?? 0;
  const orphans = { ...common, machine: '', perHour: undefined };
  return orphaned === 0
    ? retained
    : [...retained, { ...orphans, why: `${counted(orphaned, 'orphan')}: gpu-rent orphans` }];
}

async function report(changes: FleetChanges, bills: readonly Bill[]): Promise<void> {
  const perHour = roundedDollars(bills.reduce((sum, bill) => sum + (bill.perHour ?? 0), 0));
  const { done, refused } = changes.outcome;
  const value = { changed: done, refused, stillBilling: bills, dollarsPerHour: perHour };
  if (changes.output.format === 'name') return;
  await changes.output.value(value, reportText(changes, bills, perHour));
}

function reportText({ outcome }: FleetChanges, bills: readonly Bill[], perHour: number): string {
  const stopped = outcome.done.length === 0 ? 'Everything is already stopped.\n' : '';
  if (bills.length === 0) return `${stopped}No machine bills.\n`;
  const unknown = bills.filter((bill) => bill.perHour === undefined).length;
  const rest = unknown === 0 ? '' : `, and ${counted(unknown, 'entry', 'entries')} whose price is unknown`;
  const table = formatTable(COLUMNS, bills, { wide: false, headers: true });
  return [
    `${stopped}${table}`,
    `${counted(bills.length, 'entry', 'entries')} still ${agreeing(bills.length, 'bills', 'bill')}: ${hourlyText(perHour)}/h${rest}.`,
    'Deleting an object ends its disk: kubectl delete gpui NAME. New objects can rent until the account is suspended: gpu-rent suspend account NAME.',
  ].join('\n');
}

const COLUMNS = [
  { header: 'Namespace', text: ({ namespace }: Bill) => namespace },
  { header: 'Still bills', text: ({ object }: Bill) => object },
  { header: 'Machine', text: ({ machine }: Bill) => machine },
  { header: '$/h', text: (bill: Bill) => (bill.perHour === undefined ? '?' : hourlyText(bill.perHour)) },
  { header: 'Why', text: ({ why }: Bill) => why },
];
