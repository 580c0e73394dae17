import { createHash } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Mode } from './schedule.ts';

/** Totals of a simulation run; the last line on stdout. */
export interface Summary {
  readonly schedules: number;
  readonly violations: number;
  readonly wastedContractSeconds: Readonly<Record<Mode, Spread>>;
  /** (effect × fault) points and pairs of them; 0 of 0 where the mode has none. */
  readonly pairsCovered: number;
  readonly pairsTotal: number;
  readonly schedulesPerMinutePerCore: number;
  readonly virtualHoursPerMinute: number;
  /** Number of faults per kind, for modes that draw them. */
  readonly faults: Readonly<Record<string, number>>;
  /** Machines that ended themselves, and those that did so without a reason; left out if no mode has such machines. */
  readonly selfEnds?: SelfEnds;
  readonly traceHash: string;
}

interface SelfEnds {
  readonly ended: number;
  readonly falseKills: number;
  /** Renewals of leases. */
  readonly renewals: number;
}

interface Spread {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Share of (effect × fault) points, and of pairs of them, that were struck. */
export interface Coverage {
  readonly singles: Share;
  readonly pairs: Share;
}

interface Share {
  readonly covered: number;
  readonly total: number;
}

/** Result of one finished schedule, plan or sequence. */
export interface Finished {
  readonly mode: Mode;
  readonly violations: number;
  readonly wastedSeconds: readonly number[];
  /**
   * True if many machines failed or lost their objects at once. They are then ended one after another, so no bound on
   * waste applies.
   */
  readonly isMassive?: boolean;
  readonly virtualSeconds: number;
  /** The kind of each fault that struck. */
  readonly faultKinds?: readonly string[];
  readonly selfEnds?: SelfEnds;
  readonly traceHash: string;
}

const NONE: Share = { covered: 0, total: 0 };
const MIN_PAIRS = 0.95;
const MAX_WASTED_SECONDS = 60;
/** Below, one freak more or less decides. */
const ENOUGH_CONTRACTS = 5000;

/** Adds finished schedules up. */
export class Figures {
  readonly #startedAt = performance.now();
  readonly #wasted: Readonly<Record<Mode, number[]>> = { all: [], sweeperOff: [] };
  /** Without a sweeper, and of schedules for which a bound holds. */
  readonly #bounded: number[] = [];
  readonly #hash = createHash('sha256');
  coverage: Coverage = { singles: NONE, pairs: NONE };
  #schedules = 0;
  #violations = 0;
  #virtualSeconds = 0;
  #cpuMicros = 0;
  readonly #faults = new Map<string, number>();
  #selfEnds: SelfEnds | undefined;

  add(finished: Finished): void {
    const { mode, violations, wastedSeconds, virtualSeconds, faultKinds = [], traceHash } = finished;
    for (const kind of faultKinds) this.#faults.set(kind, (this.#faults.get(kind) ?? 0) + 1);
    this.#schedules += 1;
    this.#violations += violations;
    this.#virtualSeconds += virtualSeconds;
    this.#wasted[mode].push(...wastedSeconds);
    if (mode === 'sweeperOff' && !finished.isMassive) this.#bounded.push(...wastedSeconds);
    if (finished.selfEnds) this.#selfEnds = added(this.#selfEnds, finished.selfEnds);
    this.#hash.update(traceHash);
  }

  /** Promises that something else than a schedule broke. */
  violated(count: number): void {
    this.#violations += count;
  }

  /**
   * Returns the targets that a complete run missed: every single point, most pairs, and little waste without a
   * sweeper if enough schedules were played.
   */
  missed(): readonly string[] {
    const { singles, pairs } = this.coverage;
    const { p99 } = spread(this.#bounded);
    return [
      ...(singles.covered < singles.total
        ? [`Only ${singles.covered} of ${singles.total} single points were struck; all are owed`]
        : []),
      ...(pairs.covered < MIN_PAIRS * pairs.total
        ? [`Only ${pairs.covered} of ${pairs.total} pairs were struck; ${MIN_PAIRS * 100} % are owed`]
        : []),
      ...(this.#bounded.length >= ENOUGH_CONTRACTS && p99 > MAX_WASTED_SECONDS
        ? [
            `Without a sweeper p99 of wasted seconds is ${p99}; ${MAX_WASTED_SECONDS} is the most that is owed`,
          ]
        : []),
    ];
  }

  get minutes(): number {
    return (performance.now() - this.#startedAt) / 60_000;
  }

  /** Runs one schedule, plan or sequence, and counts its time on a processor: a busy machine changes no figure. */
  async measure<T>(run: () => Promise<T>): Promise<T> {
    const before = process.cpuUsage();
    const result = await run();
    const { user, system } = process.cpuUsage(before);
    this.spent(user + system);
    return result;
  }

  /** Adds processor time, including that of other processes. */
  spent(cpuMicros: number): void {
    this.#cpuMicros += cpuMicros;
  }

  get schedules(): number {
    return this.#schedules;
  }

  get violations(): number {
    return this.#violations;
  }

  summary(): Summary {
    const minutes = this.#cpuMicros / 60e6;
    const { singles, pairs } = this.coverage;
    return {
      schedules: this.#schedules,
      violations: this.#violations,
      wastedContractSeconds: {
        sweeperOff: spread(this.#wasted.sweeperOff),
        all: spread(this.#wasted.all),
      },
      pairsCovered: singles.covered + pairs.covered,
      pairsTotal: singles.total + pairs.total,
      schedulesPerMinutePerCore: Math.round(this.#schedules / minutes),
      virtualHoursPerMinute: Math.round(this.#virtualSeconds / 360 / minutes) / 10,
      faults: Object.fromEntries([...this.#faults].toSorted(([left], [right]) => (left < right ? -1 : 1))),
      ...(this.#selfEnds && { selfEnds: this.#selfEnds }),
      traceHash: this.#hash.copy().digest('hex').slice(0, 16),
    };
  }
}

function added(sum: SelfEnds = { ended: 0, falseKills: 0, renewals: 0 }, more: SelfEnds): SelfEnds {
  return {
    ended: sum.ended + more.ended,
    falseKills: sum.falseKills + more.falseKills,
    renewals: sum.renewals + more.renewals,
  };
}

function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number): number => {
    const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
    return Math.round(value * 10) / 10;
  };
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}
