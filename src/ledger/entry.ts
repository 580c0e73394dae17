import { canonicalJson } from '../lib/json.ts';
import type { MicroDollars } from '../lib/money.ts';

/** Properties of a machine by which costs are grouped. */
export interface CostTags {
  /** namespace/name of the MarketplaceAccount. */
  readonly account: string;
  readonly namespace: string;
  /** Name of the EndpointGroup; empty without one. */
  readonly group: string;
  /** GPU model; empty if the marketplace named none. */
  readonly gpu: string;
  /** Labels of the object that the operator is configured to keep. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Cost of one machine in one UTC month. A machine that spans two months has two entries. */
export interface Entry extends CostTags {
  /** Uid of the GpuInstance. */
  readonly uid: string;
  /** Id of the machine at the marketplace. */
  readonly machine: string;
  /** Name of the GpuInstance. */
  readonly name: string;
  readonly gpus: number;
  /** Epoch milliseconds, within the month. */
  readonly start: number;
  readonly end: number;
  readonly cost: MicroDollars;
  /** Cost of the machine from its begin to `end`, all months together. */
  readonly total: MicroDollars;
  /** Last hourly price; undefined if it was not known. */
  readonly price: MicroDollars | undefined;
  /** Reason of the end of the machine, from the catalogue; undefined if the machine ran into the next month. */
  readonly reason: string | undefined;
  /** True if the price was never confirmed by lists of the marketplace. */
  readonly isEstimated: boolean;
}

/** Sum over entries with the same tags, for one day or one month. */
export interface Sum extends CostTags {
  /** UTC day `2026-11-20` or month `2026-11`. */
  readonly period: string;
  readonly cost: MicroDollars;
  /** Billed time, times the number of GPUs. */
  readonly gpuSeconds: number;
  /** Number of machines that ended, or were split at the end of the month. */
  readonly machines: number;
}

/** Returns the key of a sum: sums of one period have different keys. */
export function tagsKey({ period, account, namespace, group, gpu, labels }: Sum): string {
  return canonicalJson([period, account, namespace, group, gpu, labels]);
}

/** Record of a machine in one month. */
export interface Counted {
  readonly month: string;
  /** Cost of the machine until the end of the record, all months together. */
  readonly total: MicroDollars;
  /** Cost in `month`; undefined if it is a part of a sum. */
  readonly cost: MicroDollars | undefined;
  /** True if the machine has ended: then nothing more is added for it. */
  readonly hasEnded: boolean;
}

/** Returns the key of a machine; each key counts once. */
export function machineKey({ uid, machine }: Pick<Entry, 'uid' | 'machine'>): string {
  return `${uid}/${machine}`;
}
