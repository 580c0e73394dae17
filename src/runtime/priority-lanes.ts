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

/** Distinct keys in the order in which they are to be taken. */
export interface PriorityLanes {
  push(key: string, priority: number, now: number): void;
  /** Moves a waiting key to a higher priority; a lower one changes nothing. */
  raise(key: string, priority: number): void;
  take(): WaitingKey | undefined;
  clear(): void;
  size(): number;
  depth(priority: number): number;
}

type Lane = Map<string, WaitingKey>;

export function createPriorityLanes(): PriorityLanes {
  const lanes = new Map<number, Lane>();
  const priorities = new Map<string, number>();
  let arrivals = 0;
  let turns = 0;

  const laneOf = (priority: number): Lane => {
    const lane = lanes.get(priority) ?? new Map();
    lanes.set(priority, lane);
    return lane;
  };
  const insert = (waiting: WaitingKey) => {
    laneOf(waiting.priority).set(waiting.key, waiting);
    priorities.set(waiting.key, waiting.priority);
  };
  const remove = (key: string): WaitingKey | undefined => {
    const lane = lanes.get(priorities.get(key) ?? Number.NaN);
    const waiting = lane?.get(key);
    lane?.delete(key);
    priorities.delete(key);
    return waiting;
  };

  return {
    push: (key, priority, now) => insert({ key, priority, order: arrivals++, since: now }),
    raise(key, priority) {
      const current = priorities.get(key);
      if (current === undefined || current >= priority) return;
      const waiting = remove(key);
      if (waiting) insert({ ...waiting, priority });
    },
    take() {
      turns++;
      const heads = [...lanes.values()].flatMap((lane) => lane.values().take(1).toArray());
      const better = turns % FAIR_TURN === 0 ? arrivedEarlier : moreUrgent;
      const best = heads.reduce<WaitingKey | undefined>((a, b) => (a && !better(b, a) ? a : b), undefined);
      return best && remove(best.key);
    },
    clear() {
      lanes.clear();
      priorities.clear();
    },
    size: () => priorities.size,
    depth: (priority) => lanes.get(priority)?.size ?? 0,
  };
}

const moreUrgent = (a: WaitingKey, b: WaitingKey): boolean => a.priority > b.priority;
const arrivedEarlier = (a: WaitingKey, b: WaitingKey): boolean => a.order < b.order;
