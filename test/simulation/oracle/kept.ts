import { idAt, type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';
import type { Commit } from '../memory-kube/store.ts';
import { statusAt } from '../status-at.ts';
import { nameOf, type Scene } from './scene.ts';

/** As old may be what a process knows of an object when it destroys its machine: the answer to its last read of it. */
const LAST_READ_MS = 1_000;

/** I4 for what outlives its object: a machine that `deletionPolicy` keeps is destroyed neither with it nor later. */
export class KeptWatch {
  readonly #scene: Scene;
  /** Since when the policy of an object keeps its machine; no key is a uid, since the memory of processes is asked for these. */
  readonly #keptSince = new Map<string, number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** An object was written or removed. */
  committed({ kind, object, type }: Commit): void {
    if (kind.plural !== 'gpuinstances') return;
    const key = keptKey(object);
    if (type === 'DELETED' || !keepsMachine(object)) this.#keptSince.delete(key);
    else if (!this.#keptSince.has(key)) this.#keptSince.set(key, this.#scene.now);
  }

  destroySent(id: number): void {
    const contract = this.#scene.contracts()[id];
    if (!contract) return;
    const owner = this.#scene.ownerOf(contract);
    const isLeaving = owner !== undefined && metadataOf(owner)['deletionTimestamp'] !== undefined;
    // A person may have changed her mind after the machine was marked.
    if (this.#scene.isKept(contract) && !(isLeaving && !keepsMachine(owner)))
      this.#scene.broken('I4', `contract ${id} was destroyed, and had been kept on purpose`);
    if (!isLeaving || !isToKeep(owner, id) || this.#isUnseen(owner)) return;
    this.#scene.broken('I4', `contract ${id} was destroyed, and ${nameOf(owner)} says that it stays`);
  }

  /** Whether it was changed after the last look that a process has to take at an object before it destroys its machine. */
  #isUnseen(owner: JsonObject): boolean {
    const since = this.#keptSince.get(keptKey(owner)) ?? Number.NEGATIVE_INFINITY;
    return this.#scene.now - since < LAST_READ_MS;
  }
}

const keptKey = (object: JsonObject): string => `kept ${String(metadataOf(object)['uid'])}`;

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
