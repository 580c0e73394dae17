import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import type { Machine } from '../machine.ts';
import { type JsonObject, metadataOf } from '../memory-kube/json.ts';
import { hasUsableRecord, statusAt } from '../status-at.ts';
import { CleanLists } from './clean-lists.ts';
import { fitsItsLabel } from './purchase.ts';
import { nameOf, type Scene } from './scene.ts';

/** The first list may have been under way; then the status has to be written. */
const PATIENCE = { lists: 3, withinMs: 5_000 };

/** I1: the machine of an object's newest purchase does not bill for long without standing on its record. */
export class UnrecordedWatch {
  readonly #scene: Scene;
  readonly #lists: CleanLists<number>;

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#lists = new CleanLists({ ...PATIENCE, now: () => scene.now });
  }

  changed(): void {
    const unrecorded = this.#scene.live().filter((contract) => this.#isUnrecorded(contract));
    const ids = new Set(unrecorded.map(({ id }) => id));
    for (const id of this.#lists.keys()) if (!ids.has(id)) this.#lists.end(id);
    for (const id of ids) this.#lists.begin(id);
  }

  /** Records a request for the list of that login, or of any. */
  listed(machine: Machine, userId: number | undefined): void {
    this.#lists.listed(machine, (id) => this.#scene.isListedFor(id, userId));
  }

  hindered(): void {
    this.#lists.hindered();
  }

  elapsed(): void {
    for (const id of this.#lists.overdue()) {
      this.#lists.end(id);
      const contract = this.#scene.contracts()[id];
      const owner = contract && this.#scene.ownerOf(contract);
      if (owner)
        this.#scene.broken('I1', `contract ${id} of ${nameOf(owner)} bills and is not on its record`);
    }
  }

  #isUnrecorded(contract: Contract): boolean {
    const purchase = this.#scene.purchaseOf(contract);
    const owner = this.#scene.ownerOf(contract);
    if (!purchase || !owner || this.#scene.isHandled(purchase.uid) || !this.#scene.isWatched(owner))
      return false;
    if (metadataOf(owner)['uid'] !== purchase.uid || !hasUsableRecord(owner)) return false;
    const isOwn = contract.label === null || fitsItsLabel(contract);
    return isOwn && !isLeaving(owner) && purchase.attempt > attemptOf(owner);
  }
}

const isLeaving = (object: JsonObject): boolean => metadataOf(object)['deletionTimestamp'] !== undefined;
const attemptOf = (object: JsonObject): number => Number(statusAt(object)['attempt'] ?? 0);
