import { parseDollars } from '../../../src/lib/money.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';
import { ownerUids } from '../memory-kube/writes.ts';
import type { SimulatedWorld } from '../world.ts';
import type { Shortfall } from './converged.ts';
import { priceOf } from './price.ts';
import { nameOf, type Scene } from './scene.ts';

/** Maximum time for a sent call to arrive. */
const LATE_CALL_MS = 30_000;

/**
 * Watches groups: no new worker beyond `maxWorkers`, no rental beyond `maxSpendPerHour`, and nothing left of a
 * group that is gone.
 */
export class GroupWatch {
  readonly #scene: Scene;
  readonly #seen = new Set<number>();
  readonly #reported = new Set<string>();
  /** Last number of workers of each group. */
  readonly #counts = new Map<string, number>();
  /** The largest `maxWorkers` of each that calls under way may go by, and until when. */
  readonly #maxima = new Map<string, { readonly most: number; readonly until: number }>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  changed(): void {
    for (const [uid, group] of this.#scene.groups) {
      const workers = this.#workersOf(uid);
      this.#checkCount(group, workers.length);
      this.#checkSpend(group, this.#contractsOf(workers));
    }
    for (const { id } of this.#scene.live()) this.#seen.add(id);
  }

  /** Records a deleted group: its workers must have been deleted before. */
  released(uid: string, group: JsonObject): void {
    const left = this.#workersOf(uid).filter((worker) => !this.#scene.isHandled(uidOf(worker)));
    if (left.length === 0) return;
    this.#scene.broken(
      'Group',
      `${nameOf(group)} was let go before its workers ${left.map(nameOf).join(', ')}`,
    );
  }

  /** Returns missing and surplus workers of a group in a calm state. */
  shortfalls(): readonly Shortfall[] {
    return [...this.#scene.groups].flatMap(([uid, group]) => this.#shortfallsOf(uid, group));
  }

  #shortfallsOf(uid: string, group: JsonObject): readonly Shortfall[] {
    const name = nameOf(group);
    if (metadataOf(group)['deletionTimestamp'])
      return [{ invariant: 'ESR', text: `${name} is still being deleted` }];
    const workers = this.#workersOf(uid).filter(
      (worker) => objectAt(worker, 'spec')['powerState'] === 'Running',
    );
    const desired = desiredHotOf(group, this.#scene.world);
    const isShort = workers.length < desired && !this.#isAtCeiling(group, workers);
    if (!isShort && workers.length <= desired) return [];
    return [{ invariant: 'ESR', text: `${name} needs ${desired} workers and has ${workers.length}` }];
  }

  /**
   * Checks the number of workers. After `maxWorkers` was lowered there are more at first; only the next worker must
   * fit.
   */
  #checkCount(group: JsonObject, count: number): void {
    const most = this.#mostLately(group);
    const before = this.#counts.get(countKey(group)) ?? 0;
    this.#counts.set(countKey(group), count);
    if (count <= most || count <= before) return;
    this.#report(group, 'count', `${nameOf(group)} has ${count} workers, and may have ${most}`);
  }

  /** Returns the maximum including workers whose call was sent before the maximum was lowered. */
  #mostLately(group: JsonObject): number {
    const key = `maximum of ${uidOf(group)}`;
    const most = Number(objectAt(group, 'spec')['maxWorkers']);
    const known = this.#maxima.get(key);
    const isOver = known === undefined || most >= known.most || this.#scene.now >= known.until;
    const standing = isOver ? { most, until: Number.POSITIVE_INFINITY } : known;
    const isLowered = !isOver && standing.until === Number.POSITIVE_INFINITY;
    this.#maxima.set(key, isLowered ? { ...standing, until: this.#scene.now + LATE_CALL_MS } : standing);
    return standing.most;
  }

  /** Checks the price of a group: running machines may cost any price; only the next rental must fit. */
  #checkSpend(group: JsonObject, contracts: readonly Contract[]): void {
    const ceiling = ceilingOf(group);
    const spent = contracts.reduce((sum, contract) => sum + priceOf(contract), 0);
    const isNew = contracts.some(({ id }) => !this.#seen.has(id));
    if (!isNew || spent <= ceiling) return;
    this.#report(
      group,
      'spend',
      `${nameOf(group)} rents up to $${spent / 1e6}/h, and may $${ceiling / 1e6}/h`,
    );
  }

  #isAtCeiling(group: JsonObject, workers: readonly JsonObject[]): boolean {
    const prices = this.#contractsOf(workers).map(priceOf);
    const spent = prices.reduce((sum, price) => sum + price, 0);
    return spent + (maxPriceOf(group) ?? Math.max(0, ...prices)) > ceilingOf(group);
  }

  #workersOf(group: string): readonly JsonObject[] {
    return [...this.#scene.objects.values()].filter((object) => ownerUids(object).includes(group));
  }

  #contractsOf(workers: readonly JsonObject[]): readonly Contract[] {
    const uids = new Set(workers.map(uidOf));
    return this.#scene.live().filter((contract) => uids.has(this.#scene.purchaseOf(contract)?.uid ?? ''));
  }

  #report(group: JsonObject, what: string, text: string): void {
    const key = `${what} ${uidOf(group)}`;
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    this.#scene.broken('Group', text);
  }
}

const uidOf = (object: JsonObject): string => String(metadataOf(object)['uid']);

/** Returns a key other than the uid, which the test searches in the memory of processes. */
const countKey = (group: JsonObject): string => `workers of ${uidOf(group)}`;

const ceilingOf = (group: JsonObject): number =>
  parseDollars(String(objectAt(group, 'spec')['maxSpendPerHour'])) ?? Number.POSITIVE_INFINITY;

/** Returns the maximum price of one more worker: that of its offers; undefined if they have none. */
function maxPriceOf(group: JsonObject): number | undefined {
  const spec = objectAt(objectAt(objectAt(group, 'spec'), 'template'), 'spec');
  const [offer] = Array.isArray(spec['offers']) ? spec['offers'] : [];
  const { maxPricePerHour } = offer as JsonObject;
  return parseDollars(String(maxPricePerHour));
}

/** Returns the desired hot workers of a group: set by hand, or else by its written or offered load. */
export function desiredHotOf(group: JsonObject, { gateway }: Pick<SimulatedWorld, 'gateway'>): number {
  const spec = objectAt(group, 'spec');
  const { replicas, minLoad, expectedPerf, targetUtilizationPercent, scaleToZero, maxWorkers } = spec;
  const written = Number(objectAt(objectAt(spec, 'load'), 'static')['load']);
  const load = Math.max(gateway?.offeredTo(nameOf(group)) ?? written, Number(minLoad ?? 0));
  const perf = (Number(expectedPerf) * Number(targetUtilizationPercent ?? 100)) / 100;
  const byLoad = Math.max(Math.ceil(load / perf), scaleToZero === 'Never' ? 1 : 0);
  return Math.min(Number(maxWorkers), replicas === undefined ? byLoad : Number(replicas));
}
