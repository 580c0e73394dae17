import type { MicroDollars } from '../../lib/money.ts';
import type { Secret } from '../../lib/secret.ts';

/** A port that the container opens. */
export interface ContainerPort {
  readonly port: number;
  readonly protocol: 'tcp' | 'udp';
}

/** A disk that is attached on renting. */
export type VolumeRequest =
  | { readonly type: 'existing'; readonly volumeId: number; readonly mountPath: string }
  | {
      readonly type: 'new';
      readonly volumeOfferId: number;
      readonly mountPath: string;
      readonly sizeGB?: number;
      readonly name?: string;
    };

/** What a rent asks for (specification 4.5 and the fields that services add). Only what is set is sent. */
export interface RentRequest {
  /** Left out only with a template. */
  readonly image?: string;
  readonly diskGB?: number;
  readonly label?: string;
  /** At most 4048 characters; pack longer ones first (`packOnStart`). */
  readonly onStart?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly ports?: readonly ContainerPort[];
  /** Makes the rent interruptible at this bid per machine and hour. */
  readonly bidPerHour?: MicroDollars;
  /** How the machine is reached, e.g. `ssh_direc ssh_proxy`, or `args`. */
  readonly runType?: string;
  readonly args?: readonly string[];
  /** Registry login flags: `-u bob -p pw registry.example`. */
  readonly imageLogin?: Secret;
  readonly templateHashId?: string;
  readonly templateId?: number;
  readonly volume?: VolumeRequest;
  /** true: a machine that cannot start is not made at all, instead of made stopped. */
  readonly cancelUnavailable?: boolean;
  readonly force?: boolean;
  readonly virtualMachine?: boolean;
  readonly containerUser?: string;
  /** Extra container options, as text. */
  readonly extra?: string;
  readonly targetState?: 'running' | 'stopped';
}
