import type { TransportRequest } from '../../../src/lib/transport.ts';
import type { Machine } from '../machine.ts';
import {
  equalJson,
  isObject,
  type JsonObject,
  listAt,
  metadataOf,
  objectAt,
  textAt,
} from '../memory-kube/json.ts';
import { ownerUids } from '../memory-kube/writes.ts';
import { statusAt } from '../status-at.ts';
import { desiredHotOf } from './groups.ts';
import { nameOf, type Scene } from './scene.ts';

const WORKER_PATH = /^\/apis\/gpurental\.dev\/v1alpha1\/namespaces\/[^/]+\/gpuinstances\/([^/?]+)$/;
const NOTE = 'gpurental.dev/';
/** Time after a new process of a group in which it gives up no worker, less the duration of the first poll. */
const KEPT_AFTER_START_MS = 50_000;
/** Time for which a worker must have been ready before a process must know it. */
const KNOWN_READY_MS = 30_000;
const WAKE_WITHIN_MS = 120_000;
/** The default of `drainTimeout`. */
const DRAIN_MS = 600_000;

/**
 * Checks the treatment of workers: a serving one leaves the Service and drains before it ends, and ends only for
 * another serving one; one that boots for the cold pool is ready once before it is stopped; none ends right after a
 * restart; and a recorded wake starts one.
 */
export class WorkerWatch {
  readonly #scene: Scene;
  readonly #startedAt = new WeakMap<Machine, number>();
  /** Time since which each serving worker has served. */
  readonly #readySince = new Map<string, number>();
  readonly #everReady = new Set<string>();
  /** Groups that were woken, and when a worker is due. */
  readonly #wakes = new Map<string, number>();
  /** Workers to which a Service leads. */
  readonly #served = new Set<string>();
  #hinderedAt = Number.NEGATIVE_INFINITY;
  #groupEditedAt = Number.NEGATIVE_INFINITY;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records a call of a process to the API server. */
  sent(machine: Machine, { method, path }: TransportRequest): void {
    if (!this.#startedAt.has(machine)) this.#startedAt.set(machine, this.#scene.now);
    const name = method === 'DELETE' ? WORKER_PATH.exec(path)?.[1] : undefined;
    if (name === undefined) return;
    const worker = [...this.#scene.objects.values()].find((object) => nameOf(object) === name);
    if (worker) this.#deleteSent(worker);
  }

  hindered(): void {
    this.#hinderedAt = this.#scene.now;
  }

  /** Records a written worker, or another GpuInstance. */
  rewritten(before: JsonObject, after: JsonObject): void {
    const key = readyKey(after);
    if (!serves(after)) this.#readySince.delete(key);
    else if (!this.#readySince.has(key)) this.#readySince.set(key, this.#scene.now);
    if (serves(after)) this.#everReady.add(key);
    if (this.#groupOf(after) === undefined) return;
    if (powerOf(before) === 'Running' && powerOf(after) === 'Stopped') this.#checkRequests(after, 'stopped');
    if (powerOf(before) === 'Running' && powerOf(after) === 'Stopped' && !this.#everReady.has(key))
      this.#scene.broken('Group', `worker ${nameOf(after)} was stopped before it was ever ready`);
    if (noteOf(before, 'desired-role') !== 'Hot' || noteOf(after, 'desired-role') === 'Hot') return;
    this.#checkFirstDrain(after);
    this.#checkOthers(after);
  }

  /** Records a written or removed slice of a Service. */
  sliceWritten(slice: JsonObject, isThere: boolean): void {
    for (const uid of ownerUids(slice)) {
      if (isThere) this.#served.add(servedKey(uid));
      else this.#served.delete(servedKey(uid));
    }
  }

  /** Records a written group. */
  groupRewritten(before: JsonObject, after: JsonObject): void {
    if (!equalJson(before['spec'], after['spec'])) this.#groupEditedAt = this.#scene.now;
    const woken = statusAt(after)['wokenAt'];
    if (woken === undefined || woken === statusAt(before)['wokenAt']) return;
    this.#wakes.set(String(metadataOf(after)['uid']), this.#scene.now + WAKE_WITHIN_MS);
  }

  elapsed(): void {
    for (const [group, due] of this.#wakes) {
      const object = this.#scene.groups.get(group);
      const isAwake = [...this.#scene.objects.values()].some(
        (worker) => ownerUids(worker).includes(group) && noteOf(worker, 'desired-role') === 'Hot',
      );
      if (isAwake || !object || isGrowthStopped(object)) this.#wakes.delete(group);
      else if (this.#scene.now >= due) {
        this.#wakes.delete(group);
        this.#scene.broken('Group', `${nameOf(object)} was woken, and no worker came`);
      }
    }
  }

  #deleteSent(worker: JsonObject): void {
    if (this.#groupOf(worker) === undefined) return;
    this.#checkRequests(worker, 'deleted');
    // A worker that was asked before, and has drained since, ends normally.
    const wasDraining = noteOf(worker, 'drain-since') !== undefined;
    if (wasDraining) this.#checkService(worker);
    else this.#checkFirstDrain(worker);
    const since = this.#readySince.get(readyKey(worker)) ?? Number.POSITIVE_INFINITY;
    const isKnown = this.#scene.now - since >= KNOWN_READY_MS && this.#hinderedAt < since;
    if (!isKnown || wasDraining) return;
    this.#scene.broken('Group', `worker ${nameOf(worker)} was deleted while it served`);
  }

  /** Checks that a worker with reported requests may finish them. */
  #checkRequests(worker: JsonObject, how: string): void {
    const { reports } = this.#scene.world;
    const since = Date.parse(noteOf(worker, 'drain-since') ?? '');
    if (!reports || reports.inFlight === 0 || this.#scene.now - since >= DRAIN_MS || !serves(worker)) return;
    const requests = `${reports.inFlight} requests`;
    this.#scene.broken('Group', `worker ${nameOf(worker)} was ${how} while it worked on ${requests}`);
  }

  #checkFirstDrain(worker: JsonObject): void {
    this.#checkService(worker);
    const isYoung = this.#scene.world.processes.every(
      ({ machine }) => this.#scene.now - (this.#startedAt.get(machine) ?? 0) < KEPT_AFTER_START_MS,
    );
    if (!isYoung || !this.#readySince.has(readyKey(worker)) || this.#isUnwanted(worker)) return;
    if (this.#isBroken(worker)) return;
    this.#scene.broken('Group', `worker ${nameOf(worker)} was given up right after a restart`);
  }

  /**
   * Returns true if a worker is surplus by `maxWorkers`, by a set number, or by another template: that needs no
   * figures, which a restart might have lost.
   */
  #isUnwanted(worker: JsonObject): boolean {
    const group = this.#groupOf(worker);
    if (group === undefined) return false;
    const { maxWorkers, replicas = maxWorkers } = objectAt(group, 'spec');
    const workers = [...this.#scene.objects.values()].filter((other) => this.#groupOf(other) === group);
    return isOutdated(worker, group) || workers.length > Math.min(Number(maxWorkers), Number(replicas));
  }

  /** Checks that a worker which is about to end gets no requests. */
  #checkService(worker: JsonObject): void {
    const isKnown = this.#scene.now - this.#hinderedAt >= KNOWN_READY_MS;
    if (!isKnown || !this.#served.has(servedKey(String(metadataOf(worker)['uid'])))) return;
    this.#scene.broken('Group', `worker ${nameOf(worker)} was told to go while the Service led to it`);
  }

  /** Checks that a serving worker is not removed for others that still boot: they may fail. */
  #checkOthers(worker: JsonObject): void {
    const group = this.#groupOf(worker);
    const isKnown =
      this.#scene.now - Math.max(this.#hinderedAt, this.#groupEditedAt) >= KNOWN_READY_MS &&
      this.#readySince.has(readyKey(worker));
    if (!group || !isKnown || desiredHotOf(group, this.#scene.world) === 0 || isOutdated(worker, group))
      return;
    if (this.#isBroken(worker)) return;
    const others = [...this.#scene.objects.values()].filter(
      (other) => nameOf(other) !== nameOf(worker) && this.#groupOf(other) === group,
    );
    if (others.some((other) => noteOf(other, 'desired-role') === 'Hot' && serves(other))) return;
    this.#scene.broken('Group', `worker ${nameOf(worker)} was told to go while no other served`);
  }

  /** Returns true if it serves no requests, whatever its conditions are. */
  #isBroken(worker: JsonObject): boolean {
    const contract = this.#scene.contracts()[Number(statusAt(worker)['instanceId'])];
    return contract !== undefined && this.#scene.world.containers.faultOf(contract) !== undefined;
  }

  /** Returns the group of a worker, unless it is being deleted. */
  #groupOf(worker: JsonObject): JsonObject | undefined {
    if (this.#scene.isHandled(String(metadataOf(worker)['uid']))) return undefined;
    const uid = ownerUids(worker).find((owner) => this.#scene.groups.has(owner));
    const group = uid === undefined ? undefined : this.#scene.groups.get(uid);
    return group && metadataOf(group)['deletionTimestamp'] === undefined ? group : undefined;
  }
}

/**
 * Returns true for an outdated worker: an update may take `maxUnavailable` out of service, including the only desired
 * one.
 */
const isOutdated = (worker: JsonObject, group: JsonObject): boolean =>
  noteOf(worker, 'template-hash') !== statusAt(group)['templateHash'];

/** Returns a key other than the uid, which the test searches in the memory of processes. */
const servedKey = (uid: string): string => `served ${uid}`;
const readyKey = (object: JsonObject): string => `ready ${String(metadataOf(object)['uid'])}`;

const powerOf = (object: JsonObject): unknown => objectAt(object, 'spec')['powerState'];

const noteOf = (object: JsonObject, name: string): string | undefined =>
  textAt(objectAt(metadataOf(object), 'annotations'), NOTE + name);

function serves(object: JsonObject): boolean {
  const status = statusAt(object);
  const ready = listAt(status, 'conditions').find((one) => isObject(one) && one['type'] === 'Ready');
  const isReady = isObject(ready) && ready['status'] === 'True';
  return isReady && status['actualStatus'] === 'running' && powerOf(object) === 'Running';
}

/** Returns true if a person pauses growth, or has set no hot workers: a wake then starts no worker. */
function isGrowthStopped(group: JsonObject): boolean {
  const spec = objectAt(group, 'spec');
  return objectAt(spec, 'pause')['scaleUp'] === true || spec['replicas'] === 0;
}
