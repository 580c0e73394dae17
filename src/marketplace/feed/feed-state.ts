import type { MarketplaceError } from '../errors/errors.ts';
import type { Instance } from '../instances/instance.ts';
import type { CompleteList, FeedEvent, FeedHealth } from './feed-event.ts';
import { ListHistory } from './list-history.ts';
import { patchRows, type RowChange, replaceRows } from './row-changes.ts';

/** What a feed knows: the latest complete list, which lists named what, and how the last looks went. */
export class FeedState {
  readonly history = new ListHistory();
  readonly #emit: (event: FeedEvent) => void;
  /** Rows seen by themselves, with the time of the look: fresher than a list that began before it. */
  readonly #fresher = new Map<number, { row: Instance; seenAt: number }>();
  #latest: CompleteList | undefined;
  #health: FeedHealth = {
    state: 'starting',
    lastCompleteAt: undefined,
    consecutiveFailures: 0,
    lastError: undefined,
    form: 'whole',
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
  complete(seen: readonly Instance[], begunAt: number, endedAt: number): void {
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
      lastError: undefined,
    };
    this.#announce(update.changes);
    this.#emit({ type: 'list', list });
  }

  /** Some machines were seen by themselves while a list was being read. They say nothing about absence. */
  patch(seen: readonly Instance[], seenAt: number): void {
    if (!this.#latest) return;
    for (const row of seen) this.#fresher.set(row.id, { row, seenAt });
    const update = patchRows(this.#latest.rows, seen);
    if (update.changes.length === 0) return;
    this.#latest = { ...this.#latest, rows: update.rows };
    this.#announce(update.changes);
  }

  failed(error: MarketplaceError): void {
    const consecutiveFailures = this.#health.consecutiveFailures + 1;
    this.#health = { ...this.#health, state: 'failing', consecutiveFailures, lastError: error };
    this.#emit({ type: 'failed', error });
  }

  useForm(form: FeedHealth['form']): void {
    this.#health = { ...this.#health, form };
  }

  stopped(): void {
    this.#health = { ...this.#health, state: 'stopped' };
  }

  #freshest(row: Instance, begunAt: number): Instance {
    const seen = this.#fresher.get(row.id);
    return seen && seen.seenAt >= begunAt ? seen.row : row;
  }

  #announce(changes: readonly RowChange[]): void {
    for (const change of changes) this.#emit({ type: 'row', ...change });
  }
}
