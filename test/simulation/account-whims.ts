import type { AccountOwner } from './account-owner.ts';
import type { Chance } from './chance.ts';
import { OTHER_NAMESPACE } from './installer.ts';
import type { Invariants } from './invariants.ts';
import type { JsonObject } from './memory-kube/json.ts';
import type { Users } from './users.ts';

/** No key, an empty one, and two. */
const SPOILT: readonly [Readonly<Record<string, string>>, ...Readonly<Record<string, string>>[]] = [
  {},
  { 'api-key': '' },
  { 'api-key': 'two words' },
];

const VISIT_SECONDS = 60;
/** Machines get a second each, as many as may be. */
const HASTY: JsonObject = {
  timeouts: { provisioning: '1s', loading: '1s', start: '1s' },
  replacement: { maxPerHour: 100 },
};

/** Maximum price of a machine whose object sets none. */
export const PRICE_LIMIT: JsonObject = { maxPricePerHour: '0.90' };

const TEAM = 'team';
const TEAM_ALLOWED: JsonObject = { from: 'Selector', selector: { matchLabels: { [TEAM]: 'gpu' } } };

export interface AccountWhimsOptions {
  readonly users: Users;
  readonly invariants: Invariants;
  readonly chance: Chance;
  /** True if a sweeper destroys orphaned machines. */
  readonly isSwept: boolean;
  /** True if objects of another namespace rent with the account. */
  readonly hasFar: boolean;
  /** True if there are two accounts. */
  readonly hasSecond: boolean;
  /** True if machines recover while the breaker has its usual settings. */
  readonly keepsBreaker: boolean;
  /** True if groups leave the price of their workers to the account. */
  readonly leavesPrice: boolean;
}

/** Random actions of users on their account and its key. */
export class AccountWhims {
  readonly #options: AccountWhimsOptions;

  constructor(options: AccountWhimsOptions) {
    this.#options = options;
  }

  /** Performs one random action on an account. */
  act(): void {
    const { users, chance, hasFar, hasSecond } = this.#options;
    const account = hasSecond && chance.isWithin(0.5) ? users.second : users.account;
    chance.doOneOf([
      [hasFar ? 60 : 0, () => this.#allow(account)],
      [hasFar ? 15 : 0, () => users.visit(`hasty.${OTHER_NAMESPACE}`, HASTY, VISIT_SECONDS)],
      [hasFar ? 15 : 0, () => this.#steal()],
      [30, () => void account.rotateKey()],
      [20, () => account.removeKey()],
      [10, () => account.spoilKey(chance.oneOf(SPOILT))],
      [15, () => account.narrowKey()],
      [10, () => account.blindKey()],
      [20, () => account.set({ orphanPolicy: 'Report' })],
      [30, () => account.set({ limits: { maxInstances: chance.upTo(4) } })],
      [30, () => account.set({ limits: { maxPricePerHour: '0.20' } })],
      [10, () => account.set({ limits: { maxSpendPerHour: chance.oneOf(['0.40', '0.80']) } })],
      [10, () => account.set({ limits: { maxSpendPerMonth: chance.oneOf(['0.01', '0.10']) } })],
      [5, () => account.set({ limits: { minCredit: '1000000' } })],
      [15, () => account.set({ limits: {} })],
      [15, () => account.set({ pollInterval: chance.oneOf(['5s', '30s', '1m']) })],
      [10, () => account.set({ maxUnhealthy: chance.oneOf([10, '100%', '1%']) })],
      [10, () => this.#closeBreaker(account)],
      [15, () => account.suspend()],
      [25, () => account.resume()],
    ]);
  }

  /** Performs one hostile action: a tenant requests another tenant's machine, or a key has too few permissions. */
  actHostile(): void {
    const { users, chance } = this.#options;
    const account = chance.isWithin(0.5) ? users.second : users.account;
    chance.doOneOf([
      [3, () => this.#steal()],
      [3, () => this.#claim()],
      [3, () => users.visit(`hasty.${OTHER_NAMESPACE}`, HASTY, VISIT_SECONDS)],
      [3, () => this.#allow(users.account)],
      [2, () => account.narrowKey()],
      [1, () => account.blindKey()],
      [3, () => account.bringKeyBack()],
    ]);
  }

  /** Completes whatever users left half done. */
  settle(): void {
    const { users, isSwept, hasFar, keepsBreaker, leavesPrice } = this.#options;
    for (const account of users.accounts) {
      account.set({
        ...(hasFar && { allowedNamespaces: { from: 'All' } }),
        limits: leavesPrice ? PRICE_LIMIT : {},
        pollInterval: '10s',
        // Whoever has looked wants what is dead replaced at once, if they look.
        maxUnhealthy: keepsBreaker ? '20%' : '100%',
        orphanPolicy: isSwept ? 'Destroy' : 'Report',
        suspend: false,
      });
      account.bringKeyBack();
    }
  }

  /** Requests, from another namespace, a machine that people rented by hand. The account does not allow that. */
  #steal(): void {
    const { users } = this.#options;
    const instanceId = users.unlabelledMachine();
    if (instanceId === undefined) return;
    users.visit(
      `thief.${OTHER_NAMESPACE}`,
      { adopt: { instanceId: String(instanceId), policy: 'Manage' } },
      VISIT_SECONDS,
    );
  }

  /** Requests, from another namespace, the machine of an existing object. */
  #claim(): void {
    const { users } = this.#options;
    const name = users.anyName();
    const instanceId = name === undefined ? undefined : users.machineOf(name);
    if (instanceId === undefined) return;
    users.visit(
      `claimer.${OTHER_NAMESPACE}`,
      { adopt: { instanceId: String(instanceId), policy: 'Manage' } },
      VISIT_SECONDS,
    );
  }

  /** Changes which namespaces may use the account. */
  #allow(account: AccountOwner): void {
    const { users, chance } = this.#options;
    chance.doOneOf([
      [2, () => account.set({ allowedNamespaces: { from: 'Same' } })],
      [2, () => account.set({ allowedNamespaces: { from: 'All' } })],
      [2, () => account.set({ allowedNamespaces: TEAM_ALLOWED })],
      [3, () => users.labelNamespace(OTHER_NAMESPACE, TEAM, chance.oneOf(['gpu', null]))],
    ]);
  }

  #closeBreaker(account: AccountOwner): void {
    account.closeBreaker();
    this.#options.invariants.hindered();
  }
}
