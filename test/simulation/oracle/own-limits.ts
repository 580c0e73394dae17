import { parseDollars } from '../../../src/lib/money.ts';
import { parseDuration } from '../../../src/lib/time.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { idAt, isObject, type JsonObject, listAt, metadataOf, objectAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { priceOf } from './price.ts';
import type { Scene } from './scene.ts';

/** An operator counts from when it decided to rent, a little before the machine begins. */
const EARLIER_MS = 5000;
/** Time for the destroy at the next poll, including its repetition. */
const OVERRUN_MS = 120_000;
const HOUR_MS = 3_600_000;
const MICROS = 1e6;

interface Stay {
  readonly from: number;
  /** Start; that of an adopted machine is some time between this and `from`. */
  readonly createdAt: number;
  readonly microsPerHour: number;
  /** Assumed price in the record while lists named none that can be believed, in micro-dollars an hour. */
  assumed: number;
  until: number | undefined;
}

/** Counts what the machines of an object lived and cost, from the ledger: `maxLifetime` and `maxTotalCost` end them. */
export class OwnLimits {
  readonly #scene: Scene;
  readonly #stays = new Map<string, Map<number, Stay>>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records that an object has that machine, rented or adopted; called repeatedly. */
  holds(contract: Contract, uid: string): void {
    const { id, createdAt } = contract;
    const stays = this.#stays.get(keyOf(uid)) ?? new Map<number, Stay>();
    if (stays.has(id)) return;
    const microsPerHour = priceOf(contract);
    const stay = { from: this.#scene.now, createdAt, microsPerHour, assumed: 0, until: undefined };
    this.#stays.set(keyOf(uid), stays.set(id, stay));
  }

  /** Records the price at which an object counts its machine while no list names one that can be believed. */
  recorded(object: JsonObject): void {
    const status = statusAt(object);
    const { priceAssumed, pricePerHour } = objectAt(status, 'cost');
    const stay = this.#stays.get(keyOf(String(metadataOf(object)['uid'])))?.get(Number(status['instanceId']));
    if (stay && priceAssumed === true) stay.assumed = parseDollars(String(pricePerHour)) ?? 0;
  }

  ended({ id }: Contract): void {
    for (const stays of this.#stays.values()) {
      const stay = stays.get(id);
      if (stay) stay.until = this.#scene.now;
    }
  }

  /** Returns true if an object may have no machine any more, by its own spec. */
  isReached(object: JsonObject): boolean {
    return this.#isReachedBy(object, this.#scene.now, EARLIER_MS);
  }

  /** Returns true if the limit has been reached for so long that its machine must be gone. */
  isOverrun(object: JsonObject): boolean {
    return this.#isReachedBy(object, this.#scene.now - OVERRUN_MS, 0);
  }

  /**
   * Returns true if the limit is reached with each machine, also an ended one, counted from that many milliseconds
   * before its start.
   */
  #isReachedBy(object: JsonObject, now: number, earlierMs: number): boolean {
    const { maxLifetime, maxTotalCost } = objectAt(object, 'spec');
    const uid = String(metadataOf(object)['uid']);
    const seen = endsOnRecord(object);
    const stays = [...(this.#stays.get(keyOf(uid)) ?? [])].map(([id, stay]) => ({
      ...stay,
      from: earlierMs > 0 ? Math.min(stay.from, stay.createdAt) - earlierMs : stay.from,
      until: stay.until && Math.max(stay.until, seen.get(id) ?? 0),
      microsPerHour: Math.max(stay.microsPerHour, earlierMs > 0 ? stay.assumed : 0),
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

/** Returns the times of adoptions: an adopted machine may end before its owner is known. */
function takenOverAt(object: JsonObject): readonly number[] {
  const { firstRentedAt } = statusAt(object);
  const isTakenOver = objectAt(object, 'spec')['adopt'] !== undefined && firstRentedAt !== undefined;
  return isTakenOver ? [Date.parse(String(firstRentedAt))] : [];
}

/** Returns the recorded cost at that time, which counts until the first list without the machine; in micro-dollars. */
function costUnseen(object: JsonObject, stays: ReadonlyMap<number, Stay> | undefined): number {
  const id = Number(objectAt(objectAt(object, 'spec'), 'adopt')['instanceId']);
  if (stays?.has(id)) return 0;
  const ended = listAt(statusAt(object), 'history').filter(isObject);
  return Number(ended.find((machine) => idAt(machine, 'instanceId') === id)?.['cost'] ?? 0) * MICROS;
}

/**
 * Returns the recorded ends: a machine that vanishes without a running operator counts until the first list without it.
 */
function endsOnRecord(object: JsonObject): ReadonlyMap<number, number> {
  const ended = listAt(statusAt(object), 'history').filter(isObject);
  return new Map(
    ended.map((machine) => [Number(machine['instanceId']), Date.parse(String(machine['endedAt']))]),
  );
}

/** Returns a key other than the uid, which the test searches in the memory of processes. */
const keyOf = (uid: string): string => `limits of ${uid}`;
