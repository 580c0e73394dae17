import { parseDollars } from '../../../src/lib/money.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { contractMicros } from '../../../src/simulator/world/ledger.ts';
import { idAt, type JsonObject, metadataOf, objectAt, objectsAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import type { Shortfall } from './converged.ts';
import { priceOf } from './price.ts';
import { nameOf, type Scene } from './scene.ts';

const HOUR_MS = 3_600_000;
/**
 * Amount that an object may count per machine beyond the ledger: a changed price, or a stop, counts once two lists and
 * a read agree; longer while processes had obstacles. A machine that ends without a DELETE of the operator counts until
 * its recorded end, which the lists prove.
 */
const OVER_MS = 150_000;
/**
 * Amount that an object may omit per machine: the service dates its bill in whole seconds, and a list shows a start; a
 * higher price that began while processes had obstacles counts from their next list.
 */
const UNDER_MS = 20_000;
/** A clock is trusted again a minute after the last wrong date; the next list shows the price. */
const UNDATED_MS = 75_000;
/** A DELETE is answered by then. */
const ANSWERED_MS = 20_000;

/** Returns the micro-dollars that a contract has billed until now, live or ended. */
export function billedMicros(scene: Scene, id: number): number {
  const { tables } = scene.world.market.store.current();
  const live = tables.contracts[id];
  return live ? contractMicros(live, scene.now) : (tables.endedContracts[id]?.dollarsMicros ?? 0);
}

/** Returns the part of {@link billedMicros} that falls into the present UTC month. */
export function billedThisMonth(scene: Scene, id: number): number {
  const { contracts, endedContracts } = scene.world.market.store.current().tables;
  const contract = contracts[id] ?? endedContracts[id]?.last;
  const before = contract ? contractMicros(contract, monthStart(scene.now)) : 0;
  return billedMicros(scene, id) - before;
}

function monthStart(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}

/** A time at which a machine began to bill another price, until it billed one more. */
interface Turn {
  readonly key: string;
  readonly from: number;
  readonly until: number;
  /** Micro-dollars of an hour since then. */
  readonly rate: number;
  /** Difference to the minimum that the machine had billed before; negative if it is less. */
  readonly rise: number;
}

/** Money as numbers: what an object says that it has cost is what the ledger billed for its machines (I9). */
export class MoneyWatch {
  readonly #scene: Scene;
  /** Machines that an object has recorded, by a key that is not its uid: that is looked for in the memory of processes. */
  readonly #recorded = new Map<string, Set<number>>();

  readonly #destroys = new Map<number, number>();
  readonly #attempts = new Map<string, number>();
  readonly #restored = new Set<string>();
  /** When something last stood in the way of a process. */
  #hinderedAt = Number.NEGATIVE_INFINITY;
  /** For how long processes could not know of each turn that a record shows by now, by machine and number of its span. */
  readonly #blind = new Map<string, number>();
  /** When machines ended, by the record of their objects. */
  readonly #ends = new Map<number, number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records a sent DELETE of a machine: from its answer on, its object counts nothing more. */
  destroySent(id: number): void {
    if (!this.#destroys.has(id)) this.#destroys.set(id, this.#scene.now);
  }

  /** Records a written object. One whose attempt decreases was restored by a person, with the books of that time. */
  rewritten(object: JsonObject): void {
    const status = statusAt(object);
    const attempt = Number(status['attempt'] ?? 0);
    if (attempt < (this.#attempts.get(keyOf(object)) ?? 0)) this.#restored.add(keyOf(object));
    this.#attempts.set(keyOf(object), attempt);
    for (const machine of objectsAt(status, 'history'))
      this.#ends.set(idAt(machine, 'instanceId') ?? 0, Date.parse(String(machine['endedAt'])));
    const id = idAt(status, 'instanceId');
    if (id === undefined || (status['unconfirmed'] === true && !this.#isMadeFor(id, object))) return;
    this.#noteTurns(id, parseDollars(String(objectAt(status, 'cost')['pricePerHour'])));
    const ids = this.#recorded.get(keyOf(object)) ?? new Set<number>();
    this.#recorded.set(keyOf(object), ids.add(id));
  }

  /** Records an obstacle of a process: it may have learnt of another price only afterwards. */
  hindered(): void {
    this.#hinderedAt = Math.max(this.#hinderedAt, this.#scene.now);
  }

  /** Records a reply with a wrong date: for a while no clock dates another price. */
  timeDoubted(): void {
    this.#hinderedAt = Math.max(this.#hinderedAt, this.#scene.now + UNDATED_MS);
  }

  /** Objects whose books differ from the ledger, once all is calm. */
  shortfalls(): readonly Shortfall[] {
    return [...this.#scene.objects.values()].flatMap((object) => this.#shortfallOf(object) ?? []);
  }

  #shortfallOf(object: JsonObject): Shortfall | undefined {
    const hasCost = statusAt(object)['cost'] !== undefined;
    const isCounted = hasCost && objectAt(object, 'spec')['adopt'] === undefined;
    if (
      !isCounted ||
      this.#restored.has(keyOf(object)) ||
      this.#scene.isHandled(String(metadataOf(object)['uid']))
    )
      return undefined;
    const ids = [...(this.#recorded.get(keyOf(object)) ?? [])];
    const billed = ids.reduce((sum, id) => sum + billedMicros(this.#scene, id), 0);
    const counted = countedMicros(object, this.#scene.now);
    const least =
      billed - ids.reduce((sum, id) => sum + this.#costOver(id, UNDER_MS) + this.#missedMicros(id), 0);
    const most =
      billed +
      ids.reduce((sum, id) => sum + this.#costOver(id, OVER_MS + this.#unseenMs(id) + this.#blindMs(id)), 0);
    const isEnough = counted >= least - CENT || !ids.every((id) => this.#isPlain(id));
    // Without a known price the maximum counts, and the status says so.
    const isEstimated = objectsAt(statusAt(object), 'history').some((past) => past['costEstimated'] === true);
    if (isEnough && (counted <= most + CENT || isEstimated)) return undefined;
    const text = `${nameOf(object)} counts $${dollars(counted)} for its machines`;
    return { invariant: 'I9', text: `${text} ${ids.join(', ')}, and the ledger $${dollars(billed)}` };
  }

  /**
   * Returns true if the machine was rented for the object: the reply to a rental may name another one, which the object
   * drops when lists contradict it.
   */
  #isMadeFor(id: number, object: JsonObject): boolean {
    return this.#scene.madeBy({ id })?.uid === metadataOf(object)['uid'];
  }

  /**
   * Returns true if the object of a machine could know its whole bill: it was rented for that object, and lives or
   * ended when its DELETE was answered.
   */
  #isPlain(id: number): boolean {
    const { endedContracts } = this.#scene.world.market.store.current().tables;
    const [ended, destroyedAt] = [endedContracts[id], this.#destroys.get(id)];
    if (this.#scene.madeBy({ id }) === undefined) return false;
    if (!ended) return destroyedAt === undefined;
    return destroyedAt !== undefined && ended.endedAt - destroyedAt < ANSWERED_MS;
  }

  /** Returns the milliseconds for which a machine was gone before its object knew. */
  #unseenMs(id: number): number {
    const ended = this.#scene.world.market.store.current().tables.endedContracts[id];
    return ended ? Math.max(0, (this.#ends.get(id) ?? 0) - ended.endedAt) : 0;
  }

  /**
   * Records a price in the record: every change up to it is known from now on. A process with an obstacle may forget it
   * again.
   */
  #noteTurns(id: number, price: number | undefined): void {
    for (const { key, from, rate, rise } of this.#turnsOf(id)) {
      const isShown = price !== undefined && (rise < 0 ? price <= rate : price >= rate);
      if (!isShown) this.#blind.delete(key);
      else if (!this.#blind.has(key)) this.#blind.set(key, Math.max(0, this.#hinderedAt - from));
    }
  }

  /** Returns the milliseconds of obstacles after a change. A change that no process saw has no date. */
  #blindAfter({ key, from, until }: Turn): number {
    return this.#blind.get(key) ?? Math.max(0, Math.min(this.#hinderedAt, until) - from);
  }

  /** Returns the milliseconds of obstacles after the machine began to bill less. */
  #blindMs(id: number): number {
    const falls = this.#turnsOf(id).filter(({ rise }) => rise < 0);
    return falls.reduce((sum, turn) => sum + this.#blindAfter(turn), 0);
  }

  /** Returns the bill of the machine beyond an earlier price while processes had obstacles. */
  #missedMicros(id: number): number {
    const rises = this.#turnsOf(id).filter(({ rise }) => rise > 0);
    return rises.reduce((sum, turn) => sum + turn.rise * (this.#blindAfter(turn) / HOUR_MS), 0);
  }

  #turnsOf(id: number): readonly Turn[] {
    const rates = (this.#contractOf(id)?.spans ?? []).map(({ from, until, gpuPerHour, diskPerHour }) => ({
      from,
      until: until ?? this.#scene.now,
      rate: gpuPerHour + diskPerHour,
    }));
    return rates.flatMap(({ from, until, rate }, index) => {
      const before = rates[index - 1]?.rate;
      if (before === undefined || before === rate) return [];
      const least = Math.min(...rates.slice(0, index).map((span) => span.rate));
      return [
        { key: `${id} ${index}`, from, until, rate, rise: before > rate ? rate - before : rate - least },
      ];
    });
  }

  #contractOf(id: number): Contract | undefined {
    const { contracts, endedContracts } = this.#scene.world.market.store.current().tables;
    return contracts[id] ?? endedContracts[id]?.last;
  }

  #costOver(id: number, ms: number): number {
    const contract = this.#contractOf(id);
    return contract ? priceOf(contract) * (ms / HOUR_MS) : 0;
  }
}

/** A status rounds what has accrued. */
const CENT = 2_000;
const dollars = (micros: number): string => (micros / 1e6).toFixed(4);

/** Returns the total cost of all machines until then by a status, in micro-dollars. */
function countedMicros(object: JsonObject, now: number): number {
  const status = statusAt(object);
  const { accrued, since, pricePerHour } = objectAt(status, 'cost');
  const running = since === undefined ? 0 : Math.max(0, now - Date.parse(String(since)));
  const price = parseDollars(String(pricePerHour)) ?? 0;
  return (parseDollars(String(accrued)) ?? 0) + price * (running / HOUR_MS);
}

const keyOf = (object: JsonObject): string => `money of ${String(metadataOf(object)['uid'])}`;
