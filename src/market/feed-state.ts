import type { MarketplaceError } from './errors.ts';
import type { MarketplaceId } from './ids.ts';
import type { MachineRow } from './machine.ts';

/** All machines of the login in one complete list. */
export interface CompleteList {
  /** Epoch milliseconds (clock.now) right before the first request was sent. */
  readonly begunAt: number;
  readonly endedAt: number;
  readonly rows: ReadonlyMap<MarketplaceId, MachineRow>;
}

/** Maximum plausible duration of a list: a longer one means that the clock jumped. */
const MAX_LIST_MS = 600_000;

/** Returns the duration of a list in milliseconds; undefined if a jump of the clock hides its start. */
export function listTook({
  begunAt,
  endedAt,
}: Pick<CompleteList, 'begunAt' | 'endedAt'>): number | undefined {
  const took = endedAt - begunAt;
  return took < 0 || took > MAX_LIST_MS ? undefined : took;
}

/** Events for listeners. `row` is only emitted for a row that changed, appeared or left a complete list. */
export type FeedEvent =
  | {
      readonly type: 'row';
      readonly id: MarketplaceId;
      readonly row: MachineRow | undefined;
      readonly previous: MachineRow | undefined;
    }
  | { readonly type: 'list'; readonly list: CompleteList }
  | { readonly type: 'failed'; readonly error: MarketplaceError };

/** Health of the feed. */
export interface FeedHealth {
  readonly state: 'starting' | 'healthy' | 'failing' | 'stopped';
  /** Epoch milliseconds of the end of the latest complete list. */
  readonly lastCompleteAt: number | undefined;
  readonly consecutiveFailures: number;
  /** Epoch milliseconds of the first of these failures; undefined if the latest list is complete. */
  readonly failingSince?: number | undefined;
  readonly lastError: MarketplaceError | undefined;
}

/** State of a feed: the latest complete list, the history of lists, and the results of the last polls. */
export class FeedState {
  readonly history = new ListHistory();
  readonly #emit: (event: FeedEvent) => void;
  /** Rows of single reads with their time: fresher than a list that began earlier. */
  readonly #fresher = new Map<MarketplaceId, { row: MachineRow; seenAt: number }>();
  #latest: CompleteList | undefined;
  #health: FeedHealth = {
    state: 'starting',
    lastCompleteAt: undefined,
    consecutiveFailures: 0,
    failingSince: undefined,
    lastError: undefined,
  };

  constructor(emit: (event: FeedEvent) => void) {
    this.#emit = emit;
  }

  get latest(): CompleteList | undefined {
    return this.#latest;
  }

  get health(): FeedHealth {
    return this.#health;
  }

  /** Records a complete list. Listeners receive its changes first, then the list. */
  complete(seen: readonly MachineRow[], begunAt: number, endedAt: number): void {
    const rows = seen.map((row) => this.#freshest(row, begunAt));
    this.#fresher.clear();
    const update = replaceRows(this.#latest?.rows ?? new Map(), rows);
    this.history.record(begunAt, update.rows.keys());
    const list = { begunAt, endedAt, rows: update.rows };
    this.#latest = list;
    this.#health = {
      ...this.#health,
      state: 'healthy',
      lastCompleteAt: endedAt,
      consecutiveFailures: 0,
      failingSince: undefined,
      lastError: undefined,
    };
    this.#announce(update.changes);
    this.#emit({ type: 'list', list });
  }

  /** Records single reads of machines during a list. They prove nothing about absence. */
  patch(seen: readonly MachineRow[], seenAt: number): void {
    if (!this.#latest) return;
    for (const row of seen) this.#fresher.set(row.id, { row, seenAt });
    const update = patchRows(this.#latest.rows, seen);
    if (update.changes.length === 0) return;
    this.#latest = { ...this.#latest, rows: update.rows };
    this.#announce(update.changes);
  }

  /** Records a failed list that began at `begunAt` (epoch milliseconds). */
  failed(error: MarketplaceError, begunAt: number): void {
    const consecutiveFailures = this.#health.consecutiveFailures + 1;
    const failingSince = this.#health.failingSince ?? begunAt;
    this.#health = { ...this.#health, state: 'failing', consecutiveFailures, failingSince, lastError: error };
    this.#emit({ type: 'failed', error });
  }

  stopped(): void {
    this.#health = { ...this.#health, state: 'stopped' };
  }

  #freshest(row: MachineRow, begunAt: number): MachineRow {
    const seen = this.#fresher.get(row.id);
    return seen && seen.seenAt >= begunAt ? seen.row : row;
  }

  #announce(changes: readonly RowChange[]): void {
    for (const change of changes) this.#emit({ type: 'row', ...change });
  }
}

/**
 * Number of complete lists kept: enough for every waiting time of the protocol at the shortest poll interval.
 */
const REMEMBERED = 256;

/** History of the machines named by recent complete lists. Times are the epoch milliseconds at which a list began. */
export class ListHistory {
  readonly #begun: number[] = [];
  /** Start of the first list. It is kept permanently: from then on this process knows the login. */
  #first: number | undefined;
  /** Number of lists recorded since the start. */
  #recorded = 0;
  readonly #lastNamedBy = new Map<MarketplaceId, number>();

  /** Records the end of a complete list. */
  record(begunAt: number, ids: Iterable<MarketplaceId>): void {
    this.#recorded += 1;
    this.#first ??= begunAt;
    this.#begun.push(begunAt);
    if (this.#begun.length > REMEMBERED) this.#begun.shift();
    for (const id of ids) this.#lastNamedBy.set(id, this.#recorded);
    if (this.#recorded % REMEMBERED === 0) this.#forgetOld();
  }

  /** Returns the start times of the lists since the last one that named `id`, oldest first. */
  absences(id: MarketplaceId): readonly number[] {
    const since = this.#recorded - (this.#lastNamedBy.get(id) ?? 0);
    return since === 0 ? [] : this.#begun.slice(-since);
  }

  /** Returns the start times of the first list and of the remembered ones, of those at or after `time`, oldest first. */
  begunSince(time: number): readonly number[] {
    const isForgotten = this.#recorded > this.#begun.length;
    const first = isForgotten && this.#first !== undefined ? [this.#first] : [];
    return [...first, ...this.#begun].filter((begunAt) => begunAt >= time);
  }

  /** Removes machines that no remembered list names: they are absent from all lists without an entry. */
  #forgetOld(): void {
    for (const [id, last] of this.#lastNamedBy) {
      if (last <= this.#recorded - REMEMBERED) this.#lastNamedBy.delete(id);
    }
  }
}

/** A machine that changed, appeared (`previous` undefined) or left (`row` undefined). */
export interface RowChange {
  readonly id: MarketplaceId;
  readonly row: MachineRow | undefined;
  readonly previous: MachineRow | undefined;
}

/** Rows after a poll, and their differences from before. */
export interface RowUpdate {
  readonly rows: ReadonlyMap<MarketplaceId, MachineRow>;
  readonly changes: readonly RowChange[];
}

type Rows = ReadonlyMap<MarketplaceId, MachineRow>;

/**
 * Returns the rows after a complete list: machines that it does not name are removed. Unchanged rows stay the same
 * objects.
 */
export function replaceRows(before: Rows, seen: readonly MachineRow[]): RowUpdate {
  const rows = new Map<MarketplaceId, MachineRow>();
  const changes: RowChange[] = [];
  for (const row of seen) rows.set(row.id, keep(before, row, changes));
  for (const [id, previous] of before) {
    if (!rows.has(id)) changes.push({ id, row: undefined, previous });
  }
  return { rows, changes };
}

/** Returns the rows after fresher reads of some machines. All others stay unchanged. */
export function patchRows(before: Rows, seen: readonly MachineRow[]): RowUpdate {
  const rows = new Map(before);
  const changes: RowChange[] = [];
  for (const row of seen) rows.set(row.id, keep(before, row, changes));
  return { rows, changes };
}

function keep(before: Rows, row: MachineRow, changes: RowChange[]): MachineRow {
  const previous = before.get(row.id);
  if (previous && isSame(previous, row))
    return previous.gpuUtilization === row.gpuUtilization ? previous : row;
  changes.push({ id: row.id, row, previous });
  return row;
}

/**
 * Returns true if the rows are equal except for the utilization. Utilization changes with every poll, so its changes
 * wake no listener: a decision on idle machines reads the history of figures when it is due.
 */
function isSame(left: MachineRow, right: MachineRow): boolean {
  for (const name of Object.keys(right) as (keyof MachineRow)[]) {
    if (name !== 'ports' && name !== 'gpuUtilization' && left[name] !== right[name]) return false;
  }

  const names = Object.keys(right.ports);
  return (
    Object.keys(left.ports).length === names.length &&
    names.every((name) => left.ports[name] === right.ports[name])
  );
}
