import { parseDollars } from '../../../src/lib/money.ts';
import { creditMicros } from '../../../src/simulator/world/ledger.ts';
import { equalJson, type JsonObject, objectAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { limitsOf } from './accounts.ts';
import type { Scene } from './scene.ts';

/** Time for which a process may use changed limits: watches lag, and are interrupted and restarted. */
const LIMITS_ARE_KNOWN_MS = 30_000;

/** Limits of one account, present and recent, and whether its credit is too low for any rental. */
export class AccountLimits {
  readonly #scene: Scene;
  #limits: JsonObject | undefined;
  #former: readonly { readonly limits: JsonObject; readonly until: number }[] = [];
  #poorSince = Number.POSITIVE_INFINITY;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records the present account; called repeatedly. */
  follow(account: JsonObject): void {
    const limits = limitsOf(account);
    if (limits !== this.#limits) this.#changed(limits);
    const { minCredit } = limits;
    const isPoor =
      minCredit !== undefined && this.#creditOf(account) <= (parseDollars(String(minCredit)) ?? 0);
    this.#poorSince = isPoor ? Math.min(this.#poorSince, this.#scene.now) : Number.POSITIVE_INFINITY;
  }

  /** Returns the limits that a process may use now. */
  known(): readonly JsonObject[] {
    const former = this.#former.filter(({ until }) => this.#scene.now < until);
    return [this.#limits ?? {}, ...former.map(({ limits }) => limits)];
  }

  /** Returns the milliseconds for which the credit has been below its minimum. */
  poorForMs(): number {
    return this.#scene.now - this.#poorSince;
  }

  #creditOf(account: JsonObject): number {
    const world = this.#scene.world.market.store.current();
    const { userId } = objectAt(statusAt(account), 'login');
    const [first] = Object.values(world.tables.users);
    const user = userId === undefined ? first : world.tables.users[Number(userId)];
    return user ? creditMicros(world, user, this.#scene.now) : Number.POSITIVE_INFINITY;
  }

  #changed(limits: JsonObject): void {
    const before = this.#limits;
    this.#limits = limits;
    if (before === undefined || equalJson(limits, before)) return;
    const { now } = this.#scene;
    const standing = this.#former.filter(({ until }) => until > now);
    this.#former = [...standing, { limits: before, until: now + LIMITS_ARE_KNOWN_MS }];
  }
}
