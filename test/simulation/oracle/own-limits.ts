import { parseDuration } from '../../../src/lib/time.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { idAt, isObject, type JsonObject, listAt, metadataOf, objectAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { priceOf } from './price.ts';
import type { Scene } from './scene.ts';

/** An operator counts from when it decided to rent, a little before the machine begins. */
const EARLIER_MS = 5000;
/** It is destroyed at the next look, and that is repeated where it does not help. */
const OVERRUN_MS = 120_000;
const HOUR_MS = 3_600_000;
const MICROS = 1e6;

interface Stay {
  readonly from: number;
  /** One that is taken over is claimed some time between this and `from`. */
  readonly createdAt: number;
  readonly microsPerHour: number;
  until: number | undefined;
}

/** Counts what the machines of an object lived and cost, from the ledger: `maxLifetime` and `maxTotalCost` end them. */
export class OwnLimits {
  readonly #scene: Scene;
  readonly #stays = new Map<string, Map<number, Stay>>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** From now on an object has that machine, rented or taken over; asked again and again. */
  holds(contract: Contract, uid: string): void {
    const { id, createdAt } = contract;
    const stays = this.#stays.get(keyOf(uid)) ?? new Map<number, Stay>();
    if (stays.has(id)) return;
    const stay = { from: this.#scene.now, createdAt, microsPerHour: priceOf(contract), until: undefined };
    this.#stays.set(keyOf(uid), stays.set(id, stay));
  }

  ended({ id }: Contract): void {
    for (const stays of this.#stays.values()) {
      const stay = stays.get(id);
      if (stay) stay.until = this.#scene.now;
    }
  }

  /** Whether an object may hold no machine any more, by its own spec. */
  isReached(object: JsonObject): boolean {
    return this.#isReachedBy(object, this.#scene.now, EARLIER_MS);
  }

  /** The same for so long that its machine has to be gone. */
  isOverrun(object: JsonObject): boolean {
    return this.#isReachedBy(object, this.#scene.now - OVERRUN_MS, 0);
  }

  /** Each machine counts so many milliseconds from before it began, also one that has ended. */
  #isReachedBy(object: JsonObject, now: number, earlierMs: number): boolean {
    const { maxLifetime, maxTotalCost } = objectAt(object, 'spec');
    const uid = String(metadataOf(object)['uid']);
    const seen = endsOnRecord(object);
    const stays = [...(this.#stays.get(keyOf(uid)) ?? [])].map(([id, stay]) => ({
      ...stay,
      from: earlierMs > 0 ? Math.min(stay.from, stay.createdAt) - earlierMs : stay.from,
      until: stay.until && Math.max(stay.until, seen.get(id) ?? 0),
    }));
    const longest = parseDuration(typeof maxLifetime === 'string' ? maxLifetime : undefined);
    const began = [...stays.map(({ from }) => from), ...(earlierMs > 0 ? takenOverAt(object) : [])];
    if (longest !== undefined && began.some((from) => now - from >= longest)) return true;
    const cost = stays.reduce((sum, { from, until, microsPerHour }) => {
      return sum + Math.max(0, Math.min(until ?? now, now) - from) * (microsPerHour / HOUR_MS);
    }, 0);
    const unseen = earlierMs > 0 ? costUnseen(object, this.#stays.get(keyOf(uid))) : 0;
    return maxTotalCost !== undefined && cost + unseen >= Number(maxTotalCost) * MICROS;
  }
}

/** A machine that was taken over may end before it shows whose it is. */
function takenOverAt(object: JsonObject): readonly number[] {
  const { firstRentedAt } = statusAt(object);
  const isTakenOver = objectAt(object, 'spec')['adopt'] !== undefined && firstRentedAt !== undefined;
  return isTakenOver ? [Date.parse(String(firstRentedAt))] : [];
}

/** What the record says of it then, which counts until the first list without it; in micro-dollars. */
function costUnseen(object: JsonObject, stays: ReadonlyMap<number, Stay> | undefined): number {
  const id = Number(objectAt(objectAt(object, 'spec'), 'adopt')['instanceId']);
  if (stays?.has(id)) return 0;
  const ended = listAt(statusAt(object), 'history').filter(isObject);
  return Number(ended.find((machine) => idAt(machine, 'instanceId') === id)?.['cost'] ?? 0) * MICROS;
}

/** Nobody sees a machine vanish while no operator runs: it counts until the first list without it. */
function endsOnRecord(object: JsonObject): ReadonlyMap<number, number> {
  const ended = listAt(statusAt(object), 'history').filter(isObject);
  return new Map(
    ended.map((machine) => [Number(machine['instanceId']), Date.parse(String(machine['endedAt']))]),
  );
}

/** Not the uid itself: that is looked for in the memory of processes. */
const keyOf = (uid: string): string => `limits of ${uid}`;
