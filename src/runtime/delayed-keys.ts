import type { Clock, Timer } from '../lib/clock.ts';

interface DelayedKey {
  readonly key: string;
  readonly at: number;
  readonly priority: number;
}

/** Keys that become due later, each at most once. */
export interface DelayedKeys {
  /** Of several times for a key the earliest wins, and the highest priority. */
  add(key: string, delayMs: number, priority: number): void;
  clear(): void;
  size(): number;
}

/** Calls `onDue` for each key when its time has come, in order of those times. Uses one timer. */
export function createDelayedKeys(clock: Clock, onDue: (key: string, priority: number) => void): DelayedKeys {
  const byKey = new Map<string, DelayedKey>();
  const heap: DelayedKey[] = [];
  let timer: Timer | undefined;

  const arm = () => {
    timer?.cancel();
    timer = undefined;
    const head = heap[0];
    if (head) timer = clock.setTimer(Math.max(0, head.at - clock.monotonic()), fire);
  };
  const fire = () => {
    for (let head = heap[0]; head && head.at <= clock.monotonic(); head = heap[0]) {
      popHead(heap);
      // Entries that an earlier time replaced stay in the heap until their own time and are skipped then.
      if (byKey.get(head.key) !== head) continue;
      byKey.delete(head.key);
      onDue(head.key, head.priority);
    }
    arm();
  };

  return {
    add(key, delayMs, priority) {
      const at = clock.monotonic() + delayMs;
      const known = byKey.get(key);
      if (known && known.at <= at && known.priority >= priority) return;
      const entry = {
        key,
        at: Math.min(at, known?.at ?? at),
        priority: Math.max(priority, known?.priority ?? priority),
      };
      byKey.set(key, entry);
      pushEntry(heap, entry);
      if (heap[0] === entry) arm();
    },
    clear() {
      byKey.clear();
      heap.length = 0;
      timer?.cancel();
      timer = undefined;
    },
    size: () => byKey.size,
  };
}

/** Binary min-heap by `at`. */
function pushEntry(heap: DelayedKey[], entry: DelayedKey): void {
  let at = heap.push(entry) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent];
    if (!above || above.at <= entry.at) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = entry;
}

function popHead(heap: DelayedKey[]): void {
  const last = heap.pop();
  if (!last || heap.length === 0) return;
  let at = 0;
  for (;;) {
    const left = 2 * at + 1;
    const child = (heap[left + 1]?.at ?? Number.POSITIVE_INFINITY) < (heap[left]?.at ?? 0) ? left + 1 : left;
    const below = heap[child];
    if (!below || below.at >= last.at) break;
    heap[at] = below;
    at = child;
  }
  heap[at] = last;
}
