import type { MarketplaceError } from './errors.ts';
import type { MarketplaceId } from './ids.ts';
import type { MachineRow } from './machine.ts';

/** Every machine of the login, as of one complete list. */
export interface CompleteList {
  /** Epoch milliseconds (clock.now) just before the first request left. */
  readonly begunAt: number;
  readonly endedAt: number;
  readonly rows: ReadonlyMap<MarketplaceId, MachineRow>;
}

/** A list that seems to have taken longer was cut by a jump of the clock. */
const MAX_LIST_MS = 600_000;

/** Milliseconds that a list took; undefined if a jump of the clock hides when it was begun. */
export function listTook({
  begunAt,
  endedAt,
}: Pick<CompleteList, 'begunAt' | 'endedAt'>): number | undefined {
  const took = endedAt - begunAt;
  return took < 0 || took > MAX_LIST_MS ? undefined : took;
}

/** What listeners hear. `row` comes only for a row that changed, appeared or left a complete list. */
export type FeedEvent =
  | {
      readonly type: 'row';
      readonly id: MarketplaceId;
      readonly row: MachineRow | undefined;
      readonly previous: MachineRow | undefined;
    }
  | { readonly type: 'list'; readonly list: CompleteList }
  | { readonly type: 'failed'; readonly error: MarketplaceError };

/** How the feed fares. */
export interface FeedHealth {
  readonly state: 'starting' | 'healthy' | 'failing' | 'stopped';
  /** Epoch milliseconds at which the latest complete list ended. */
  readonly lastCompleteAt: number | undefined;
  readonly consecutiveFailures: number;
  /** Epoch milliseconds at which the first of these failures began; undefined if the latest list is complete. */
  readonly failingSince?: number | undefined;
  readonly lastError: MarketplaceError | undefined;
}

/** What a feed knows: the latest complete list, which lists named what, and how the last looks went. */
export class FeedState {
  readonly history = new ListHistory();
  readonly #emit: (event: FeedEvent) => void;
  /** Rows seen by themselves, with the time of the look: fresher than a list that began before it. */
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

  /** A complete list ended. Listeners hear its changes first, then the list. */
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

  /** Some machines were seen by themselves while a list was being read. They say nothing about absence. */
  patch(seen: readonly MachineRow[], seenAt: number): void {
    if (!this.#latest) return;
    for (const row of seen) this.#fresher.set(row.id, { row, seenAt });
    const update = patchRows(this.#latest.rows, seen);
    if (update.changes.length === 0) return;
    this.#latest = { ...this.#latest, rows: update.rows };
    this.#announce(update.changes);
  }

  /** A list failed that began at `begunAt` (epoch milliseconds). */
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

/** How many complete lists are remembered: enough for every waiting time of the protocol at the shortest poll. */
const REMEMBERED = 256;

/** Which of the recent complete lists named which machine. Times are epoch milliseconds at which a list began. */
export class ListHistory {
  readonly #begun: number[] = [];
  /** Number of lists ever recorded. */
  #recorded = 0;
  readonly #lastNamedBy = new Map<MarketplaceId, number>();

  /** A complete list ended. */
  record(begunAt: number, ids: Iterable<MarketplaceId>): void {
    this.#recorded += 1;
    this.#begun.push(begunAt);
    if (this.#begun.length > REMEMBERED) this.#begun.shift();
    for (const id of ids) this.#lastNamedBy.set(id, this.#recorded);
    if (this.#recorded % REMEMBERED === 0) this.#forgetOld();
  }

  /** Begin times of the lists since the last that named `id`, oldest first. */
  absences(id: MarketplaceId): readonly number[] {
    const since = this.#recorded - (this.#lastNamedBy.get(id) ?? 0);
    return since === 0 ? [] : this.#begun.slice(-since);
  }

  /** Begin times of the lists that began at or after `time`, oldest first. */
  begunSince(time: number): readonly number[] {
    return this.#begun.filter((begunAt) => begunAt >= time);
  }

  /** A machine that no remembered list names is absent from all of them without being remembered itself. */
  #forgetOld(): void {
    for (const [id, last] of this.#lastNamedBy) {
      if (last <= this.#recorded - REMEMBERED) this.#lastNamedBy.delete(id);
    }
  }
}

/** One machine that changed, appeared (`previous` undefined) or left (`row` undefined). */
export interface RowChange {
  readonly id: MarketplaceId;
  readonly row: MachineRow | undefined;
  readonly previous: MachineRow | undefined;
}

/** Rows after a look, and what is different from before. */
export interface RowUpdate {
  readonly rows: ReadonlyMap<MarketplaceId, MachineRow>;
  readonly changes: readonly RowChange[];
}

type Rows = ReadonlyMap<MarketplaceId, MachineRow>;

/** The rows of a complete list: what it does not name is gone from it. Unchanged rows stay the same objects. */
export function replaceRows(before: Rows, seen: readonly MachineRow[]): RowUpdate {
  const rows = new Map<MarketplaceId, MachineRow>();
  const changes: RowChange[] = [];
  for (const row of seen) rows.set(row.id, keep(before, row, changes));
  for (const [id, previous] of before) {
    if (!rows.has(id)) changes.push({ id, row: undefined, previous });
  }
  return { rows, changes };
}

/** Fresher views of some machines. What is not among them stays as it was. */
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

/** Utilization moves at every look and decides nothing, so it is no change that anyone is woken for. */
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
