import type { CompleteList } from '../../market/feed-state.ts';
import type { MachineRow } from '../../market/machine.ts';

/** Fields of a machine that no single reply changes. `address`: host, ports and their mapping together. */
export const WATCHED_FIELDS = [
  'label',
  'state',
  'intendedPower',
  'power',
  'startedAt',
  'endsAt',
  'pricePerHour',
  'storagePricePerHour',
  'gpuName',
  'gpuCount',
  'gpuMemoryMB',
  'diskGB',
  'machineId',
  'hostId',
  'region',
  'interruptible',
  'address',
] as const;
export type WatchedField = (typeof WATCHED_FIELDS)[number];

/** A machine as the latest complete list shows it, and since which list it shows each value without a break. */
interface Sighting {
  readonly row: MachineRow;
  /** Monotonic milliseconds at which the first of those lists was begun. */
  readonly since: Readonly<Record<WatchedField, number>>;
}

/** Agreement of the complete lists of one login. */
export interface Sightings {
  /** Monotonic milliseconds at which the latest list was begun. */
  readonly begunAt: number;
  readonly machines: ReadonlyMap<string, Sighting>;
}

/** Sightings before the first complete list. */
export const NO_SIGHTINGS: Sightings = { begunAt: Number.NEGATIVE_INFINITY, machines: new Map() };

/** Agreement of one row with the complete lists. */
export interface Agreement {
  /**
   * Returns the milliseconds between the first and the latest list that show this value; undefined if no complete list
   * shows it.
   */
  heldMs(field: WatchedField): number | undefined;
  /** Two lists agree if they were begun at least this far apart. */
  readonly spacingMs: number;
}

/**
 * Sightings after another complete list. `begunAt`: monotonic milliseconds. A machine that the list lacks is forgotten:
 * its values are new when it is listed again. Entries of unchanged rows are reused.
 */
export function sightingsAfter(
  before: Sightings,
  { rows }: Pick<CompleteList, 'rows'>,
  begunAt: number,
): Sightings {
  const fresh = Object.fromEntries(WATCHED_FIELDS.map((field) => [field, begunAt])) as Sighting['since'];
  const machines = new Map<string, Sighting>();
  for (const [id, row] of rows) {
    const known = before.machines.get(id);
    machines.set(id, known === undefined ? { row, since: fresh } : sightingAfter(known, row, begunAt));
  }
  return { begunAt, machines };
}

function sightingAfter(known: Sighting, row: MachineRow, begunAt: number): Sighting {
  if (known.row === row) return known;
  const changed = WATCHED_FIELDS.filter((field) => !isSameIn(field, known.row, row));
  if (changed.length === 0) return { row, since: known.since };
  const since = { ...known.since };
  for (const field of changed) since[field] = begunAt;
  return { row, since };
}

/** Returns the agreement of a row, which may be fresher than the latest complete list. */
export function agreementOf({ begunAt, machines }: Sightings, row: MachineRow, spacingMs: number): Agreement {
  const sighting = machines.get(row.id);
  return {
    spacingMs,
    heldMs(field) {
      if (sighting === undefined || !isSameIn(field, sighting.row, row)) return undefined;
      return begunAt - sighting.since[field];
    },
  };
}

function isSameIn(field: WatchedField, left: MachineRow, right: MachineRow): boolean {
  return field === 'address' ? isSameAddress(left, right) : left[field] === right[field];
}

function isSameAddress(left: MachineRow, right: MachineRow): boolean {
  if (left === right) return true;
  const isSameHost = left.publicAddress === right.publicAddress && left.sshHost === right.sshHost;
  if (!isSameHost || left.sshPort !== right.sshPort) return false;
  const names = Object.keys(right.ports);
  return (
    Object.keys(left.ports).length === names.length &&
    names.every((name) => left.ports[name] === right.ports[name])
  );
}
