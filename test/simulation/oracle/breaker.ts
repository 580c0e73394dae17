import type { Contract } from '../../../src/simulator/world/world.ts';
import type { Machine } from '../machine.ts';
import { metadataOf, objectAt } from '../memory-kube/json.ts';
import type { Scene } from './scene.ts';

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

/**
 * The breaker, counted anew from the ledger: when more machines turn bad from one list to the next than an account
 * allows, or the list fails, no process replaces any before it has read two lists in which nothing turned bad.
 */
export class BreakerWatch {
  readonly #scene: Scene;
  #seen = new WeakMap<Machine, Seen>();
  /** Tries to get a list that failed in a row, and when the last failed that counts. */
  readonly #failed = new WeakMap<Machine, { readonly tries: number; readonly at: number }>();
  readonly #destroyed = new Set<number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** A process sends for a list that it will get as it is. */
  listed(machine: Machine): void {
    this.answered(machine);
    const recorded = this.#recorded();
    const well = new Set(recorded.filter((contract) => this.#isWell(contract)).map(({ id }) => id));
    const before = this.#seen.get(machine) ?? { well, openedAt: undefined, calm: 0 };
    const turnedBad = recorded.filter(({ id }) => before.well.has(id) && !well.has(id)).length;
    this.#seen.set(machine, this.#after(before, { well, turnedBad, of: recorded.length }));
  }

  /** A process sends for a list that it may get otherwise than it is: whichever failed before were too few. */
  answered(machine: Machine): void {
    this.#failed.delete(machine);
  }

  /** A process sends for a list that the service will fail to give. After the last try it knows nothing. */
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
    if (turnedBad > Math.max(LEAST_MASS, this.#scene.mostBadOf(of)))
      return { well, openedAt: this.#scene.now, calm: 0 };
    const calmNow = turnedBad === 0 ? calm + 1 : 0;
    return { well, openedAt: calmNow < CALM_LISTS ? openedAt : undefined, calm: calmNow };
  }

  /** Something stood in a process's way: what it knows is not known here. */
  hindered(): void {
    this.#seen = new WeakMap();
  }

  destroySent(machine: Machine, id: number): void {
    const isHeld = this.#recorded().some((contract) => contract.id === id);
    this.#destroyed.add(id);
    if (isHeld && this.isOpenFor(machine))
      this.#scene.broken('I4', `contract ${id} was given up while the breaker had to be open`);
  }

  /** Whether that process has to know that the breaker is open. */
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
