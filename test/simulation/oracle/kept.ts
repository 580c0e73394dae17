import { idAt, type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';
import { nameOf, type Scene } from './scene.ts';

/** I4 for what outlives its object: a machine that `deletionPolicy` keeps is destroyed neither with it nor later. */
export class KeptWatch {
  readonly #scene: Scene;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  destroySent(id: number): void {
    const contract = this.#scene.contracts()[id];
    if (!contract) return;
    const owner = this.#scene.ownerOf(contract);
    const isLeaving = owner !== undefined && metadataOf(owner)['deletionTimestamp'] !== undefined;
    // A person may have changed her mind after the machine was marked.
    if (this.#scene.isKept(contract) && !(isLeaving && !keepsMachine(owner)))
      this.#scene.broken('I4', `contract ${id} was destroyed, and had been kept on purpose`);
    if (!isLeaving || !isToKeep(owner, id)) return;
    this.#scene.broken('I4', `contract ${id} was destroyed, and ${nameOf(owner)} says that it stays`);
  }
}

/** Whether an object wants its recorded machine to outlive it. */
export function isToKeep(object: JsonObject, id: number): boolean {
  return keepsMachine(object) && idAt(objectAt(object, 'status'), 'instanceId') === id;
}

/** The same, or its machine that it had no time to record. */
export function mayKeep(object: JsonObject, id: number): boolean {
  const recorded = idAt(objectAt(object, 'status'), 'instanceId') ?? id;
  return keepsMachine(object) && recorded === id;
}

function keepsMachine(object: JsonObject): boolean {
  const { deletionPolicy = 'Destroy' } = objectAt(object, 'spec');
  return deletionPolicy !== 'Destroy';
}
