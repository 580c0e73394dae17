import type { Chance } from './chance.ts';
import type { Invariants } from './invariants.ts';
import type { Users } from './users.ts';

/** No key, an empty one, and two. */
const SPOILT: readonly [Readonly<Record<string, string>>, ...Readonly<Record<string, string>>[]] = [
  {},
  { 'api-key': '' },
  { 'api-key': 'two words' },
];

export interface AccountWhimsOptions {
  readonly users: Users;
  readonly invariants: Invariants;
  readonly chance: Chance;
  /** Whether a sweeper destroys what nobody claims. */
  readonly isSwept: boolean;
}

/** What users come to do with their account and its key. */
export class AccountWhims {
  readonly #options: AccountWhimsOptions;

  constructor(options: AccountWhimsOptions) {
    this.#options = options;
  }

  /** Somebody does something. */
  act(): void {
    const { users, chance } = this.#options;
    chance.doOneOf([
      [30, () => void users.account.rotateKey()],
      [20, () => users.account.removeKey()],
      [10, () => users.account.spoilKey(chance.oneOf(SPOILT))],
      [20, () => users.account.set({ orphanPolicy: 'Report' })],
      [30, () => users.account.set({ limits: { maxInstances: chance.upTo(4) } })],
      [30, () => users.account.set({ limits: { maxPricePerHour: '0.20' } })],
      [10, () => users.account.set({ limits: { maxSpendPerHour: chance.oneOf(['0.40', '0.80']) } })],
      [10, () => users.account.set({ limits: { maxSpendPerMonth: chance.oneOf(['0.01', '0.10']) } })],
      [5, () => users.account.set({ limits: { minCredit: '1000000' } })],
      [15, () => users.account.set({ limits: {} })],
      [15, () => users.account.set({ pollInterval: chance.oneOf(['5s', '30s', '1m']) })],
      [10, () => users.account.set({ maxUnhealthy: chance.oneOf([10, '100%', '1%']) })],
      [10, () => this.#closeBreaker()],
    ]);
  }

  /** What people left in the middle, they end. */
  settle(): void {
    const { users, isSwept } = this.#options;
    users.account.set({
      limits: {},
      pollInterval: '10s',
      maxUnhealthy: '20%',
      orphanPolicy: isSwept ? 'Destroy' : 'Report',
    });
    users.account.bringKeyBack();
  }

  #closeBreaker(): void {
    this.#options.users.account.closeBreaker();
    this.#options.invariants.hindered();
  }
}
