import type { Contract } from '../../../src/simulator/world/world.ts';
import type { Machine } from '../machine.ts';
import { metadataOf, objectAt } from '../memory-kube/json.ts';
import { accountKeyOf, mostBadOf } from './accounts.ts';
import { keyOf, type Scene } from './scene.ts';

const LEAST_MASS = 3;
const CALM_LISTS = 2;
/** How often a list is asked for before it counts as failed. */
const TRIES = 3;
/** What was decided before the list in which the machines turned bad may still be on its way. */
const UNDER_WAY_MS = 5_000;
const BAD: ReadonlySet<string> = new Set(['exited', 'unknown', 'offline']);

/** What one process has seen since anything last stood in its way. */
interface Seen {
  well: ReadonlySet<number>;
  openedAt: number | undefined;
  calm: number;
}

/** The breakers of all accounts. One that is open keeps machines of its own account, and its login from being swept. */
export class BreakerWatch {
  readonly #scene: Scene;
  readonly #ofAccounts = new Map<string, AccountBreaker>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** A process sends for a list of that login that it will get as it is. */
  listed(machine: Machine, userId: number | undefined): void {
    for (const breaker of this.#ofLogin(userId)) breaker.listed(machine);
  }

  /** A process sends for a list that it may get otherwise than it is: whichever failed before were too few. */
  answered(machine: Machine, userId: number | undefined): void {
    for (const breaker of this.#ofLogin(userId)) breaker.answered(machine);
  }

  /** A process sends for a list that the service will fail to give. After the last try it knows nothing. */
  listFails(machine: Machine, userId: number | undefined): void {
    for (const breaker of this.#ofLogin(userId)) breaker.listFails(machine);
  }

  /** Something stood in a process's way: what it knows is not known here. */
  hindered(): void {
    for (const breaker of this.#ofAccounts.values()) breaker.hindered();
  }

  destroySent(machine: Machine, id: number): void {
    for (const breaker of this.#ofAccounts.values()) breaker.destroySent(machine, id);
  }

  /** Whether that process has to know that one is open of the login that has that contract. */
  isOpenFor(machine: Machine, id: number): boolean {
    const userId = this.#scene.contracts()[id]?.userId;
    return this.#ofLogin(userId).some((breaker) => breaker.isOpenFor(machine));
  }

  #ofLogin(userId: number | undefined): readonly AccountBreaker[] {
    return this.#scene.accounts.ofLogin(userId).map((account) => {
      const key = keyOf(account);
      const breaker = this.#ofAccounts.get(key) ?? new AccountBreaker(this.#scene, key);
      this.#ofAccounts.set(key, breaker);
      return breaker;
    });
  }
}

/**
 * The breaker, counted anew from the ledger: when more machines turn bad from one list to the next than an account
 * allows, or the list fails, no process replaces any before it has read two lists in which nothing turned bad.
 */
class AccountBreaker {
  readonly #scene: Scene;
  readonly #account: string;
  #seen = new WeakMap<Machine, Seen>();
  /** Tries to get a list that failed in a row, and when the last failed that counts. */
  readonly #failed = new WeakMap<Machine, { readonly tries: number; readonly at: number }>();
  readonly #destroyed = new Set<number>();

  /** `account`: its namespace/name. */
  constructor(scene: Scene, account: string) {
    this.#scene = scene;
    this.#account = account;
  }

  listed(machine: Machine): void {
    this.answered(machine);
    const recorded = this.#recorded();
    const well = new Set(recorded.filter((contract) => this.#isWell(contract)).map(({ id }) => id));
    const before = this.#seen.get(machine) ?? { well, openedAt: undefined, calm: 0 };
    const turnedBad = recorded.filter(({ id }) => before.well.has(id) && !well.has(id)).length;
    this.#seen.set(machine, this.#after(before, { well, turnedBad, of: recorded.length }));
  }

  answered(machine: Machine): void {
    this.#failed.delete(machine);
  }

  listFails(machine: Machine): void {
    const { tries: before, at } = this.#failed.get(machine) ?? { tries: 0, at: 0 };
    const failed = { tries: before + 1, at: before < TRIES ? this.#scene.now : at };
    this.#failed.set(machine, failed);
    if (failed.tries < TRIES) return;
    this.#seen.set(machine, { well: new Set(), openedAt: failed.at, calm: 0 });
  }

  #after(
    { openedAt, calm }: Seen,
    { well, turnedBad, of }: { readonly well: ReadonlySet<number>; turnedBad: number; of: number },
  ): Seen {
    if (turnedBad > Math.max(LEAST_MASS, mostBadOf(this.#scene.accounts.get(this.#account), of)))
      return { well, openedAt: this.#scene.now, calm: 0 };
    const calmNow = turnedBad === 0 ? calm + 1 : 0;
    return { well, openedAt: calmNow < CALM_LISTS ? openedAt : undefined, calm: calmNow };
  }

  hindered(): void {
    this.#seen = new WeakMap();
  }

  destroySent(machine: Machine, id: number): void {
    const isHeld = this.#recorded().some((contract) => contract.id === id);
    this.#destroyed.add(id);
    if (isHeld && this.isOpenFor(machine))
      this.#scene.broken('I4', `contract ${id} was given up while the breaker had to be open`);
  }

  isOpenFor(machine: Machine): boolean {
    const openedAt = this.#seen.get(machine)?.openedAt;
    return openedAt !== undefined && this.#scene.now - openedAt >= UNDER_WAY_MS;
  }

  /** Machines that standing objects hold and want, and whose destroy nobody has sent. */
  #recorded(): readonly Contract[] {
    return this.#scene.live().filter((contract) => {
      const owner = this.#scene.ownerOf(contract);
      return (
        owner !== undefined &&
        this.#scene.isWatched(owner) &&
        accountKeyOf(owner) === this.#account &&
        metadataOf(owner)['deletionTimestamp'] === undefined &&
        objectAt(owner, 'status')['instanceId'] === contract.id &&
        !this.#destroyed.has(contract.id)
      );
    });
  }

  #isWell(contract: Contract): boolean {
    return this.#scene.isUp(contract) && !BAD.has(contract.actualStatus ?? '');
  }
}
