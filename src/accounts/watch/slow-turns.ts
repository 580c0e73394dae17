import type { InstanceSummary } from '../../instance/summary.ts';

/** Replacements within one window: this share of the machines, and one at least. */
const SHARE = 0.1;
/** A replacement that is under way for longer keeps the next one waiting no more. */
const WINDOW_MS = 600_000;
/** Whoever does not use its turn within this time passes it on: it may tolerate its machine for longer. */
const TURN_MS = 120_000;

interface Turn {
  readonly uid: string;
  /** Monotonic milliseconds at which it was given. */
  readonly at: number;
}

/** A replacement that is under way. */
interface Ending {
  /** Monotonic milliseconds. */
  readonly since: number;
  /** The machine that the object names. */
  readonly instanceId: number | undefined;
}

/** What one complete list says about an account whose machines are replaced slowly. */
export interface SlowLook {
  /** Epoch milliseconds, by the clock that dates the ends of machines. */
  readonly now: number;
  /** Monotonic milliseconds. */
  readonly monotonic: number;
  readonly objects: readonly InstanceSummary[];
  /** Ids of machines that are bad or have vanished. */
  readonly unhealthy: ReadonlySet<number>;
  /** Ids of machines that run. */
  readonly running: ReadonlySet<number>;
}

/**
 * Whose machine may be replaced while as many are bad: one object at a time, and the next only when the machine of the
 * former runs. Counted from the objects, so that a restart gives no second helping.
 */
export class SlowTurns {
  readonly #underWay = new Map<string, Ending>();
  readonly #hadTurnAt = new Map<string, number>();
  #turn: Turn | undefined;

  /** Uid of the object whose turn it is. */
  current(): string | undefined {
    return this.#turn?.uid;
  }

  /** Nothing is replaced slowly any more. */
  end(): void {
    this.#turn = undefined;
    this.#underWay.clear();
    this.#hadTurnAt.clear();
  }

  look(look: SlowLook): void {
    const { objects, monotonic } = look;
    const wanted = objects.filter(({ deleting, isReplaceable }) => isReplaceable && !deleting);
    const underWay = wanted.filter((object) => isUnderWay(object, look) || this.#isStillEnding(object, look));
    this.#note(underWay, monotonic);
    const blocks = underWay.some(({ uid }) => monotonic - (this.#underWay.get(uid)?.since ?? 0) < WINDOW_MS);
    const recent = wanted.filter((object) => hasEndedLately(object, look));
    const most = Math.max(1, Math.floor(wanted.length * SHARE));
    const isSpent = new Set([...recent, ...underWay].map(({ uid }) => uid)).size >= most;
    const waiting = wanted.filter((object) => isBad(object, look) && !underWay.includes(object));
    this.#turn = blocks || isSpent ? undefined : this.#next(waiting, monotonic);
  }

  /** A destroy that was carried out although its reply said no: the machine is only missing, and not yet proven gone. */
  #isStillEnding({ uid, instanceId }: InstanceSummary, { monotonic, running }: SlowLook): boolean {
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

  /** Whoever had it longest ago, or never. */
  #next(waiting: readonly InstanceSummary[], monotonic: number): Turn | undefined {
    const standing = this.#turn;
    if (standing && monotonic - standing.at < TURN_MS && waiting.some(({ uid }) => uid === standing.uid))
      return standing;
    const hadAt = (uid: string) => this.#hadTurnAt.get(uid) ?? Number.NEGATIVE_INFINITY;
    const [first] = waiting
      .map(({ uid }) => uid)
      .toSorted((a, b) => (hadAt(a) === hadAt(b) ? a.localeCompare(b) : hadAt(a) - hadAt(b)));
    if (first === undefined) return undefined;
    this.#hadTurnAt.set(first, monotonic);
    return { uid: first, at: monotonic };
  }
}

function isBad({ instanceId }: InstanceSummary, { unhealthy }: SlowLook): boolean {
  return instanceId !== undefined && unhealthy.has(instanceId);
}

/** Its machine is being ended, or it was a moment ago and the next one does not run yet. */
function isUnderWay(object: InstanceSummary, look: SlowLook): boolean {
  const { leaving, instanceId } = object;
  const hasNext = instanceId !== undefined && look.running.has(instanceId);
  return leaving || (hasEndedLately(object, look) && !hasNext);
}

function hasEndedLately({ lastEndedAt }: InstanceSummary, { now }: SlowLook): boolean {
  return lastEndedAt !== undefined && now - lastEndedAt < WINDOW_MS;
}
