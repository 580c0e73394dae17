import { idAt, type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';
import type { Commit } from '../memory-kube/store.ts';
import { statusAt } from '../status-at.ts';
import { HeldSince } from './held-since.ts';
import { nameOf, type Scene } from './scene.ts';

/** I4 for what outlives its object: a machine that `deletionPolicy` keeps is destroyed neither with it nor later. */
export class KeptWatch {
  readonly #scene: Scene;
  readonly #keeps = new HeldSince('kept', keepsMachine);

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** An object was written or removed. */
  committed(commit: Commit): void {
    this.#keeps.committed(commit, this.#scene.now);
  }

  destroySent(id: number): void {
    const contract = this.#scene.contracts()[id];
    if (!contract) return;
    const owner = this.#scene.ownerOf(contract);
    const isLeaving = owner !== undefined && metadataOf(owner)['deletionTimestamp'] !== undefined;
    // A person may have changed her mind after the machine was marked.
    if (this.#scene.isKept(contract) && !(isLeaving && !keepsMachine(owner)))
      this.#scene.broken('I4', `contract ${id} was destroyed, and had been kept on purpose`);
    if (!isLeaving || !isToKeep(owner, id) || !this.#keeps.isKnown(owner, this.#scene.now)) return;
    this.#scene.broken('I4', `contract ${id} was destroyed, and ${nameOf(owner)} says that it stays`);
  }
}

/** Whether an object wants its recorded machine to outlive it. */
export function isToKeep(object: JsonObject, id: number): boolean {
  return keepsMachine(object) && idAt(statusAt(object), 'instanceId') === id;
}

/** The same, or its machine that it had no time to record; one that only a wrong reply named is no record. */
export function mayKeep(object: JsonObject, id: number): boolean {
  const status = statusAt(object);
  const recorded = status['unconfirmed'] === true ? id : (idAt(status, 'instanceId') ?? id);
  return keepsMachine(object) && recorded === id;
}

function keepsMachine(object: JsonObject): boolean {
  const { deletionPolicy = 'Destroy' } = objectAt(object, 'spec');
  return deletionPolicy !== 'Destroy';
}
