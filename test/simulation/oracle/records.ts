import { idAt, type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { intentOf } from './purchase.ts';
import { nameOf, type Scene } from './scene.ts';

const CLOCKS_AGREE_MS = 10_000;

/**
 * Checks records. I5: an intent is written on the very version that was evaluated. So it is never on an object that
 * desires no machine, nor on one recreated from a backup while a machine of its former self lives, and its deadline is
 * before the end of the lease. I14: a machine that an object released is never recorded again, and no machine is on the
 * records of two objects.
 */
export class RecordWatch {
  readonly #scene: Scene;
  readonly #letGo = new Map<string, Set<number>>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  rewritten(before: JsonObject, after: JsonObject): void {
    this.#checkIntent(before, after);
    this.#checkMachine(before, after);
  }

  #checkIntent(before: JsonObject, after: JsonObject): void {
    const intent = intentOf(after);
    const old = intentOf(before);
    if (!intent || (intent['uid'] === old?.['uid'] && intent['attempt'] === old?.['attempt'])) return;
    this.#checkLease(after, intent);
    const why = whyNotDesired(after) ?? this.#formerMachine(before);
    if (why === undefined) return;
    this.#scene.broken(
      'I5',
      `purchase ${String(intent['attempt'])} of ${nameOf(after)} was recorded although it ${why}`,
    );
  }

  /**
   * Checks that its call is given up before another process may lead. An intent of a process with a wrong clock proves
   * nothing.
   */
  #checkLease(after: JsonObject, intent: JsonObject): void {
    const isNew = Math.abs(this.#scene.now - Number(intent['issuedAt'])) < CLOCKS_AGREE_MS;
    const over = Number(intent['deadline']) - this.#scene.leaseEndsAt;
    if (!isNew || !(over > 0)) return;
    const text = `purchase ${String(intent['attempt'])} of ${nameOf(after)} may be under way`;
    this.#scene.broken('I5', `${text} ${over / 1000} s after the lease of its process`);
  }

  #checkMachine(before: JsonObject, after: JsonObject): void {
    const confirmed = confirmedMachineOf(after);
    if (confirmed !== undefined && confirmed !== confirmedMachineOf(before) && !isOnlyWatching(after))
      this.#checkOther(confirmed, after);
    const [from, to] = [machineOf(before), machineOf(after)];
    if (from === to) return;
    const key = `let go ${String(metadataOf(after)['uid'])}`;
    const letGo = this.#letGo.get(key) ?? new Set<number>();
    this.#letGo.set(key, letGo);
    if (from !== undefined) letGo.add(from);
    if (to === undefined || isOnlyWatching(after)) return;
    if (!letGo.has(to)) return;
    this.#scene.broken('I14', `${nameOf(after)} records machine ${to} again, which it had released`);
  }

  /** Checks that no other object records the same machine. */
  #checkOther(machine: number, after: JsonObject): void {
    const { uid } = metadataOf(after);
    const other = [...this.#scene.objects.values()].find(
      (object) =>
        metadataOf(object)['uid'] !== uid &&
        confirmedMachineOf(object) === machine &&
        !isOnlyWatching(object) &&
        !this.#scene.isHandled(String(metadataOf(object)['uid'])),
    );
    if (other)
      this.#scene.broken(
        'I14',
        `${nameOf(after)} records machine ${machine}, which ${nameOf(other)} records, too`,
      );
  }

  /** Returns the uid of an intent from a backup: a machine of that uid is the object's own former one. */
  #formerMachine(before: JsonObject): string | undefined {
    const former = intentOf(before)?.['uid'];
    if (former === undefined || former === metadataOf(before)['uid']) return undefined;
    const machine = this.#scene.live().find((contract) => this.#scene.purchaseOf(contract)?.uid === former);
    return machine && `has machine ${machine.id} of its former self`;
  }
}

const isOnlyWatching = (object: JsonObject): boolean =>
  objectAt(objectAt(object, 'spec'), 'adopt')['policy'] === 'Observe';

function whyNotDesired(object: JsonObject): string | undefined {
  const spec = objectAt(object, 'spec');
  if (metadataOf(object)['deletionTimestamp'] !== undefined) return 'is being deleted';
  if (spec['powerState'] === 'Stopped') return 'should be stopped';
  return spec['paused'] === true ? 'is paused' : undefined;
}

/**
 * Returns the machine on record, unless only the reply to its rental names it so far: such a reply may name any
 * machine.
 */
function confirmedMachineOf(object: JsonObject): number | undefined {
  return objectAt(object, 'status')['unconfirmed'] === true ? undefined : machineOf(object);
}

function machineOf(object: JsonObject): number | undefined {
  return idAt(statusAt(object), 'instanceId');
}
