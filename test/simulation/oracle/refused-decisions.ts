import type { TransportRequest } from '../../../src/lib/transport.ts';
import type { Machine } from '../machine.ts';
import { isObject, type JsonObject, metadataOf, objectsAt } from '../memory-kube/json.ts';
import type { Fate } from '../network.ts';
import { keyOf, type Scene } from './scene.ts';

const RESOURCES = String.raw`^/apis/gpurental\.dev/v1alpha1/namespaces/([^/]+)`;
const GROUP_PATH = new RegExp(String.raw`${RESOURCES}/endpointgroups/([^/?]+)(?:/status)?(?:\?|$)`);
const WORKER_PATH = new RegExp(String.raw`${RESOURCES}/gpuinstances(?:/([^/?]+))?(?:\?|$)`);
/** A process that was delayed for longer may have abandoned the write before the refusal arrived. */
const ANSWERED_WITHIN_MS = 1_000;

/**
 * A decision that the API server refuses to record is not carried out: its process creates and deletes no worker of the group
 * until it has read the group again.
 */
export class RefusedDecisionWatch {
  readonly #scene: Scene;
  /** When each process last wrote a group under an outdated version, until it read the group again. */
  readonly #refused = new WeakMap<Machine, Map<string, number>>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records a call of a process to the API server. */
  sent(machine: Machine, request: TransportRequest, fate: Fate): void {
    const [, namespace, name] = GROUP_PATH.exec(request.path) ?? [];
    if (name !== undefined) this.#groupCalled(machine, `${namespace}/${name}`, { request, fate });
    else this.#workerCalled(machine, request);
  }

  /** Records a call about a group: a read, or a write under the current version, clears the refusal. */
  #groupCalled(
    machine: Machine,
    group: string,
    { request, fate }: { readonly request: TransportRequest; readonly fate: Fate },
  ): void {
    const refused = this.#refused.get(machine) ?? new Map<string, number>();
    this.#refused.set(machine, refused);
    if (isAnswered(fate) && this.#isRefused(group, request)) refused.set(refusedKey(group), this.#scene.now);
    else refused.delete(refusedKey(group));
  }

  /**
   * Returns true if the write names an outdated version of the group: the API server refuses it however late it
   * arrives.
   */
  #isRefused(key: string, { method, body }: TransportRequest): boolean {
    if (method === 'GET' || body === undefined) return false;
    const { resourceVersion } = metadataOf(objectIn(body));
    const group = [...this.#scene.groups.values()].find((each) => keyOf(each) === key);
    if (!group || resourceVersion === undefined) return false;
    return resourceVersion !== metadataOf(group)['resourceVersion'];
  }

  #workerCalled(machine: Machine, request: TransportRequest): void {
    const refused = this.#refused.get(machine);
    if (!refused || refused.size === 0) return;
    const call = this.#callOf(request);
    const at = call?.group === undefined ? undefined : refused.get(refusedKey(call.group));
    if (!call || at === undefined || this.#scene.now - at >= ANSWERED_WITHIN_MS) return;
    this.#scene.broken(
      'Group',
      `${machine.name} ${call.did} a worker of ${call.group} by a decision that it could not record`,
    );
  }

  /** Returns the effect of a call on a worker, and its group. */
  #callOf({ method, path, body = '' }: TransportRequest): WorkerCall | undefined {
    const [, namespace = '', name] = WORKER_PATH.exec(path) ?? [];
    if (method === 'POST' && namespace !== '')
      return { did: 'created', group: groupOf(objectIn(body), namespace) };
    if (method !== 'DELETE' || name === undefined) return undefined;
    const key = `${namespace}/${name}`;
    const worker = [...this.#scene.objects.values()].find((object) => keyOf(object) === key);
    return { did: 'deleted', group: worker && groupOf(worker, namespace) };
  }
}

/** Returns a key other than the name, which the search of processes' memory (I13) would find. */
const refusedKey = (group: string): string => `refused ${group}`;

interface WorkerCall {
  readonly did: 'created' | 'deleted';
  /** namespace/name; undefined if it belongs to none. */
  readonly group: string | undefined;
}

function groupOf(worker: JsonObject, namespace: string): string | undefined {
  const owners = objectsAt(metadataOf(worker), 'ownerReferences');
  const owner = owners.find(({ kind }) => kind === 'EndpointGroup');
  return owner && `${namespace}/${String(owner['name'])}`;
}

/** Returns true if the API server's own answer reaches the process. */
function isAnswered({ loseRequest, loseResponse, lateMs, refusal, crash }: Fate): boolean {
  return [loseRequest, loseResponse, lateMs, refusal, crash].every((each) => each === undefined);
}

function objectIn(body: string): JsonObject {
  const object: unknown = JSON.parse(body);
  return isObject(object) ? object : {};
}
