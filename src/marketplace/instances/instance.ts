import type { MicroDollars } from '../../lib/money.ts';
import type { KnownStatus } from '../wire/instance-status.ts';

/** What the machine does, as the service says it. `unrecognized`: a word we do not know, kept beside it. */
export type ActualStatus = KnownStatus | 'unrecognized' | null;

/** A rented machine, in our names and units. Anything the service did not say is undefined, never 0. */
export interface Instance {
  readonly id: number;
  /** null: it carries none. undefined: the service does not echo labels. */
  readonly label: string | null | undefined;
  readonly actualStatus: ActualStatus;
  /** The service's own word, also where it is not recognized. */
  readonly actualStatusWord: string | null;
  /** What the service wants it to do: `running`, `stopped`, `frozen`, or a word of its own. */
  readonly intendedStatus: string | undefined;
  readonly machineId: number | undefined;
  readonly hostId: number | undefined;
  /** Epoch milliseconds at which billing began. */
  readonly startedAt: number | undefined;
  /** Total while running, disk included. */
  readonly pricePerHour: MicroDollars | undefined;
  /** The disk's part, which goes on while stopped. */
  readonly storagePricePerHour: MicroDollars | undefined;
  /** Where to reach SSH: the direct address where one is mapped, otherwise the service's proxy. */
  readonly sshHost: string | undefined;
  readonly sshPort: number | undefined;
  readonly publicAddress: string | undefined;
  /** Host port by container port, e.g. `8080/tcp` → 20001. Empty until running. */
  readonly ports: Readonly<Record<string, number>>;
  readonly gpuName: string | undefined;
  readonly gpuCount: number | undefined;
  readonly gpuMemoryMB: number | undefined;
  readonly diskGB: number | undefined;
  readonly image: string | undefined;
  readonly interruptible: boolean | undefined;
  readonly region: string | undefined;
  /** Free text of the host. For people and logs; never parsed, never copied into a condition. */
  readonly statusMessage: string | undefined;
}

/** A complete list: every machine of the login at one moment. */
export interface InstanceList {
  readonly instances: readonly Instance[];
}
