import { parseDuration } from '../../../src/lib/time.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { isObject, type JsonObject, listAt, metadataOf, objectAt } from '../memory-kube/json.ts';
import { ownerUids } from '../memory-kube/writes.ts';
import { statusAt } from '../status-at.ts';
import type { Shortfall } from './converged.ts';
import { nameOf, type Scene } from './scene.ts';

const CHECK_EVERY_MS = 5_000;
/** A load of workers is read every ten seconds. */
const SERVED_FOR_MS = 40_000;
const UNMAPPED_FOR_MS = 60_000;
/** For how long a worker has to report an error before it is replaced. */
const FAILING_FOR_MS = 60_000;
/** The time that a decision, a look and a call may take. */
const SLACK_MS = 120_000;
const HOUR_MS = 3_600_000;

/**
 * Checks workers that are reported as serving: no request goes to a worker that reports an error, a worker that serves
 * no request is not kept beyond its deadline, and no object is ready whose machine lacks a declared port. It uses the
 * state of the machines, not the reports of the operator.
 */
export class ServingWatch {
  readonly #scene: Scene;
  /** Workers to which a Service leads. */
  readonly #served = new Set<string>();
  /** Start of each wrong state, by its name. */
  readonly #since = new Map<string, number>();
  /** When a worker of each group was last deleted. */
  readonly #deletedAt = new Map<string, number>();
  #checkAt = 0;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records a written or removed slice of a Service. */
  sliceWritten(slice: JsonObject, isThere: boolean): void {
    for (const uid of ownerUids(slice)) {
      if (isThere) this.#served.add(keyOf('served', uid));
      else this.#served.delete(keyOf('served', uid));
    }
  }

  /** Records a deleted object. */
  released(object: JsonObject): void {
    for (const uid of ownerUids(object)) this.#deletedAt.set(keyOf('group', uid), this.#scene.now);
  }

  hindered(): void {
    this.#since.clear();
  }

  elapsed(): void {
    if (this.#scene.now < this.#checkAt) return;
    this.#checkAt = this.#scene.now + CHECK_EVERY_MS;
    for (const object of this.#scene.objects.values()) {
      const contract = this.#runningMachineOf(object);
      this.#checkPorts(object, contract);
      this.#checkService(object, contract);
      this.#checkKept(object, contract);
    }
  }

  /** Returns the workers that do not serve in the end, although their image can. */
  shortfalls(): readonly Shortfall[] {
    if (this.#scene.world.containers.isImageBroken) return [];
    return [...this.#scene.objects.values()].flatMap((object) => {
      const contract = this.#groupOf(object) && this.#runningMachineOf(object);
      const fault = contract && this.#scene.world.containers.faultOf(contract);
      return fault ? [{ invariant: 'ESR', text: `worker ${nameOf(object)} serves nobody in the end` }] : [];
    });
  }

  #checkPorts(object: JsonObject, contract: Contract | undefined): void {
    const isWrong = contract !== undefined && reportsReady(object) && unmapped(object, contract).length > 0;
    if (!this.#lasts('unmapped', object, isWrong, UNMAPPED_FOR_MS)) return;
    this.#scene.broken('Ports', `${nameOf(object)} is Ready, and its machine does not map its ports`);
  }

  #checkService(object: JsonObject, contract: Contract | undefined): void {
    const fault = contract && this.#scene.world.containers.faultOf(contract);
    const isWrong = fault?.type === 'error' && this.#served.has(keyOf('served', uidOf(object)));
    if (!this.#lasts('led', object, isWrong, SERVED_FOR_MS)) return;
    this.#scene.broken('Group', `the Service leads to worker ${nameOf(object)}, which reports an error`);
  }

  /** Checks the first broken worker of a group; the others follow at some pace. */
  #checkKept(object: JsonObject, contract: Contract | undefined): void {
    const group = this.#groupOf(object);
    const fault = contract && this.#scene.world.containers.faultOf(contract);
    const deletedAt = this.#deletedAt.get(keyOf('group', uidOf(group ?? {}))) ?? Number.NEGATIVE_INFINITY;
    const isWrong = group !== undefined && fault !== undefined && this.#scene.now - deletedAt > HOUR_MS;
    const limitMs = fault?.type === 'error' ? FAILING_FOR_MS : notReadyMs(group);
    if (!this.#lasts('kept', object, isWrong, limitMs + youngMs(object) + SLACK_MS)) return;
    this.#scene.broken('Group', `worker ${nameOf(object)} serves nobody and is kept`);
  }

  /** Returns true once if something has been wrong for that long. */
  #lasts(what: string, object: JsonObject, isWrong: boolean, forMs: number): boolean {
    const key = keyOf(what, uidOf(object));
    if (!isWrong) {
      this.#since.delete(key);
      return false;
    }
    const since = this.#since.get(key) ?? this.#scene.now;
    this.#since.set(key, since);
    return this.#scene.now - since >= forMs;
  }

  #groupOf(object: JsonObject): JsonObject | undefined {
    if (this.#scene.isHandled(uidOf(object))) return undefined;
    const uid = ownerUids(object).find((owner) => this.#scene.groups.has(owner));
    const group = uid === undefined ? undefined : this.#scene.groups.get(uid);
    return group && metadataOf(group)['deletionTimestamp'] === undefined ? group : undefined;
  }

  #runningMachineOf(object: JsonObject): Contract | undefined {
    const isDesired =
      metadataOf(object)['deletionTimestamp'] === undefined &&
      objectAt(object, 'spec')['powerState'] === 'Running';
    const contract = this.#scene.contracts()[Number(statusAt(object)['instanceId'])];
    return isDesired && contract?.actualStatus === 'running' ? contract : undefined;
  }
}

const uidOf = (object: JsonObject): string => String(metadataOf(object)['uid']);

/** Returns a key other than the uid, which the test searches in the memory of processes. */
const keyOf = (what: string, uid: string): string => `${what} ${uid}`;

const notReadyMs = (group: JsonObject | undefined): number =>
  parseDuration(String(objectAt(group ?? {}, 'spec')['notReadyTimeout'])) ?? 0;

/** Returns the age below which a worker is not replaced. */
const youngMs = (worker: JsonObject): number =>
  HOUR_MS / Number(objectAt(objectAt(worker, 'spec'), 'replacement')['maxPerHour']);

/** Returns true by a status of the present spec. */
function reportsReady(object: JsonObject): boolean {
  const status = statusAt(object);
  const ready = listAt(status, 'conditions').find((one) => isObject(one) && one['type'] === 'Ready');
  const isPresent = status['observedGeneration'] === metadataOf(object)['generation'];
  return isPresent && isObject(ready) && ready['status'] === 'True';
}

function unmapped(object: JsonObject, { ports }: Contract): readonly string[] {
  return listAt(objectAt(object, 'spec'), 'ports')
    .filter(isObject)
    .map(({ containerPort, protocol }) => `${containerPort}/${protocol === 'UDP' ? 'udp' : 'tcp'}`)
    .filter((port) => ports[port] === undefined);
}
