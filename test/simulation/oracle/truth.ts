import type { Machine } from '../machine.ts';
import { type JsonObject, metadataOf } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { isOfLogin } from './accounts.ts';
import { CleanLists } from './clean-lists.ts';
import { nameOf, type Scene } from './scene.ts';

/** The first list may have been under way, two have to agree; then the status has to be written. */
const PATIENCE = { lists: 3, withinMs: 5_000 };

/** I14: no status claims a machine to run that the ledger says is gone, once the operator could know. */
export class TruthWatch {
  readonly #scene: Scene;
  /** Claims that are not true: the object's uid and its machine. */
  readonly #lists: CleanLists<string>;

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#lists = new CleanLists({ ...PATIENCE, now: () => scene.now });
  }

  changed(): void {
    const wrong = new Set([...this.#scene.objects].flatMap(([uid, object]) => this.#falseClaim(uid, object)));
    for (const key of this.#lists.keys()) if (!wrong.has(key)) this.#lists.end(key);
    for (const key of wrong) this.#lists.begin(key);
  }

  /** Records a request for the list of that login, or of any. */
  listed(machine: Machine, userId: number | undefined): void {
    this.#lists.listed(machine, (key) => {
      const object = this.#scene.objects.get(key.split(' ')[0] ?? '');
      return object === undefined || isOfLogin(this.#scene.accountOf(object), userId);
    });
  }

  hindered(): void {
    this.#lists.hindered();
  }

  elapsed(): void {
    for (const key of this.#lists.overdue()) {
      const [uid = '', machine] = key.split(' ');
      const object = this.#scene.objects.get(uid);
      if (object)
        this.#scene.broken('I14', `${nameOf(object)} claims to run on machine ${machine}, which is gone`);
      this.#scene.markHandled(uid);
      this.#lists.end(key);
    }
  }

  #falseClaim(uid: string, object: JsonObject): readonly string[] {
    const instanceId = claimedBy(object);
    const isTrue = instanceId === undefined || this.#scene.contracts()[instanceId] !== undefined;
    return isTrue || this.#scene.isHandled(uid) || !this.#scene.isWatched(object)
      ? []
      : [`${uid} ${instanceId}`];
  }
}

function claimedBy(object: JsonObject): number | undefined {
  const status = statusAt(object);
  const isLeaving = metadataOf(object)['deletionTimestamp'] !== undefined;
  return status['phase'] === 'Running' && !isLeaving ? Number(status['instanceId']) : undefined;
}
