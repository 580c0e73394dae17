import type { Random } from '../../src/lib/random.ts';
import { Console } from './console.ts';
import type { Address } from './memory-kube/address.ts';
import { Failure } from './memory-kube/failure.ts';
import { isObject, type JsonObject, listAt, metadataOf, objectAt } from './memory-kube/json.ts';
import { ownerUids } from './memory-kube/writes.ts';
import { NAMESPACE, type SimulatedWorld } from './world.ts';

const GPU_INSTANCES = 'gpuinstances';
const GROUPS = 'endpointgroups';
/** Work per second of one worker of a group. */
export const WORKER_PERF = 100;
const KEY_SECRET = 'marketplace-key';
const WORK_SECRET = 'work';
const NAMESPACE_LABEL = 'kubernetes.io/metadata.name';
const HOLD = 'gpurental.dev/hold';
const IN_DOUBT = /Machines? ([\d, ]+) (?:is|are) new and carr(?:y|ies) no label/;

export const MACHINE: JsonObject = {
  offers: [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.90' }],
  image: 'example/work:1',
  disk: '20G',
  timeouts: { provisioning: '2m', loading: '3m', start: '1m' },
};

const USUAL_POLICIES: JsonObject = {
  onVanish: 'Recreate',
  onPriceAbove: 'Report',
  updateStrategy: { type: 'Replace' },
  offers: MACHINE['offers'] ?? [],
  timeouts: MACHINE['timeouts'] ?? {},
};

/** A group of at most three workers under a ceiling that binds at times; its load and its template come beside this. */
export const GROUP_SPEC: JsonObject = {
  expectedPerf: String(WORKER_PERF),
  targetUtilizationPercent: 100,
  minLoad: '0',
  coldMultiplier: '1',
  coldWorkers: 0,
  maxWorkers: 3,
  maxSpendPerHour: '1.50',
  scaleToZero: 'Allow',
  wakeTimeout: '60s',
  spreadBy: 'None',
  updateStrategy: { type: 'RollingUpdate', maxUnavailable: 1 },
  pause: {},
  replicas: null,
  endpointName: null,
};

interface InstanceWish {
  readonly maxPerHour?: number;
  readonly offers?: JsonObject[];
}

/** A machine that is rented by a bid, which somebody may outbid. */
export const BY_BID: JsonObject[] = [
  { gpuNames: ['RTX 4090'], pricing: 'Interruptible', bid: '0.45', maxPricePerHour: '0.90' },
];

/** What people do to the cluster. Each act is told; refusals by the API server are what they are. */
export class Users {
  readonly console: Console;
  readonly #world: SimulatedWorld;
  readonly #random: Random;
  /** Of the key that the operator has, where it was rotated. */
  #key: number | undefined;
  #removed: JsonObject | undefined;

  constructor(world: SimulatedWorld, random: Random) {
    this.console = new Console(world);
    this.#world = world;
    this.#random = random;
  }

  createAccount(orphanPolicy: 'Destroy' | 'Report'): void {
    this.#create('secrets', KEY_SECRET, {
      data: { 'api-key': Buffer.from(this.#world.market.apiKey).toString('base64') },
    });
    this.#create('marketplaceaccounts', 'default', {
      apiVersion: 'gpurental.dev/v1alpha1',
      kind: 'MarketplaceAccount',
      spec: { apiKeySecretRef: { name: KEY_SECRET, key: 'api-key' }, orphanPolicy },
    });
  }

  createInstance(name: string, { maxPerHour = 30, ...spec }: InstanceWish = {}): void {
    this.#create(GPU_INSTANCES, name, {
      apiVersion: 'gpurental.dev/v1alpha1',
      kind: 'GpuInstance',
      spec: { ...MACHINE, replacement: { maxPerHour }, ...spec },
    });
  }

  /** A namespace, where other people live. */
  createNamespace(name: string): void {
    const { kube } = this.#world;
    const address = { kind: kube.kind('namespaces'), namespace: undefined, name };
    const labels = { [NAMESPACE_LABEL]: name };
    kube.writes.create(address, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
  }

  /** An object of another namespace that rents by this account. */
  createFar(namespace: string, name: string): void {
    const kind = this.#world.kube.kind(GPU_INSTANCES);
    const accountRef = { name: 'default', namespace: NAMESPACE };
    const spec = { ...MACHINE, replacement: { maxPerHour: 30 }, accountRef };
    this.#try(`a user creates gpuinstances ${namespace}/${name}`, () =>
      this.#world.kube.writes.create(
        { kind, namespace, name },
        { apiVersion: 'gpurental.dev/v1alpha1', kind: 'GpuInstance', metadata: { name }, spec },
      ),
    );
  }

  /** An object that takes over a machine that there is already. */
  createAdopting(name: string, instanceId: number, policy: 'Manage' | 'Observe' = 'Manage'): void {
    this.#create(GPU_INSTANCES, name, {
      apiVersion: 'gpurental.dev/v1alpha1',
      kind: 'GpuInstance',
      spec: { ...MACHINE, adopt: { instanceId, policy } },
    });
  }

  /** A group of as many workers as its written load asks for. */
  createGroup(name: string, load: number, spec: JsonObject = {}): void {
    this.#create(GROUPS, name, {
      apiVersion: 'gpurental.dev/v1alpha1',
      kind: 'EndpointGroup',
      spec: {
        template: { spec: { ...MACHINE, replacement: { maxPerHour: 30 } } },
        load: { type: 'Static', static: { load: String(load) } },
        ...withoutNull({ ...GROUP_SPEC, ...spec }),
      },
    });
  }

  /** Any of its options; one that is null is taken out. */
  setGroup(name: string, spec: JsonObject): void {
    this.#editGroup(name, JSON.stringify(spec), spec);
  }

  setLoad(name: string, load: number): void {
    this.#editGroup(name, `the load ${load}`, { load: { type: 'Static', static: { load: String(load) } } });
  }

  setMaxWorkers(name: string, maxWorkers: number): void {
    this.#editGroup(name, `maxWorkers ${maxWorkers}`, { maxWorkers });
  }

  /** Another version of what its workers run. */
  setGroupImage(name: string, image: string): void {
    this.#editGroup(name, `image ${image}`, {
      template: { spec: { ...MACHINE, image, replacement: { maxPerHour: 30 } } },
    });
  }

  setColdWorkers(name: string, coldWorkers: number): void {
    this.#editGroup(name, `coldWorkers ${coldWorkers}`, { coldWorkers });
  }

  setPause(name: string, pause: { readonly scaleUp?: boolean; readonly scaleDown?: boolean }): void {
    this.#editGroup(name, `pause ${JSON.stringify(pause)}`, { pause });
  }

  /** Takes a worker out of its group, as one does with a Pod of a ReplicaSet to look at it: it lives on. */
  release(worker: string): void {
    const { ownerReferences: _owners, labels = {}, ...metadata } = metadataOf(this.backup(worker));
    const { 'gpurental.dev/endpoint-group': _group, ...others } = isObject(labels) ? labels : {};
    this.#try(`a user takes ${worker} out of its group`, () =>
      this.#world.kube.writes.update(
        this.#instance(worker),
        (current) => ({ ...current, metadata: { ...metadata, labels: others, ownerReferences: [] } }),
        undefined,
      ),
    );
  }

  setInactivityTimeout(name: string, inactivityTimeout: string): void {
    this.#editGroup(name, `inactivityTimeout ${inactivityTimeout}`, { inactivityTimeout });
  }

  /** Asks a group to wake, as an application does that has work. */
  wake(name: string): void {
    this.#try(`a user wakes the group ${name}`, () =>
      this.#world.kube.writes.update(
        this.#group(name),
        (current) => {
          const metadata = metadataOf(current);
          const annotations = {
            ...objectAt(metadata, 'annotations'),
            'gpurental.dev/wake-at': String(this.#world.second),
          };
          return { ...current, metadata: { ...metadata, annotations } };
        },
        undefined,
      ),
    );
  }

  deleteGroup(name: string): void {
    this.#try(`a user deletes the group ${name}`, () =>
      this.#world.kube.writes.delete(this.#group(name), {}),
    );
  }

  /** Names of the groups that stand now. */
  groupNames(): string[] {
    const kind = this.#world.kube.kind(GROUPS);
    return this.#world.kube.store.all(kind).map((object) => String(metadataOf(object)['name']));
  }

  delete(name: string): void {
    this.#try(`a user deletes ${name}`, () => this.#world.kube.writes.delete(this.#instance(name), {}));
  }

  setPowerState(name: string, powerState: 'Running' | 'Stopped'): void {
    this.#editSpec(name, `powerState ${powerState}`, { powerState });
  }

  setPaused(name: string, paused: boolean): void {
    this.#editSpec(name, `paused ${paused}`, { paused });
  }

  /** Asks for another machine, whatever the present one does. */
  askForAnother(name: string): void {
    this.#annotate(name, 'asks for another machine', {
      'gpurental.dev/replace-at': new Date(this.#world.now).toISOString(),
    });
  }

  /** Asks for a look at it now. */
  lookNow(name: string): void {
    this.#annotate(name, 'asks for a look', { 'gpurental.dev/requested-at': String(this.#world.second) });
  }

  /** The first worker to go when one has to. */
  dropFirst(worker: string): void {
    this.#annotate(worker, 'gives up the first', { 'gpurental.dev/drop-first': 'true' });
  }

  /** Gives its machine a variable out of a Secret. */
  takeEnv(name: string): void {
    this.createWork();
    const secretKeyRef = { name: WORK_SECRET, key: 'token' };
    this.#editSpec(name, 'a variable', { env: [{ name: 'TOKEN', valueFrom: { secretKeyRef } }] });
  }

  /** The Secret of that variable, where there is none. */
  createWork(): void {
    const token = Buffer.from('canary-7be2d09c41aa').toString('base64');
    if (!this.#world.kube.writes.read(this.#work)) this.#create('secrets', WORK_SECRET, { data: { token } });
  }

  removeWork(): void {
    this.#try('a user deletes the Secret of a variable', () =>
      this.#world.kube.writes.delete(this.#work, {}),
    );
  }

  get #work(): Address {
    return { kind: this.#world.kube.kind('secrets'), namespace: NAMESPACE, name: WORK_SECRET };
  }

  /** Deletes all instances and groups, as who wants none of it any more. */
  deleteEverything(): void {
    for (const name of this.groupNames()) this.deleteGroup(name);
    for (const name of this.names()) this.delete(name);
  }

  deleteAccount(): void {
    const kind = this.#world.kube.kind('marketplaceaccounts');
    this.#try('a user deletes the account', () =>
      this.#world.kube.writes.delete({ kind, namespace: NAMESPACE, name: 'default' }, {}),
    );
  }

  /** Nothing may replace or destroy its machine, but for a deletion. */
  hold(name: string): void {
    this.#annotate(name, 'holds the machine', { [HOLD]: 'at work' });
  }

  /** What may become of its machines, such as `onVanish` or `maxLifetime`. */
  setPolicies(name: string, policies: JsonObject): void {
    this.#editSpec(name, JSON.stringify(policies), policies);
  }

  /** Takes back what may keep an object from having the machine that it wants, but for its limits. */
  liftPolicies(name: string): void {
    this.#try(`a user lets ${name} have machines`, () =>
      this.#world.kube.writes.update(
        this.#instance(name),
        (current) => {
          const metadata = metadataOf(current);
          const { [HOLD]: _held, ...annotations } = objectAt(metadata, 'annotations');
          const spec = objectAt(current, 'spec');
          const replacement = { ...objectAt(spec, 'replacement'), policy: 'Always' };
          const policies = { ...USUAL_POLICIES, replacement };
          return { ...current, metadata: { ...metadata, annotations }, spec: { ...spec, ...policies } };
        },
        undefined,
      ),
    );
  }

  setBrake(name: string, maxPerHour: number): void {
    this.#editSpec(name, `maxPerHour ${maxPerHour}`, { replacement: { maxPerHour } });
  }

  /** What each of its machines may cost. */
  setCeiling(name: string, maxPricePerHour: string): void {
    const offers = [{ gpuNames: ['RTX 4090'], maxPricePerHour }];
    this.#editSpec(name, `maxPricePerHour ${maxPricePerHour}`, { offers });
  }

  setDeletionPolicy(name: string, deletionPolicy: 'Destroy' | 'Stop' | 'Retain'): void {
    this.#editSpec(name, `deletionPolicy ${deletionPolicy}`, { deletionPolicy });
  }

  setImage(name: string, image: string): void {
    this.#editSpec(name, `image ${image}`, { image });
  }

  /** Such as `pollInterval` or `limits`. */
  setAccount(spec: JsonObject): void {
    const kind = this.#world.kube.kind('marketplaceaccounts');
    this.#try(`a user sets ${JSON.stringify(spec)} of the account`, () =>
      this.#world.kube.writes.update(
        { kind, namespace: NAMESPACE, name: 'default' },
        (current) => ({ ...current, spec: { ...objectAt(current, 'spec'), ...spec } }),
        undefined,
      ),
    );
  }

  /** Removes our finalizer by force. */
  removeFinalizers(name: string): void {
    this.#editMetadata(name, 'removes the finalizers', { finalizers: [] });
  }

  /** Writes another machine's id into the status by hand. */
  editStatus(name: string, instanceId: number): void {
    this.#try(`a user writes instanceId ${instanceId} into the status of ${name}`, () =>
      this.#world.kube.writes.update(
        this.#instance(name),
        (current) => ({ ...current, status: { ...objectAt(current, 'status'), instanceId } }),
        'status',
      ),
    );
  }

  /** All of an object as it is now. */
  backup(name: string): JsonObject {
    return structuredClone(this.#world.kube.writes.read(this.#instance(name)) ?? {});
  }

  /** Puts record and annotations of a backup in place; what the spec wants is of today. */
  restore(name: string, backup: JsonObject): void {
    const { annotations = {} } = metadataOf(backup);
    this.#editMetadata(name, 'restores the annotations', { annotations });
    this.#try(`a user restores the status of ${name}`, () =>
      this.#world.kube.writes.update(
        this.#instance(name),
        (current) => ({ ...current, status: objectAt(backup, 'status') }),
        'status',
      ),
    );
  }

  /** For how long its host may be silent. */
  setTolerance(name: string, silence: string): void {
    const tolerance = { offline: silence, unknown: silence };
    this.#editSpec(name, `tolerance ${silence}`, { replacement: { maxPerHour: 30, tolerance } });
  }

  removeIntent(name: string): void {
    this.#try(`a user removes the intent of ${name}`, () =>
      this.#world.kube.writes.update(
        this.#instance(name),
        (current) => {
          const metadata = metadataOf(current);
          const { 'gpurental.dev/rental-intent': _intent, ...annotations } = objectAt(
            metadata,
            'annotations',
          );
          return { ...current, metadata: { ...metadata, annotations } };
        },
        undefined,
      ),
    );
  }

  /** Gives the operator another key of the same login, and revokes the one it had from this. */
  async rotateKey(): Promise<void> {
    const made = await this.console.makeKey();
    if (!made) return;
    const data = { 'api-key': Buffer.from(made.key).toString('base64') };
    const kind = this.#world.kube.kind('secrets');
    this.#try('a user rotates the key', () =>
      this.#world.kube.writes.update(
        { kind, namespace: NAMESPACE, name: KEY_SECRET },
        (current) => ({ ...current, data }),
        undefined,
      ),
    );
    if (this.#removed) this.#removed = { ...this.#removed, data };
    const former = this.#key;
    this.#key = made.id;
    if (former !== undefined) await this.console.revokeKey(former);
  }

  /** The machine that an object records. */
  machineOf(name: string): number | undefined {
    const object = this.#world.kube.writes.read(this.#instance(name)) ?? {};
    const id = objectAt(object, 'status')['instanceId'];
    return typeof id === 'number' ? id : undefined;
  }

  /** Deletes the Secret that holds the key. */
  removeKey(): void {
    const kind = this.#world.kube.kind('secrets');
    const address = { kind, namespace: NAMESPACE, name: KEY_SECRET };
    this.#removed ??= this.#world.kube.writes.read(address);
    this.#try('a user deletes the Secret of the key', () => this.#world.kube.writes.delete(address, {}));
  }

  /** Writes something into the Secret of the key that is none. */
  spoilKey(values: Readonly<Record<string, string>>): void {
    const kind = this.#world.kube.kind('secrets');
    const address = { kind, namespace: NAMESPACE, name: KEY_SECRET };
    this.#removed ??= this.#world.kube.writes.read(address);
    const encoded = Object.entries(values).map(([key, value]) => [
      key,
      Buffer.from(value).toString('base64'),
    ]);
    this.#try('a user spoils the Secret of the key', () =>
      this.#world.kube.writes.update(
        address,
        (current) => ({ ...current, data: Object.fromEntries(encoded) }),
        undefined,
      ),
    );
  }

  /** Puts the key back that was deleted or spoilt, where it was. */
  bringKeyBack(): void {
    const data = this.#removed && objectAt(this.#removed, 'data');
    this.#removed = undefined;
    if (!data) return;
    const kind = this.#world.kube.kind('secrets');
    const address = { kind, namespace: NAMESPACE, name: KEY_SECRET };
    if (!this.#world.kube.writes.read(address)) this.#create('secrets', KEY_SECRET, { data });
    else
      this.#try('a user puts the key back', () =>
        this.#world.kube.writes.update(address, (current) => ({ ...current, data }), undefined),
      );
  }

  /** Machines that an object takes for purchases of its own perhaps, since they carry no label: `RentalUncertain`. */
  machinesInDoubt(): readonly number[] {
    const kind = this.#world.kube.kind(GPU_INSTANCES);
    const said = this.#world.kube.store.all(kind).map((object) => JSON.stringify(objectAt(object, 'status')));
    const named = said.flatMap((status) => IN_DOUBT.exec(status)?.[1]?.split(', ') ?? []);
    const { contracts } = this.#world.market.store.current().tables;
    return named.map(Number).filter((id) => contracts[id]?.label === null);
  }

  /** Whether the account says that memory may have been rolled back. */
  seesRollback(): boolean {
    const kind = this.#world.kube.kind('marketplaceaccounts');
    const account = this.#world.kube.writes.read({ kind, namespace: NAMESPACE, name: 'default' }) ?? {};
    return JSON.stringify(objectAt(account, 'status')).includes('MemoryRolledBack');
  }

  /** A person has looked at the machines that `MemoryRolledBack` names: objects removed by force look like a restore. */
  confirmRollback(): void {
    this.#annotateAccount('confirms that memory may have been rolled back', 'gpurental.dev/confirm-rollback');
  }

  closeBreaker(): void {
    this.#annotateAccount('closes the breaker', 'gpurental.dev/close-breaker');
  }

  /** Each time with a value that it has not had. */
  #annotateAccount(what: string, annotation: string): void {
    const kind = this.#world.kube.kind('marketplaceaccounts');
    this.#try(`a user ${what}`, () =>
      this.#world.kube.writes.update(
        { kind, namespace: NAMESPACE, name: 'default' },
        (current) => {
          const metadata = metadataOf(current);
          const annotations = {
            ...objectAt(metadata, 'annotations'),
            [annotation]: String(this.#world.second),
          };
          return { ...current, metadata: { ...metadata, annotations } };
        },
        undefined,
      ),
    );
  }

  /** Names of the instances that stand now. */
  names(): string[] {
    const kind = this.#world.kube.kind(GPU_INSTANCES);
    return this.#world.kube.store.all(kind).map((object) => String(metadataOf(object)['name']));
  }

  /** One that a person made, or undefined. */
  anyName(): string | undefined {
    const kind = this.#world.kube.kind(GPU_INSTANCES);
    const own = this.#world.kube.store.all(kind).filter((object) => ownerUids(object).length === 0);
    return this.#oneOf(own.map((object) => String(metadataOf(object)['name'])));
  }

  anyGroup(): string | undefined {
    return this.#oneOf(this.groupNames());
  }

  /** One that a group made, or undefined. */
  anyWorker(): string | undefined {
    const kind = this.#world.kube.kind(GPU_INSTANCES);
    const workers = this.#world.kube.store.all(kind).filter((object) => ownerUids(object).length > 0);
    return this.#oneOf(workers.map((object) => String(metadataOf(object)['name'])));
  }

  #oneOf(names: readonly string[]): string | undefined {
    return names[Math.floor(this.#random.next() * names.length)];
  }

  finalizersOf(name: string): readonly string[] {
    const object = this.#world.kube.writes.read(this.#instance(name));
    return object ? listAt(metadataOf(object), 'finalizers').map(String) : [];
  }

  #instance(name: string): Address {
    return { kind: this.#world.kube.kind(GPU_INSTANCES), namespace: NAMESPACE, name };
  }

  #group(name: string): Address {
    return { kind: this.#world.kube.kind(GROUPS), namespace: NAMESPACE, name };
  }

  #create(plural: string, name: string, body: JsonObject): void {
    const kind = this.#world.kube.kind(plural);
    this.#try(`a user creates ${plural} ${name}`, () =>
      this.#world.kube.writes.create({ kind, namespace: NAMESPACE, name }, { ...body, metadata: { name } }),
    );
  }

  #editGroup(name: string, what: string, spec: JsonObject): void {
    this.#try(`a user sets ${what} of ${name}`, () =>
      this.#world.kube.writes.update(
        this.#group(name),
        (current) => ({ ...current, spec: withoutNull({ ...objectAt(current, 'spec'), ...spec }) }),
        undefined,
      ),
    );
  }

  #editSpec(name: string, what: string, spec: JsonObject): void {
    this.#try(`a user sets ${what} of ${name}`, () =>
      this.#world.kube.writes.update(
        this.#instance(name),
        (current) => ({ ...current, spec: { ...objectAt(current, 'spec'), ...spec } }),
        undefined,
      ),
    );
  }

  #annotate(name: string, what: string, annotations: JsonObject): void {
    this.#try(`a user ${what} of ${name}`, () =>
      this.#world.kube.writes.update(
        this.#instance(name),
        (current) => {
          const metadata = metadataOf(current);
          return {
            ...current,
            metadata: { ...metadata, annotations: { ...objectAt(metadata, 'annotations'), ...annotations } },
          };
        },
        undefined,
      ),
    );
  }

  #editMetadata(name: string, what: string, metadata: JsonObject): void {
    this.#try(`a user ${what} of ${name}`, () =>
      this.#world.kube.writes.update(
        this.#instance(name),
        (current) => ({ ...current, metadata: { ...metadataOf(current), ...metadata } }),
        undefined,
      ),
    );
  }

  #try(what: string, act: () => unknown): void {
    try {
      act();
      this.#world.tell(what);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.#world.tell(`${what}: ${error.reason}`);
    }
  }
}

function withoutNull(spec: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== null));
}
