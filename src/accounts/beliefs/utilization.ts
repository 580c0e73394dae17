import type { CompleteList } from '../../market/feed-state.ts';
import type { MachineRow } from '../../market/machine.ts';

/** Running time before the first figure counts: a machine that loads its program or its data uses no GPU. */
export const WARM_UP_MS = 900_000;

/** Minimum time before a list that its figures cover; lists further apart leave a gap. */
const MIN_COVERED_MS = 120_000;
/** Maximum number of poll intervals that the figures of one list cover, back to the previous list. */
const COVERED_INTERVALS = 1.5;

/** Maximum age of a gap: no window of spec.idle is longer. */
const MAX_WINDOW_MS = 7 * 86_400_000;
/** Maximum number of gaps. Beyond it the two oldest are merged, which can only reduce the covered time. */
const MAX_GAPS = 64;

/** Figure of a machine that counts as in use at every threshold. */
const IN_USE = Number.POSITIVE_INFINITY;
/** Moment of a reply: its time, and the number of complete lists before it. */
interface Moment {
  readonly at: number;
  readonly lists: number;
}

/** A figure, and the moment of the first reply after it. */
interface Figure {
  readonly percent: number;
  next?: Moment;
}

interface Tracked {
  /** Time of the first of the latest lists in a row that show the machine as running. */
  runningSince: number | undefined;
  /** Figures that no later figure equals or exceeds, so their percentages fall. */
  readonly figures: Figure[];
}

/** Time since which every reply has shown a machine as idle. */
export interface IdleSpell {
  /** Monotonic milliseconds of the first of these replies. */
  readonly since: number;
  /** Number of complete lists among them. */
  readonly lists: number;
}

/**
 * GPU utilization of the machines of a login, as complete lists show it. A machine counts as in use at every threshold
 * before {@link WARM_UP_MS} of running, while it does not run, and if a reply has no figure. In memory only: a new
 * process begins again, so that its verdict comes later, never earlier. Times are monotonic milliseconds.
 */
export class UtilizationHistory {
  readonly #machines = new Map<string, Tracked>();
  #gaps: { readonly from: number; readonly until: number }[] = [];
  #latestAt: number | undefined;
  #lists = 0;

  /** Records a complete list that arrived at `at`. A machine that it lacks begins again when it is listed again. */
  noteList({ rows }: Pick<CompleteList, 'rows'>, at: number, pollIntervalMs: number): void {
    this.#noteGap(at, Math.max(MIN_COVERED_MS, COVERED_INTERVALS * pollIntervalMs));
    this.#latestAt = at;
    this.#lists += 1;
    for (const id of this.#machines.keys()) if (!rows.has(id)) this.#machines.delete(id);
    for (const [id, row] of rows) {
      const tracked = this.#machines.get(id) ?? { runningSince: undefined, figures: [] };
      this.#machines.set(id, tracked);
      tracked.runningSince = row.state === 'running' ? (tracked.runningSince ?? at) : undefined;
      note(tracked, row, { at, lists: this.#lists - 1 });
    }
  }

  /**
   * Records a single read that arrived at `at`. A read may show use that lists do not show; it never proves idle
   * time.
   */
  noteRead(row: Shown & Pick<MachineRow, 'id'>, at: number): void {
    const tracked = this.#machines.get(row.id);
    if (tracked) note(tracked, row, { at, lists: this.#lists });
  }

  /** Returns the spell in which every reply showed less than `below` percent; undefined if the latest shows more. */
  idleSpell(id: string, below: number): IdleSpell | undefined {
    const lastUse = this.#machines.get(id)?.figures.findLast(({ percent }) => percent >= below);
    const next = lastUse?.next;
    return next && { since: next.at, lists: this.#lists - next.lists };
  }

  /** Returns the milliseconds of this period that complete lists cover. */
  coveredMs(from: number, until: number): number {
    const latest = Math.min(until, this.#latestAt ?? from);
    const missed = this.#gaps.map((gap) => Math.min(latest, gap.until) - Math.max(from, gap.from));
    return missed.reduce((sum, ms) => sum - Math.max(0, ms), Math.max(0, latest - from));
  }

  #noteGap(at: number, coveredMs: number): void {
    const from = this.#latestAt;
    this.#gaps = this.#gaps.filter(({ until }) => at - until < MAX_WINDOW_MS);
    if (from === undefined || at - from <= coveredMs) return;
    this.#gaps.push({ from, until: at - coveredMs });
    const [first, second, ...rest] = this.#gaps;
    if (first && second && this.#gaps.length > MAX_GAPS)
      this.#gaps = [{ from: first.from, until: second.until }, ...rest];
  }
}

function note({ runningSince, figures }: Tracked, row: Shown, moment: Moment): void {
  const isWarm = moment.at - (runningSince ?? moment.at) >= WARM_UP_MS;
  const percent = isWarm ? percentOf(row) : IN_USE;
  const last = figures.at(-1);
  if (last) last.next ??= moment;
  // Stryker disable all: no answer needs the figures that this one equals or exceeds; without them memory is bounded
  const kept = figures.findIndex((figure) => figure.percent <= percent);
  if (kept >= 0) figures.length = kept;
  // Stryker restore all
  figures.push({ percent });
}

/** Figures of a machine in one reply. */
type Shown = Pick<MachineRow, 'state' | 'gpuUtilization'>;

/** Returns true if a reply shows the machine as running, with a figure below so many percent. */
export function isBelow(shown: Shown | undefined, percent: number): boolean {
  return shown !== undefined && percentOf(shown) < percent;
}

/** Returns the utilization in whole percent, rounded down. A missing figure shows no idleness. */
function percentOf({ state, gpuUtilization }: Shown): number {
  if (state !== 'running' || gpuUtilization === undefined) return IN_USE;
  // 29 % is 0.29, and 100 times that is slightly less than 29.
  return Math.floor(gpuUtilization * 100 + 1e-9);
}
