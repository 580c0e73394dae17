import type { MicroDollars } from '../lib/money.ts';
import type { MarketplaceId } from './ids.ts';

/**
 * State of a machine, the same for every market. Decisions read it; the market's own word is for people.
 *
 * - `pending` rented, and nothing is loaded yet; `loading` its host loads the image or starts the container; `running`.
 * - `stopped` on request, or frozen by its market: its disk bills, its GPU does not.
 * - `exited` its container ended; `broken` it runs without its GPU, and counts as exited.
 * - `unseen` the market cannot reach its host; `offline` the market reports that its host is off.
 * - `ended` it leaves the market. `unrecognized` a word that the adapter does not know.
 */
export type MachineState =
  | 'pending'
  | 'loading'
  | 'running'
  | 'stopped'
  | 'exited'
  | 'unseen'
  | 'offline'
  | 'broken'
  | 'ended'
  | 'unrecognized';

/** A machine in one reply of a market. A missing value is undefined, never 0. */
export interface MachineRow {
  readonly id: MarketplaceId;
  /** null: the machine has no label. undefined: the market does not echo labels. */
  readonly label: string | null | undefined;
  readonly state: MachineState;
  /** The market's own name of the state; null if it reports none. For people, never for a decision. */
  readonly marketStatus: string | null;
  /** Power that was requested from the market; `other` is neither. */
  readonly intendedPower: 'running' | 'stopped' | 'other' | undefined;
  /** Power in the market's records, also while the host is unreachable. */
  readonly power?: 'running' | 'stopped' | undefined;
  readonly machineId: MarketplaceId | undefined;
  readonly hostId: MarketplaceId | undefined;
  /** Epoch milliseconds of the start of billing. */
  readonly startedAt: number | undefined;
  /** Epoch milliseconds of the end of the rental contract, unless the host extends it. */
  readonly endsAt?: number | undefined;
  /** Total price while running, including the disk. */
  readonly pricePerHour: MicroDollars | undefined;
  /** Price of the disk, billed while the machine is stopped. */
  readonly storagePricePerHour: MicroDollars | undefined;
  readonly sshHost: string | undefined;
  readonly sshPort: number | undefined;
  readonly publicAddress: string | undefined;
  /** Host port by container port, e.g. `8080/tcp` → 20001. Empty until running. */
  readonly ports: Readonly<Record<string, number>>;
  readonly gpuName: string | undefined;
  readonly gpuCount: number | undefined;
  readonly gpuMemoryMB: number | undefined;
  /** Utilization of the GPUs, 0 to 1, at the time of the reply. */
  readonly gpuUtilization: number | undefined;
  readonly diskGB: number | undefined;
  readonly image: string | undefined;
  readonly interruptible: boolean | undefined;
  readonly region: string | undefined;
  /** Free text of the host. For people and logs; never parsed, never copied into a condition. */
  readonly statusMessage: string | undefined;
}

/** A complete list: all machines of the login at one time. */
export interface MachineList {
  readonly machines: readonly MachineRow[];
}
