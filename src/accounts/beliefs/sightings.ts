import type { CompleteList } from '../../market/feed-state.ts';
import type { MachineRow } from '../../market/machine.ts';

/**
 * Belief in each field of a row.
 *
 * - `watched` A decision or a record uses the value, so no single reply changes it. `address` The same, for all such
 *   fields together. `identity` The key of the row.
 * - `shown` For people, figures and signs of progress. A single reply changes it, so no rule may end a machine by it.
 *
 * A new field of a row does not compile without an entry.
 */
export const ROW_FIELDS = {
  id: 'identity',
  label: 'watched',
  state: 'watched',
  marketStatus: 'shown',
  intendedPower: 'watched',
  power: 'watched',
  machineId: 'watched',
  hostId: 'watched',
  startedAt: 'watched',
  endsAt: 'watched',
  pricePerHour: 'watched',
  storagePricePerHour: 'watched',
  sshHost: 'address',
  sshPort: 'address',
  publicAddress: 'address',
  ports: 'address',
  gpuName: 'watched',
  gpuCount: 'watched',
  gpuMemoryMB: 'watched',
  gpuUtilization: 'shown',
  diskGB: 'watched',
  image: 'shown',
  interruptible: 'watched',
  region: 'watched',
  statusMessage: 'shown',
} as const satisfies Record<keyof MachineRow, 'watched' | 'address' | 'identity' | 'shown'>;

type RowFields = typeof ROW_FIELDS;
type FieldsThatAre<Belief> = {
  [Field in keyof RowFields]: RowFields[Field] extends Belief ? Field : never;
}[keyof RowFields];
type ComparedField = FieldsThatAre<'watched'>;
/** Field that no single reply changes. `address`: host, ports and their mapping together. */
export type WatchedField = ComparedField | 'address';

const fieldsThatAre = <Belief extends RowFields[keyof RowFields]>(belief: Belief) =>
  Object.keys(ROW_FIELDS).filter(
    (field): field is FieldsThatAre<Belief> => ROW_FIELDS[field as keyof RowFields] === belief,
  );
const ADDRESS_FIELDS = fieldsThatAre('address');

/** Fields of a machine that no single reply changes. */
export const WATCHED_FIELDS: readonly WatchedField[] = [...fieldsThatAre('watched'), 'address'];

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
 * Sightings after another complete list. `begunAt`: monotonic milliseconds. A machine that the list lacks is removed;
 * if it is listed again, its values are new. Entries of unchanged rows are reused.
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
  return ADDRESS_FIELDS.every((field) =>
    field === 'ports' ? hasSamePorts(left, right) : left[field] === right[field],
  );
}

function hasSamePorts(left: MachineRow, right: MachineRow): boolean {
  const names = Object.keys(right.ports);
  return (
    Object.keys(left.ports).length === names.length &&
    names.every((name) => left.ports[name] === right.ports[name])
  );
}
