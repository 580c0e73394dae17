import type { MicroDollars } from '../../lib/money.ts';

/*
 * Rows of an account that are neither money nor machines. All times are milliseconds of simulated time.
 */

/** A public key that the account's machines let in. */
export interface SshKey {
  readonly id: number;
  readonly userId: number;
  readonly key: string;
  readonly createdAt: number;
  readonly deletedAt: number | null;
}

/** An environment variable of the account, given to every container and shown masked. */
export interface Variable {
  readonly id: number;
  readonly userId: number;
  readonly name: string;
  readonly value: string;
  readonly updatedAt: number;
}

/** Disk on one machine, or reached over the network. */
export type VolumeKind = 'local' | 'network';

/**
 * A host's disk volume ask listing (specification 2.1, 3.2). It is active while a volume rented from it
 * exists; unlisting removes the row.
 */
export interface VolumeListing {
  readonly id: number;
  /** The user who listed it. */
  readonly userId: number;
  readonly kind: VolumeKind;
  /** Null for network disks. */
  readonly machineId: number | null;
  readonly sizeGB: number;
  readonly dollarsPerGBMonth: number;
  readonly endsAt: number | null;
  /** Makes unlisting fail with `Unable to delete volume listing.`: something only a world can say. */
  readonly undeletable: boolean;
  readonly createdAt: number;
}

/** A rented volume. */
export interface Volume {
  readonly id: number;
  readonly userId: number;
  readonly listingId: number;
  readonly kind: VolumeKind;
  readonly machineId: number | null;
  readonly sizeGB: number;
  readonly name: string;
  /** Agreed when it was rented; 0 bills nothing. */
  readonly pricePerHour: MicroDollars;
  readonly createdAt: number;
}

/** What is left of a volume that was deleted. */
export interface EndedVolume {
  readonly id: number;
  readonly userId: number;
  readonly name: string;
  readonly createdAt: number;
  readonly endedAt: number;
  readonly dollarsMicros: MicroDollars;
}

/** A volume as the instance sees it that has it mounted. */
export interface MountedVolume {
  readonly id: number;
  readonly mountPath: string | null;
  readonly sizeGB: number;
}
