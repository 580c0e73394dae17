import type { MicroDollars } from '../lib/money.ts';

/** Disk that a host offers (specification 2.1). */
export interface VolumeOffer {
  readonly id: number;
  readonly machineId: number | undefined;
  readonly hostId: number | undefined;
  readonly sizeGB: number | undefined;
  readonly bandwidthMBps: number | undefined;
  readonly diskName: string | undefined;
  readonly pricePerGBMonth: MicroDollars | undefined;
  readonly reliability: number | undefined;
  readonly remainingSeconds: number | undefined;
  readonly verified: boolean | undefined;
  readonly region: string | undefined;
}

/** A volume that the account rents. */
export interface Volume {
  readonly id: number;
  readonly label: string | undefined;
  readonly status: string | undefined;
  readonly sizeGB: number | undefined;
  readonly diskName: string | undefined;
  readonly machineId: number | undefined;
  /** Epoch milliseconds. */
  readonly startedAt: number | undefined;
}
