import type { Machine } from '../machine.ts';
import { type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';
import { nameOf, type Scene } from './scene.ts';

/** So many complete lists without the machine a process may have read, and still be about to write what it learnt. */
const MOST_LISTS = 3;
/** From the last of these lists to the write. */
const WRITE_WITHIN_MS = 5_000;

interface Claim {
  readonly instanceId: number;
  /** Who has read such lists, and how many in a row without any call of its own failing. */
  reader: Machine | undefined;
  lists: number;
  overdueAt: number;
}

/**
 * I14: no status claims a machine to run that the ledger says is gone, once the operator could know: a leader has
 * read three complete lists that do not show it, nothing failed meanwhile, and time was left to write.
 */
export class TruthWatch {
  readonly #scene: Scene;
  /** Claims that are not true, by uid. */
  readonly #false = new Map<string, Claim>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  changed(): void {
    for (const [uid, object] of this.#scene.objects) {
      const instanceId = claimedBy(object);
      const isTrue = instanceId === undefined || this.#scene.contracts()[instanceId] !== undefined;
      if (isTrue || this.#scene.isHandled(uid)) this.#false.delete(uid);
      else if (this.#false.get(uid)?.instanceId !== instanceId) this.#false.set(uid, fresh(instanceId));
    }
    for (const uid of this.#false.keys()) if (!this.#scene.objects.has(uid)) this.#false.delete(uid);
  }

  /** A process has sent for a list that it will get, undamaged. */
  listed(machine: Machine): void {
    for (const claim of this.#false.values()) {
      claim.lists = claim.reader === machine ? claim.lists + 1 : 1;
      claim.reader = machine;
      claim.overdueAt =
        claim.lists === MOST_LISTS ? this.#scene.now + WRITE_WITHIN_MS : Math.max(claim.overdueAt, 0);
    }
  }

  /** Something stood in the way of a process: what it learnt may have to be learnt again. */
  hindered(): void {
    for (const claim of this.#false.values()) Object.assign(claim, fresh(claim.instanceId));
  }

  elapsed(): void {
    for (const [uid, claim] of this.#false) {
      const object = this.#scene.objects.get(uid);
      if (!object || claim.lists < MOST_LISTS || this.#scene.now < claim.overdueAt) continue;
      this.#scene.broken(
        'I14',
        `${nameOf(object)} claims to run on machine ${claim.instanceId}, which is gone`,
      );
      this.#scene.handsOn(uid);
      this.#false.delete(uid);
    }
  }
}

const fresh = (instanceId: number): Claim => ({ instanceId, reader: undefined, lists: 0, overdueAt: 0 });

function claimedBy(object: JsonObject): number | undefined {
  const status = objectAt(object, 'status');
  const isLeaving = metadataOf(object)['deletionTimestamp'] !== undefined;
  return status['phase'] === 'Running' && !isLeaving ? Number(status['instanceId']) : undefined;
}
