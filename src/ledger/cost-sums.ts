import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { monthName } from '../instance/cost.ts';
import type { MicroDollars } from '../lib/money.ts';
import { wholeSeconds } from './compact.ts';
import type { CostTags, Counted, Entry, Sum } from './entry.ts';
import { countedMachines, type Ledger, type MonthEntry } from './ledger.ts';
import { openEntries } from './machine-cost.ts';
import { monthEndOf, monthStartOf } from './months.ts';

const DAY_MS = 86_400_000;

/** Cost of a period: an entry, a sum, or the cost so far of a running machine. */
export interface Charge extends CostTags {
  /** Epoch milliseconds. */
  readonly start: number;
  readonly end: number;
  readonly cost: MicroDollars;
  readonly gpuSeconds: number;
  /** Number of machines. */
  readonly machines: number;
  /** The machine, if the charge is not a sum. */
  readonly entry?: Entry;
  /** True if the ledger does not have it yet, so it may still grow or be corrected. */
  readonly isOpen: boolean;
}

/** Inputs of sums over finished and running machines. */
export interface CostSource {
  readonly ledger: Ledger;
  readonly instances: readonly GpuInstance[];
  /** Newest record of each machine; derived from `ledger` if it is left out. */
  readonly counted?: ReadonlyMap<string, Counted> | undefined;
  /** Names of labels that charges of running machines keep. */
  readonly labels?: readonly string[] | undefined;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** A {@link CostSource} of one namespace, or of all if `namespace` is undefined. */
export interface ScopedSource extends CostSource {
  readonly namespace: string | undefined;
}

/** Returns the charges from `from` (epoch milliseconds) until now; one that began earlier counts in part, by time. */
export function chargesSince(source: ScopedSource, from: number): readonly Charge[] {
  return scopedCharges(source, from, source.now).map((charge) => within(charge, from, source.now));
}

/**
 * Returns the charges of a UTC month, such as `2026-11`, each as a whole. Charges of running machines have the labels
 * that the ledger keeps for others.
 */
export function chargesOfMonth(source: ScopedSource, month: string): readonly Charge[] {
  const from = monthStartOf(month);
  const labels = source.labels ?? keptLabels(source.ledger);
  return scopedCharges({ ...source, labels }, from, monthEndOf(month));
}

/** Label that the operator keeps by default. */
const DEFAULT_LABEL = 'team';

/** Returns the labels in the ledger: the flags of the operator are not known here. */
function keptLabels(ledger: Ledger): readonly string[] {
  const kept = [...ledger.values()].flatMap(({ entries, sums }) => [...entries, ...sums]);
  return [...new Set([DEFAULT_LABEL, ...kept.flatMap(({ labels }) => Object.keys(labels))])];
}

function scopedCharges(source: ScopedSource, from: number, until: number): readonly Charge[] {
  const isMeant = ({ namespace }: Charge) => source.namespace === undefined || namespace === source.namespace;
  return chargesOf(source, from, until).filter(isMeant);
}

/** Returns all charges that overlap a span of time, each as a whole. */
function chargesOf(source: CostSource, from: number, until: number): readonly Charge[] {
  const finished = [...source.ledger.values()].flatMap(({ entries, sums }) => [
    ...entries.map((entry) => chargeOfEntry(entry, false)),
    ...sums.map(chargeOfSum),
  ]);
  const open = openMonths(source).map(({ entry }) => chargeOfEntry(entry, true));
  // A machine that ran to the begin of the span has its last moment before it.
  return [...finished, ...open].filter(({ start, end }) => start < until && Math.max(start, end - 1) >= from);
}

/** Returns the entries that the ledger does not have yet: running machines, and machines that ended a moment ago. */
function openMonths({
  ledger,
  instances,
  counted = countedMachines(ledger),
  labels = [],
  now,
}: CostSource): readonly MonthEntry[] {
  return instances.flatMap((instance) => openEntries(instance, { counted, labels }, now));
}

function chargeOfEntry(entry: Entry, isOpen: boolean): Charge {
  const { account, namespace, group, gpu, labels, start, end, cost, gpus } = entry;
  const gpuSeconds = wholeSeconds(start, end) * gpus;
  return {
    ...{ account, namespace, group, gpu, labels, start, end, cost, gpuSeconds },
    ...{ machines: 1, entry, isOpen },
  };
}

function chargeOfSum({ period, ...sum }: Sum): Charge {
  const isMonth = period.length === 7;
  const start = isMonth ? monthStartOf(period) : Date.parse(`${period}T00:00:00Z`);
  return { ...sum, start, end: isMonth ? monthEndOf(period) : start + DAY_MS, isOpen: false };
}

/** Returns the part of a charge within a span of time, divided by time. */
function within(charge: Charge, from: number, until: number): Charge {
  const { start, end, cost, gpuSeconds } = charge;
  if (start >= from && end <= until) return charge;
  const share = (amount: number) => {
    const at = (time: number) =>
      Math.round((amount * Math.min(Math.max(time - start, 0), end - start)) / Math.max(1, end - start));
    return at(until) - at(from);
  };
  return {
    ...charge,
    start: Math.max(start, from),
    end: Math.min(end, until),
    cost: share(cost),
    gpuSeconds: share(gpuSeconds),
  };
}

/**
 * Returns the cost of each namespace in the UTC month of `source.now`, in micro-dollars: finished machines by the ledger,
 * and running machines until now. A namespace without a cost is absent. Pure; its work grows with the number of objects.
 */
export function monthCostByNamespace(source: CostSource): ReadonlyMap<string, MicroDollars> {
  const present = monthName(source.now);
  const costs = new Map<string, MicroDollars>();
  const put = (namespace: string, cost: MicroDollars) =>
    costs.set(namespace, (costs.get(namespace) ?? 0) + cost);
  const { entries = [], sums = [] } = source.ledger.get(present) ?? {};
  for (const { namespace, cost } of [...entries, ...sums]) put(namespace, cost);
  for (const { month, entry } of openMonths(source)) if (month === present) put(entry.namespace, entry.cost);
  return costs;
}
