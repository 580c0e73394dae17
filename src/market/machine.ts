import type { MicroDollars } from '../lib/money.ts';
import type { MarketplaceId } from './ids.ts';

/**
 * State of a machine, the same for every market. Decisions read them; the market's own word is for people.
 *
 * - `pending` rented, and nothing is loaded yet; `loading` its host loads the image or starts the container; `running`.
 * - `stopped` on request, or frozen by its market: its disk bills, its GPU does not.
 * - `exited` its container ended; `broken` it runs without what was rented, and is judged as exited.
 * - `unseen` the market does not hear its host; `offline` the market knows that its host is off.
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

/** One machine as one reply of a market shows it. Anything the market did not say is undefined, never 0. */
export interface MachineRow {
  readonly id: MarketplaceId;
  /** null: it carries none. undefined: the market does not echo labels. */
  readonly label: string | null | undefined;
  readonly state: MachineState;
  /** The market's own word for the state; null if it says none. For people, never for a decision. */
  readonly marketStatus: string | null;
  /** Power that the market was asked for; `other` is neither. */
  readonly intendedPower: 'running' | 'stopped' | 'other' | undefined;
  /** Power on the market's books, also while the host is silent. */
  readonly power?: 'running' | 'stopped' | undefined;
  readonly machineId: MarketplaceId | undefined;
  readonly hostId: MarketplaceId | undefined;
  /** Epoch milliseconds at which billing began. */
  readonly startedAt: number | undefined;
  /** Epoch milliseconds at which the rental contract ends, unless the host prolongs it. */
  readonly endsAt?: number | undefined;
  /** Total while running, disk included. */
  readonly pricePerHour: MicroDollars | undefined;
  /** Price of the disk, which is billed while the machine is stopped. */
  readonly storagePricePerHour: MicroDollars | undefined;
  readonly sshHost: string | undefined;
  readonly sshPort: number | undefined;
  readonly publicAddress: string | undefined;
  /** Host port by container port, e.g. `8080/tcp` → 20001. Empty until running. */
  readonly ports: Readonly<Record<string, number>>;
  readonly gpuName: string | undefined;
  readonly gpuCount: number | undefined;
  readonly gpuMemoryMB: number | undefined;
  /** Share of the GPUs' time in use, 0 to 1, at the moment of the reply. */
  readonly gpuUtilization: number | undefined;
  readonly diskGB: number | undefined;
  readonly image: string | undefined;
  readonly interruptible: boolean | undefined;
  readonly region: string | undefined;
  /** Free text of the host. For people and logs; never parsed, never copied into a condition. */
  readonly statusMessage: string | undefined;
}

/** A complete list: every machine of the login at one moment. */
export interface MachineList {
  readonly machines: readonly MachineRow[];
}
