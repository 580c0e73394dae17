/** A key that waits its turn. */
export interface WaitingKey {
  readonly key: string;
  readonly priority: number;
  /** Order of arrival; a raised priority does not change it. */
  readonly order: number;
  /** When it came, on the monotonic clock. */
  readonly since: number;
}

/** Every so many turns go to whoever waits longest, so that a flood of urgent keys starves nobody. */
const FAIR_TURN = 8;

type Lane = Map<string, WaitingKey>;

/** Distinct keys in the order in which they are to be taken. */
export class PriorityLanes {
  readonly #lanes = new Map<number, Lane>();
  readonly #waiting = new Map<string, WaitingKey>();
  #arrivals = 0;
  #turns = 0;

  push(key: string, priority: number, now: number): void {
    this.#insert({ key, priority, order: this.#arrivals++, since: now });
  }

  /** Moves a waiting key to a higher priority; a lower one changes nothing. */
  raise(key: string, priority: number): void {
    const waiting = this.#waiting.get(key);
    if (!waiting || waiting.priority >= priority) return;
    this.#remove(waiting);
    this.#insert({ ...waiting, priority });
  }

  take(): WaitingKey | undefined {
    this.#turns++;
    const better = this.#turns % FAIR_TURN === 0 ? arrivedEarlier : moreUrgent;
    let best: WaitingKey | undefined;
    for (const lane of this.#lanes.values()) {
      const head = lane.values().next().value;
      if (head && (!best || better(head, best))) best = head;
    }
    if (best) this.#remove(best);
    return best;
  }

  clear(): void {
    this.#lanes.clear();
    this.#waiting.clear();
  }

  size(): number {
    return this.#waiting.size;
  }

  depth(priority: number): number {
    return this.#lanes.get(priority)?.size ?? 0;
  }

  #insert(waiting: WaitingKey): void {
    const lane: Lane = this.#lanes.get(waiting.priority) ?? new Map();
    this.#lanes.set(waiting.priority, lane.set(waiting.key, waiting));
    this.#waiting.set(waiting.key, waiting);
  }

  #remove({ key, priority }: WaitingKey): void {
    this.#lanes.get(priority)?.delete(key);
    this.#waiting.delete(key);
  }
}

const moreUrgent = (a: WaitingKey, b: WaitingKey): boolean => a.priority > b.priority;
const arrivedEarlier = (a: WaitingKey, b: WaitingKey): boolean => a.order < b.order;
