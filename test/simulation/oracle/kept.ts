import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { idAt, type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';
import type { Commit } from '../memory-kube/store.ts';
import { statusAt } from '../status-at.ts';
import { HeldSince } from './held-since.ts';
import { nameOf, type Scene } from './scene.ts';

/**
 * Watches kept machines: one that `deletionPolicy` keeps is destroyed neither with its object nor later (I4), and one
 * that `Stop` keeps bills its disk only from the deletion of its object on (I9).
 */
export class KeptWatch {
  readonly #scene: Scene;
  readonly #keeps = new HeldSince('kept', keepsMachine);
  /** Machines that were to be stopped when their objects went. */
  readonly #stopped = new Set<number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records a written or removed object. */
  committed(commit: Commit): void {
    this.#keeps.committed(commit, this.#scene.now);
    if (commit.kind.plural === 'gpuinstances' && commit.type === 'DELETED') this.#released(commit.object);
  }

  /** Contracts or objects have changed. */
  changed(): void {
    for (const id of this.#stopped) {
      const contract = this.#scene.contracts()[id];
      if (contract && this.#scene.takerOf(id) === undefined && !computes(contract)) continue;
      this.#stopped.delete(id);
      if (contract && computes(contract) && this.#scene.takerOf(id) === undefined)
        this.#scene.broken('I9', `contract ${id} was kept by Stop, and bills as a machine that runs`);
    }
  }

  /** Records a person's removal of a finalizer, or edit of a record: any machine may then be left. */
  #released(object: JsonObject): void {
    const uid = String(metadataOf(object)['uid']);
    if (policyOf(object) !== 'Stop' || this.#scene.isHandled(uid)) return;
    for (const contract of this.#scene.live()) {
      const purchase = this.#scene.purchaseOf(contract) ?? this.#scene.madeBy(contract);
      const isLeft = isToKeep(object, contract.id) || this.#scene.isKept(contract);
      if (purchase?.uid === uid && isLeft) this.#stopped.add(contract.id);
    }
    this.changed();
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

/** Returns true if an object keeps its recorded machine at deletion. */
export function isToKeep(object: JsonObject, id: number): boolean {
  return keepsMachine(object) && idAt(statusAt(object), 'instanceId') === id;
}

/**
 * Returns true if an object may keep a machine that it had no time to record; one that only a wrong reply named is no
 * record.
 */
export function mayKeep(object: JsonObject, id: number): boolean {
  const status = statusAt(object);
  const recorded = status['unconfirmed'] === true ? id : (idAt(status, 'instanceId') ?? id);
  return keepsMachine(object) && recorded === id;
}

const keepsMachine = (object: JsonObject): boolean => policyOf(object) !== 'Destroy';

function policyOf(object: JsonObject): unknown {
  const { deletionPolicy = 'Destroy' } = objectAt(object, 'spec');
  return deletionPolicy;
}

/** Returns true if a contract bills more than its disk now. */
function computes({ spans }: Contract): boolean {
  const last = spans.at(-1);
  return last?.until === null && last.gpuPerHour > 0;
}
