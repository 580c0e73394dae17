/** Time after which a plan that is not repeated is dropped. */
const FORGOTTEN_MS = 180_000;

interface Plan {
  /** Monotonic milliseconds at which the object last announced it. */
  readonly at: number;
  readonly isJudged: boolean;
}

/**
 * Objects that plan to end a working machine by limit, price, drift or idleness. Each waits for one more list, so that the
 * breaker counts all of them before the first machine ends. In memory only: after a restart they plan again.
 */
export class PlannedEnds {
  readonly #plans = new Map<string, Plan>();
  /** When each object last announced an end for idleness, due or not. */
  readonly #announced = new Map<string, number>();

  /** Records at `now` (monotonic milliseconds) that an object plans its end. */
  plan(objectUid: string, now: number): void {
    this.#plans.set(objectUid, { at: now, isJudged: this.isJudged(objectUid) });
  }

  /** Records at `now` (monotonic milliseconds) that an object has warned of its end for idleness. */
  announce(objectUid: string, now: number): void {
    this.#announced.set(objectUid, now);
  }

  /** Evaluates all plans together when a complete list arrives at `now`. Returns the uids of their objects. */
  judge(now: number): ReadonlySet<string> {
    for (const [uid, { at }] of this.#plans) {
      if (now - at > FORGOTTEN_MS) this.#plans.delete(uid);
      else this.#plans.set(uid, { at, isJudged: true });
    }
    for (const [uid, at] of this.#announced) if (now - at > FORGOTTEN_MS) this.#announced.delete(uid);
    return this.current();
  }

  /**
   * Returns the number of ends that count together. Once an idle end is due, announced idle ends count with it: if a
   * marketplace shows no utilization, machines become idle at the same time, and their ends become due one by one.
   */
  count(): number {
    const isIdleDue = [...this.#announced.keys()].some((uid) => this.#plans.has(uid));
    return isIdleDue ? new Set([...this.#plans.keys(), ...this.#announced.keys()]).size : this.#plans.size;
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

  /** Removes the announcement of an object whose machine is used again, or kept. */
  withdraw(objectUid: string): void {
    this.#announced.delete(objectUid);
  }
}
