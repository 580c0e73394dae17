import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { type AccountRef, accountRefOf } from '../instance/account-ref.ts';
import { provisionalCost, provisionalThisMonth, totalCost } from '../instance/cost.ts';
import type { Clock } from '../lib/clock.ts';
import type { MicroDollars } from '../lib/money.ts';
import { storedForm } from '../lib/stored-form.ts';
import { parseTime } from '../lib/time.ts';
import { uidOf } from '../runtime/kube/kube-object.ts';
import type { Change } from '../runtime/list-watch/object-store.ts';
import { type InstanceFigures, instanceFigures } from '../views/instance-figures.ts';
import type { MetricRegistry } from './metric-registry.ts';

/** The part of an informer that metrics use. */
export interface InstanceSource {
  list(): readonly GpuInstance[];
  onChange(listener: (change: Change<GpuInstance>) => void): unknown;
}

/** Buckets in minutes, from a cached image to a slow pull. */
const BOOT_BUCKETS = [5, 10, 20, 30, 45, 60, 90, 120, 180, 300, 600, 1200, 3600];
const MICRO = 1_000_000;

/** Sources of the metrics of instances. */
export interface InstanceMetricsOptions {
  readonly source: InstanceSource;
  readonly clock: Clock;
  /** Returns the time (epoch milliseconds) until which the machines of an account have cost something. */
  readonly spendingTime: (account: AccountRef) => number;
  /** Returns the GPU utilization of a machine in the latest list, 0 to 1; undefined if the list has none. */
  readonly utilizationOf: (account: AccountRef, instanceId: string) => number | undefined;
}

/**
 * Exposes figures from the cached objects: machines by state, prices, utilization, spending, boots and replacements.
 */
export function watchInstances(registry: MetricRegistry, options: InstanceMetricsOptions): void {
  showMachines(registry, options);
  countChanges(registry, options.source);
  countSpending(registry, options);
}

function showMachines(
  registry: MetricRegistry,
  { source, clock, spendingTime, utilizationOf }: InstanceMetricsOptions,
): void {
  const machines = registry.gauge({
    name: 'gpu_rental_machines',
    help: "Machines of objects, by the marketplace's word for their state.",
    labelNames: ['namespace', 'account', 'state'],
  });
  const info = registry.gauge({
    name: 'gpu_rental_instance_info',
    help: '1 for each GpuInstance; its labels describe the object.',
    labelNames: ['namespace', 'name', 'account', 'phase', 'gpu', 'count'],
  });
  const price = registry.gauge({
    name: 'gpu_rental_instance_dollars_per_hour',
    help: 'Hourly cost of the machine of a GpuInstance.',
    labelNames: ['namespace', 'name'],
  });
  const provisional = registry.gauge({
    name: 'gpu_rental_instance_provisional_dollars',
    help: 'Amount that an unconfirmed price would add to the cost of a GpuInstance; negative if it is lower. Only new rentals count it.',
    labelNames: ['namespace', 'name'],
  });
  const provisionalMonth = registry.gauge({
    name: 'gpu_rental_provisional_month_dollars',
    help: 'Amount that unconfirmed prices would add to the spending of an account in the current UTC month. Only new rentals count it.',
    labelNames: ['namespace', 'account'],
  });
  const utilization = registry.gauge({
    name: 'gpu_rental_instance_gpu_utilization_ratio',
    help: 'GPU utilization of a running machine in the latest list, 0 to 1.',
    labelNames: ['namespace', 'name'],
  });
  const leaseAge = registry.gauge({
    name: 'gpu_rental_lease_age_seconds',
    help: 'Time since the lease of a machine was last renewed; the machine ends itself when it is as long as the lease.',
    labelNames: ['namespace', 'name'],
  });
  const unproven = registry.gauge({
    name: 'gpu_rental_self_end_unproven',
    help: '1 for a GpuInstance whose machine has a fuse but has not proved that it can end itself.',
    labelNames: ['namespace', 'name'],
  });
  const families = [machines, info, price, provisional, provisionalMonth, utilization, leaseAge, unproven];
  registry.beforeExposition(() => {
    for (const family of families) family.reset();
    const now = clock.now();
    for (const instance of source.list()) {
      const { status } = instance;
      const account = accountRefOf(instance);
      const figures = instanceFigures(instance, (machine) => utilizationOf(account, machine), now);
      info.set(infoLabels(instance, figures), 1);
      if (status?.instanceId === undefined) continue;
      machines.inc({ ...accountOf(instance), state: status.actualStatus ?? 'provisioning' });
      price.set(nameOf(instance), figures.pricePerHour ?? 0);
      if (status.cost?.reported) {
        const until = spendingTime(account);
        provisional.set(nameOf(instance), provisionalCost(status.cost, until) / MICRO);
        provisionalMonth.inc(accountOf(instance), provisionalThisMonth(instance, until) / MICRO);
      }
      const renewedAt = parseTime(status.lease?.renewedAt);
      if (renewedAt !== undefined) leaseAge.set(nameOf(instance), Math.max(0, now - renewedAt) / 1_000);
      if (isUnproven(status)) unproven.set(nameOf(instance), 1);
      if (figures.gpuUtilization !== undefined) utilization.set(nameOf(instance), figures.gpuUtilization);
    }
  });
}

/** Returns true if the operator has settled that the machine did not prove itself. */
function isUnproven({ selfEnd }: NonNullable<GpuInstance['status']>): boolean {
  return selfEnd?.proof === 'Unproven' && selfEnd.checkedAt !== undefined;
}

function infoLabels(instance: GpuInstance, { phase = 'Pending', gpu }: InstanceFigures) {
  const { account } = accountOf(instance);
  return { ...nameOf(instance), account, phase, gpu: gpu?.name ?? '', count: String(gpu?.count ?? '') };
}

function countChanges(registry: MetricRegistry, source: InstanceSource): void {
  const labelNames = ['namespace', 'account'] as const;
  const boots = registry.histogram(
    {
      name: 'gpu_rental_boot_seconds',
      help: 'Time from the start date of a machine until it was first seen running.',
      labelNames,
    },
    BOOT_BUCKETS,
  );
  const replacements = registry.counter({
    name: 'gpu_rental_replacements_total',
    help: 'Machines that ended while their object was not being deleted, by reason.',
    labelNames: [...labelNames, 'reason'],
  });
  const unreadable = registry.counter({
    name: 'gpu_rental_unreadable_records_total',
    help: 'Unreadable values of status.record of GpuInstances, after which the machine was found by its label.',
    labelNames: ['namespace'],
  });
  source.onChange((change) => {
    if (change.type !== 'deleted' && storedForm(change.object.status)?.problem?.type === 'unreadable')
      unreadable.inc({ namespace: nameOf(change.object).namespace });
    if (change.type !== 'updated') return;
    const labels = accountOf(change.object);
    const seconds = bootSeconds(change.previous, change.object);
    if (seconds !== undefined) boots.observe(labels, seconds);
    for (const reason of endedReasons(change.previous, change.object))
      replacements.inc({ ...labels, reason });
  });
}

/** Returns the boot time of a machine in seconds if this change is the first to show it running. */
export function bootSeconds(before: GpuInstance, now: GpuInstance): number | undefined {
  const { runningAt, rentedAt } = now.status ?? {};
  if (runningAt === undefined || rentedAt === undefined || runningAt === before.status?.runningAt)
    return undefined;
  return Math.max(0, (Date.parse(runningAt) - Date.parse(rentedAt)) / 1000);
}

/**
 * Returns the reasons of the machines that this change adds to the history, unless the object itself is being deleted.
 */
export function endedReasons(before: GpuInstance, now: GpuInstance): readonly string[] {
  if (now.metadata.deletionTimestamp !== undefined) return [];
  const known = new Set(before.status?.history?.map(({ instanceId }) => instanceId));
  const history = now.status?.history ?? [];
  return history.filter(({ instanceId }) => !known.has(instanceId)).map(({ reason }) => reason);
}

/**
 * Registers a counter that increases while machines bill, also between status writes. It begins with the amounts that
 * objects had at start.
 */
function countSpending(
  registry: MetricRegistry,
  { source, spendingTime }: Pick<InstanceMetricsOptions, 'source' | 'spendingTime'>,
): void {
  const spent = registry.counter({
    name: 'gpu_rental_dollars_spent_total',
    help: 'Cost of machines in dollars since this process started.',
    labelNames: ['namespace', 'account'],
  });
  const counted = new Map<string, MicroDollars>();
  const count = (instance: GpuInstance) => {
    const uid = uidOf(instance);
    const total = totalCost(instance.status?.cost, spendingTime(accountRefOf(instance)));
    const before = counted.get(uid) ?? total;
    counted.set(uid, Math.max(before, total));
    if (total > before) spent.inc(accountOf(instance), (total - before) / MICRO);
  };
  source.onChange((change) => {
    count(change.object);
    if (change.type === 'deleted') counted.delete(uidOf(change.object));
  });
  registry.beforeExposition(() => {
    for (const instance of source.list()) count(instance);
  });
}

function nameOf({ metadata }: GpuInstance): { namespace: string; name: string } {
  return { namespace: metadata.namespace ?? '', name: metadata.name };
}

function accountOf(instance: GpuInstance): { namespace: string; account: string } {
  const { namespace, name } = accountRefOf(instance);
  return { namespace, account: name };
}
