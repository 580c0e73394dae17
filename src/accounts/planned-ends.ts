/** An object that no longer repeats its plan has given it up. */
const FORGOTTEN_MS = 180_000;

interface Plan {
  /** Monotonic milliseconds at which the object last said so. */
  readonly at: number;
  readonly isJudged: boolean;
}

/**
 * Objects whose machines work and are to end by limit, price or drift. Each waits for one more list, so that the breaker
 * counts all of them before the first machine ends. In memory only: after a restart they plan again.
 */
export class PlannedEnds {
  readonly #plans = new Map<string, Plan>();

  /** Records at `now` (monotonic milliseconds) that an object plans its end. */
  plan(objectUid: string, now: number): void {
    this.#plans.set(objectUid, { at: now, isJudged: this.isJudged(objectUid) });
  }

  /** Evaluates all plans together when a complete list arrives at `now`. Returns the uids of their objects. */
  judge(now: number): ReadonlySet<string> {
    for (const [uid, { at }] of this.#plans) {
      if (now - at > FORGOTTEN_MS) this.#plans.delete(uid);
      else this.#plans.set(uid, { at, isJudged: true });
    }
    return this.current();
  }

  /** Returns the uids of the objects that plan their end. */
  current(): ReadonlySet<string> {
    return new Set(this.#plans.keys());
  }

  /** Returns true if a complete list arrived since the object planned its end. */
  isJudged(objectUid: string): boolean {
    return this.#plans.get(objectUid)?.isJudged === true;
  }

  /** Removes the plan of an object that dropped it or carried it out. */
  drop(objectUid: string): void {
    this.#plans.delete(objectUid);
  }
}
