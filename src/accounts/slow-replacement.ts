import type { InstanceSummary } from '../instance/summary.ts';

/** Share of the machines that may be replaced within one window, at least one. */
const SHARE = 0.1;
/** Time after which a replacement in progress no longer delays the next one. */
const WINDOW_MS = 600_000;
/**
 * Time within which an object must use its turn, otherwise it loses it: it may tolerate its machine for longer.
 */
const TURN_MS = 120_000;

interface Turn {
  readonly uid: string;
  /** Monotonic milliseconds at which the turn began. */
  readonly at: number;
}

/** A replacement that is under way. */
interface Ending {
  /** Monotonic milliseconds. */
  readonly since: number;
  /** The machine that the object names. */
  readonly instanceId: string | undefined;
}

/** Facts of one complete list about an account whose machines are replaced slowly. */
export interface FleetPoll {
  /** Epoch milliseconds, by the clock that dates the ends of machines. */
  readonly now: number;
  /** Monotonic milliseconds. */
  readonly monotonic: number;
  readonly objects: readonly InstanceSummary[];
  /** Ids of machines that are bad or have vanished. */
  readonly unhealthy: ReadonlySet<string>;
  /** Ids of machines that run. */
  readonly running: ReadonlySet<string>;
  /** Ids of all machines that the list shows. */
  readonly listed: ReadonlySet<string>;
}

/**
 * Permits for slow replacement: one object at a time, and the next only when the machine of the previous one runs.
 * Computed from the objects, so that a restart permits no extra replacement.
 */
export class SlowReplacements {
  readonly #underWay = new Map<string, Ending>();
  readonly #lastTurnAt = new Map<string, number>();
  /**
   * Recent ends of machines, by the key of their object: a group creates a replacement worker under the same name.
   */
  #ends: ReadonlyMap<string, number> = new Map();
  /** Time from which the lists no longer show the machine of an object, in monotonic milliseconds. */
  #vanishedSince: ReadonlyMap<string, number> = new Map();
  #turn: Turn | undefined;

  /** Returns the uid of the object whose machine may be replaced now. */
  current(): string | undefined {
    return this.#turn?.uid;
  }

  /** Ends slow replacement. */
  end(): void {
    this.#turn = undefined;
    this.#underWay.clear();
    this.#lastTurnAt.clear();
    this.#vanishedSince = new Map();
    this.#ends = new Map();
  }

  /** Decides by the objects and the complete list of a poll. */
  update(shown: FleetPoll): void {
    const poll = this.#withEarlierEnds(shown);
    const { objects, monotonic } = poll;
    const replaceable = objects.filter(({ deleting, isReplaceable }) => isReplaceable && !deleting);
    const underWay = replaceable.filter(
      (object) => isUnderWay(object, poll) || this.#isStillEnding(object, poll),
    );
    this.#note(underWay, monotonic);
    const blocks = underWay.some(({ uid }) => monotonic - (this.#underWay.get(uid)?.since ?? 0) < WINDOW_MS);
    // Includes objects that no longer need a replacement: their machine has been replaced.
    const recent = objects.filter((object) => !object.deleting && hasEndedLately(object, poll));
    const most = Math.max(1, Math.floor(replaceable.length * SHARE));
    const isSpent = new Set([...recent, ...underWay].map(({ uid }) => uid)).size >= most;
    const waiting = replaceable.filter((object) => isBad(object, poll) && !underWay.includes(object));
    const vanished = this.#vanished(waiting, poll);
    const next = vanished.length > 0 ? vanished : waiting;
    this.#turn = blocks || isSpent ? undefined : this.#next(next, monotonic);
  }

  /**
   * Returns the poll in which each object has the last end of an earlier object of its name, so that a replaced
   * machine remains counted.
   */
  #withEarlierEnds(poll: FleetPoll): FleetPoll {
    const objects = poll.objects.map((object) => {
      const lastEndedAt = object.lastEndedAt ?? this.#ends.get(object.key);
      return lastEndedAt === undefined ? object : { ...object, lastEndedAt };
    });
    const ended = objects.filter((object) => hasEndedLately(object, poll));
    const before = [...this.#ends].filter(([, at]) => poll.now - at < WINDOW_MS);
    this.#ends = new Map([
      ...before,
      ...ended.map(({ key, lastEndedAt = 0 }) => [key, lastEndedAt] as const),
    ]);
    return { ...poll, objects };
  }

  /**
   * Returns the objects whose machine has been missing from lists for less than the window. They come first: a
   * destroy without an answer may have ended the machine, and neither the record nor the memory of a new process
   * shows it.
   */
  #vanished(
    waiting: readonly InstanceSummary[],
    { monotonic, listed }: FleetPoll,
  ): readonly InstanceSummary[] {
    const isVanished = ({ instanceId = '' }: InstanceSummary) => !listed.has(instanceId);
    this.#vanishedSince = new Map(
      waiting.filter(isVanished).map(({ uid }) => [uid, this.#vanishedSince.get(uid) ?? monotonic]),
    );
    const isRecent = ({ uid }: InstanceSummary) =>
      monotonic - (this.#vanishedSince.get(uid) ?? Number.NEGATIVE_INFINITY) < WINDOW_MS;
    return waiting.filter(isRecent);
  }

  /**
   * Returns true if a destroy was carried out although its reply was an error: the machine is missing, and not yet
   * proven gone.
   */
  #isStillEnding({ uid, instanceId }: InstanceSummary, { monotonic, running }: FleetPoll): boolean {
    const before = this.#underWay.get(uid);
    if (!before || instanceId === undefined || instanceId !== before.instanceId) return false;
    return !running.has(instanceId) && monotonic - before.since < WINDOW_MS;
  }

  #note(underWay: readonly InstanceSummary[], monotonic: number): void {
    const uids = new Set(underWay.map(({ uid }) => uid));
    for (const uid of this.#underWay.keys()) if (!uids.has(uid)) this.#underWay.delete(uid);
    for (const { uid, instanceId } of underWay) {
      const since = this.#underWay.get(uid)?.since ?? monotonic;
      this.#underWay.set(uid, { since, instanceId });
    }
  }

  /**
   * Returns the turn: the present one while it is valid, else a turn of the object whose last turn is the oldest or
   * that had none.
   */
  #next(waiting: readonly InstanceSummary[], monotonic: number): Turn | undefined {
    const current = this.#turn;
    if (current && monotonic - current.at < TURN_MS && waiting.some(({ uid }) => uid === current.uid))
      return current;
    const lastAt = (uid: string) => this.#lastTurnAt.get(uid) ?? Number.NEGATIVE_INFINITY;
    const [first] = waiting
      .map(({ uid }) => uid)
      .toSorted((a, b) => (lastAt(a) === lastAt(b) ? a.localeCompare(b) : lastAt(a) - lastAt(b)));
    if (first === undefined) return undefined;
    this.#lastTurnAt.set(first, monotonic);
    return { uid: first, at: monotonic };
  }
}

function isBad({ instanceId }: InstanceSummary, { unhealthy }: FleetPoll): boolean {
  return instanceId !== undefined && unhealthy.has(instanceId);
}

/**
 * Returns true if the machine of the object is being ended, or was a moment ago and its replacement does not run yet.
 */
function isUnderWay(object: InstanceSummary, poll: FleetPoll): boolean {
  const { leaving, instanceId } = object;
  const hasNext = instanceId !== undefined && poll.running.has(instanceId);
  return leaving || (hasEndedLately(object, poll) && !hasNext);
}

function hasEndedLately({ lastEndedAt }: InstanceSummary, { now }: FleetPoll): boolean {
  return lastEndedAt !== undefined && now - lastEndedAt < WINDOW_MS;
}
