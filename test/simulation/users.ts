import { labels } from '../../src/api/v1alpha1/names.ts';
import type { Random } from '../../src/lib/random.ts';
import { AccountOwner } from './account-owner.ts';
import { BudgetOwner } from './budget-owner.ts';

import { BY_HAND, Console } from './console.ts';
import { GroupOwner } from './group-owner.ts';
import { JobRelays } from './job-relays.ts';
import { calledOf, Kubectl } from './kubectl.ts';
import type { Address } from './memory-kube/address.ts';
import { idAt, isObject, type JsonObject, listAt, metadataOf, objectAt } from './memory-kube/json.ts';
import { ownerUids } from './memory-kube/writes.ts';
import { BY_BID, MACHINE } from './specs.ts';
import { statusAt } from './status-at.ts';
import { NAMESPACE, type SimulatedWorld } from './world.ts';

const SECOND_ACCOUNT = 'second';
const GPU_INSTANCES = 'gpuinstances';
const CHILDREN = ['secrets', 'services', 'endpointslices'];
const WORK_SECRET = 'work';
const LONG_SECRET = 'long';
const NAMESPACE_LABEL = 'kubernetes.io/metadata.name';
const CANCEL = 'gpurental.dev/cancel-at';
const HOLD = 'gpurental.dev/hold';
const IDLE_EXTEND = 'gpurental.dev/idle-extend-until';
const LATE = /Machine (\d+) \([^)]*\) carries the label of purchase/;
const IN_DOUBT = /Machines? ([^;]+?) (?:is|are) new and (?:has|have) no label/;
/** Suffix of a machine's ID, such as ` ($0.50/h)`. */
const PRICE = / \([^)]*\)/g;

const USUAL_POLICIES: JsonObject = {
  onVanish: 'Recreate',
  onPriceAbove: 'Report',
  updateStrategy: { type: 'Replace' },
  offers: MACHINE['offers'] ?? [],
  timeouts: MACHINE['timeouts'] ?? {},
};

interface InstanceChoice {
  readonly maxPerHour?: number;
  /** True if it rents with the second account. */
  readonly isOfSecond?: boolean;
  readonly offers?: JsonObject[];
  readonly ports?: JsonObject[];
  readonly maxLifetime?: string;
  readonly maxTotalCost?: string;
  readonly lease?: JsonObject;
  readonly ssh?: boolean;
  readonly command?: string[];
  readonly completion?: JsonObject;
}

/** Actions of people on the cluster. The trace records each one; the API server may refuse it. */
export class Users {
  readonly console: Console;
  readonly account: AccountOwner;
  /** Has another account beside that, where {@link AccountOwner.create} makes one. */
  readonly second: AccountOwner;
  readonly groups: GroupOwner;
  readonly budgets: BudgetOwner;
  readonly jobs: JobRelays;
  readonly #world: SimulatedWorld;
  readonly #random: Random;
  readonly #kubectl: Kubectl;

  constructor(world: SimulatedWorld, random: Random) {
    this.console = new Console(world);
    const kubectl = new Kubectl(world);
    const people = { kubectl, console: this.console };
    this.account = new AccountOwner(world, { ...people, name: 'default', secret: 'marketplace-key' });
    this.second = new AccountOwner(world, { ...people, name: SECOND_ACCOUNT, secret: 'second-key' });
    this.groups = new GroupOwner(world, kubectl);
    this.budgets = new BudgetOwner(kubectl);
    this.jobs = new JobRelays(world, kubectl);
    this.#kubectl = kubectl;
    this.#world = world;
    this.#random = random;
  }

  createInstance(name: string, { maxPerHour = 30, isOfSecond, ...spec }: InstanceChoice = {}): void {
    const accountRef = { name: SECOND_ACCOUNT, namespace: NAMESPACE };
    this.#create(name, { replacement: { maxPerHour }, ...(isOfSecond && { accountRef }), ...spec });
  }

  /** Creates a Secret with the name that an object's connection Secret needs. */
  takeName(name: string): void {
    this.#kubectl.create('secrets', connectionOf(name), { apiVersion: 'v1', kind: 'Secret', data: {} });
  }

  /** Deletes that Secret, unless the operator owns it. */
  freeName(name: string): void {
    const address = this.#kubectl.address('secrets', connectionOf(name));
    const present = this.#world.kube.writes.read(address);
    if (present && ownerUids(present).length === 0)
      this.#kubectl.delete(address, `deletes the Secret ${connectionOf(name)}`);
  }

  /** Creates an object and deletes it after the given seconds. */
  visit(name: string, spec: JsonObject, seconds: number): void {
    this.#create(name, spec);
    this.#world.scheduler.after(seconds * 1000, () => this.delete(name));
  }

  /** Returns a hand-rented machine without a label; undefined if there is none. */
  unlabelledMachine(): number | undefined {
    const contracts = Object.values(this.#world.market.store.current().tables.contracts);
    return contracts.find(({ image, label }) => image === BY_HAND && label === null)?.id;
  }

  /** Creates an object. One of another namespace rents with the account of the usual namespace. */
  #create(name: string, spec: JsonObject): void {
    if (spec['offers'] === BY_BID && !this.#world.has('bids')) return;
    const accountRef = { name: 'default', namespace: NAMESPACE };
    this.#kubectl.create(GPU_INSTANCES, name, {
      apiVersion: 'gpurental.dev/v1alpha1',
      kind: 'GpuInstance',
      spec: { ...MACHINE, ...(name.includes('.') && { accountRef }), ...spec },
    });
  }

  /** Existing accounts. */
  get accounts(): readonly AccountOwner[] {
    return [this.account, this.second].filter((account) => account.isThere());
  }

  /** Creates a namespace for other tenants. */
  createNamespace(name: string): void {
    const { kube } = this.#world;
    const address = { kind: kube.kind('namespaces'), namespace: undefined, name };
    const labels = { [NAMESPACE_LABEL]: name };
    kube.writes.create(address, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
  }

  /** Sets a label of a namespace; null removes it. */
  labelNamespace(name: string, label: string, value: string | null): void {
    const address = { kind: this.#world.kube.kind('namespaces'), namespace: undefined, name };
    this.#kubectl.edit(address, {
      what: `labels the namespace ${name} ${label}=${value}`,
      change: (current) => {
        const metadata = metadataOf(current);
        const { [label]: _before, ...labels } = objectAt(metadata, 'labels');
        return {
          ...current,
          metadata: { ...metadata, labels: { ...labels, ...(value !== null && { [label]: value }) } },
        };
      },
    });
  }

  /** Creates an object that takes over an existing machine. */
  createAdopting(name: string, instanceId: number, policy: 'Manage' | 'Observe' = 'Manage'): void {
    if (!this.#world.has('labels')) return;
    this.#create(name, { adopt: { instanceId: String(instanceId), policy } });
  }

  /** Takes a worker out of its group, as one does with a Pod of a ReplicaSet to look at it: it lives on. */
  release(worker: string): void {
    const { ownerReferences: _owners, labels = {}, ...metadata } = metadataOf(this.backup(worker));
    const { 'gpurental.dev/endpoint-group': _group, ...others } = isObject(labels) ? labels : {};
    this.#kubectl.edit(this.#instance(worker), {
      what: `takes ${worker} out of its group`,
      change: (current) => ({ ...current, metadata: { ...metadata, labels: others, ownerReferences: [] } }),
    });
  }

  delete(name: string): void {
    this.#kubectl.delete(this.#instance(name), `deletes ${name}`);
  }

  /**
   * `kubectl delete --cascade=orphan`, and the garbage collector comes before any finalizer goes: it removes the owner
   * references of all children.
   */
  deleteOrphaning(name: string): void {
    const uid = String(metadataOf(this.backup(name))['uid']);
    const { kube } = this.#world;
    for (const kind of CHILDREN.map((plural) => kube.kind(plural)))
      for (const child of kube.store.all(kind).filter((object) => ownerUids(object).includes(uid)))
        this.#kubectl.edit(this.#kubectl.address(kind.plural, calledOf(child)), {
          what: `has the garbage collector orphan ${kind.plural} ${calledOf(child)}`,
          change: ({ metadata, ...rest }) => {
            const { ownerReferences: _owners, ...own } = isObject(metadata) ? metadata : {};
            return { ...rest, metadata: own };
          },
        });
    this.delete(name);
  }

  /** Deletes with `--cascade=orphan`; the garbage collector removes the owner references later. */
  deleteAndOrphan(name: string): void {
    this.#kubectl.delete(this.#instance(name), `deletes ${name} and orphans its children`, 'Orphan');
  }

  setPowerState(name: string, powerState: 'Running' | 'Stopped'): void {
    if (powerState === 'Stopped' && !this.#world.has('stop')) return;
    this.#editSpec(name, `powerState ${powerState}`, { powerState });
  }

  setPaused(name: string, paused: boolean): void {
    this.#editSpec(name, `paused ${paused}`, { paused });
  }

  /** Cancels a run at that time. */
  cancel(name: string, time: string): void {
    this.#annotate(name, `cancels the run at ${time}`, { [CANCEL]: time });
  }

  /** Asks for another machine, whatever the present one does. */
  askForAnother(name: string): void {
    this.replaceAt(name, 0);
  }

  /** Asks for another machine that much later. */
  replaceAt(name: string, inMs: number): void {
    this.#annotate(name, 'asks for another machine', {
      'gpurental.dev/replace-at': new Date(this.#world.now + inMs).toISOString(),
    });
  }

  /** Asks for a look at it now. */
  pollNow(name: string): void {
    this.#annotate(name, 'asks for a look', { 'gpurental.dev/requested-at': String(this.#world.second) });
  }

  /** Marks the worker as the first to remove. */
  dropFirst(worker: string): void {
    this.#annotate(worker, 'gives up the first', { 'gpurental.dev/drop-first': 'true' });
  }

  /** Gives its machine a variable out of a Secret. */
  takeEnv(name: string): void {
    this.createWork();
    const secretKeyRef = { name: WORK_SECRET, key: 'token' };
    this.#editSpec(name, 'a variable', { env: [{ name: 'TOKEN', valueFrom: { secretKeyRef } }] });
  }

  /** Gives its machine a variable out of any Secret of the namespace, such as the key of the account. */
  takeEnvFrom(name: string, secret: string, key: string): void {
    const secretKeyRef = { name: secret, key };
    this.#editSpec(name, `${key} of ${secret}`, { env: [{ name: 'KEY', valueFrom: { secretKeyRef } }] });
  }

  /** Makes a Secret with one long key, and has the object name it in so many variables. */
  takeLongEnv(name: string, { variables, bytes }: { variables: number; bytes: number }): void {
    const token = Buffer.alloc(bytes, 'x').toString('base64');
    this.#kubectl.create('secrets', LONG_SECRET, { data: { token } });
    const secretKeyRef = { name: LONG_SECRET, key: 'token' };
    const env = Array.from({ length: variables }, (_, at) => ({
      name: `LONG_${at}`,
      valueFrom: { secretKeyRef },
    }));
    this.#editSpec(name, `${variables} long variables`, { env });
  }

  takeNoEnv(name: string): void {
    this.#editSpec(name, 'no variables', { env: [] });
  }

  /** Creates the Secret of that variable if it is missing. */
  createWork(): void {
    const token = Buffer.from('canary-7be2d09c41aa').toString('base64');
    for (const name of this.#works())
      if (!this.#world.kube.writes.read(this.#kubectl.address('secrets', name)))
        this.#kubectl.create('secrets', name, { data: { token } });
  }

  removeWork(): void {
    for (const name of this.#works())
      this.#kubectl.delete(this.#kubectl.address('secrets', name), 'deletes the Secret of a variable');
  }

  /** Returns one Secret per namespace that has objects. */
  #works(): readonly string[] {
    const far = this.names().filter((name) => name.includes('.'));
    return [WORK_SECRET, ...new Set(far.map((name) => `${WORK_SECRET}.${name.split('.')[1]}`))];
  }

  /** Deletes all instances and groups, as who wants none of it any more. */
  deleteEverything(): void {
    for (const name of this.groups.names()) this.groups.delete(name);
    for (const name of this.names()) this.delete(name);
  }

  /** Sets a hold: nothing may replace or destroy its machine, except a deletion. */
  hold(name: string): void {
    this.#annotate(name, 'holds the machine', { [HOLD]: 'at work' });
  }

  /** Sets the time until which its machine is not ended for idleness; after such an end it starts another one. */
  extendIdle(name: string, until: string): void {
    this.#annotate(name, `extends the idle time to ${until}`, { [IDLE_EXTEND]: until });
  }

  /** Sets policies such as `onVanish` or `maxLifetime`. */
  setPolicies(name: string, policies: JsonObject): void {
    if (!this.#canKeep(policies['deletionPolicy'])) return;
    if (policies['idle'] !== undefined && !this.#world.has('utilization')) return;
    this.#editSpec(name, JSON.stringify(policies), policies);
  }

  /** Takes back what may keep an object from having the machine that it wants, but for its limits. */
  liftPolicies(name: string): void {
    this.#kubectl.edit(this.#instance(name), {
      what: `lets ${name} have machines`,
      change: (current) => {
        const metadata = metadataOf(current);
        const { [HOLD]: _held, ...annotations } = objectAt(metadata, 'annotations');
        const spec = objectAt(current, 'spec');
        const replacement = { ...objectAt(spec, 'replacement'), policy: 'Always' };
        const policies = { ...USUAL_POLICIES, replacement };
        return { ...current, metadata: { ...metadata, annotations }, spec: { ...spec, ...policies } };
      },
    });
  }

  setBrake(name: string, maxPerHour: number): void {
    this.#editSpec(name, `maxPerHour ${maxPerHour}`, { replacement: { maxPerHour } });
  }

  /** Sets the maximum price of its machines. */
  setCeiling(name: string, maxPricePerHour: string): void {
    const offers = [{ gpuNames: ['RTX 4090'], maxPricePerHour }];
    this.#editSpec(name, `maxPricePerHour ${maxPricePerHour}`, { offers });
  }

  setDeletionPolicy(name: string, deletionPolicy: 'Destroy' | 'Stop' | 'Retain'): void {
    if (!this.#canKeep(deletionPolicy)) return;
    this.#editSpec(name, `deletionPolicy ${deletionPolicy}`, { deletionPolicy });
  }

  /** Returns true if the market has what this deletion policy needs. */
  #canKeep(deletionPolicy: unknown): boolean {
    if (deletionPolicy === 'Retain') return this.#world.has('labels');
    return deletionPolicy !== 'Stop' || this.#world.has('stop');
  }

  setImage(name: string, image: string): void {
    this.#editSpec(name, `image ${image}`, { image });
  }

  /** Removes our finalizer by force. */
  removeFinalizers(name: string): void {
    if (!this.#world.has('labels')) return;
    this.#editMetadata(name, 'removes the finalizers', { finalizers: [] });
  }

  /** Writes another machine's id into the status by hand. */
  editStatus(name: string, instanceId: number): void {
    if (!this.#world.has('labels')) return;
    this.#kubectl.edit(this.#instance(name), {
      what: `writes instanceId ${instanceId} into the status of ${name}`,
      change: (current) => ({
        ...current,
        status: {
          ...objectAt(current, 'status'),
          machine: { ...objectAt(objectAt(current, 'status'), 'machine'), id: String(instanceId) },
        },
      }),
      subresource: 'status',
    });
  }

  /** Writes another record into the status by hand; a newer operator leaves one of its own version. */
  editRecord(name: string, record: string): void {
    if (!this.#world.has('labels')) return;
    this.#kubectl.edit(this.#instance(name), {
      what: `writes record ${record} into the status of ${name}`,
      change: (current) => ({ ...current, status: { ...objectAt(current, 'status'), record } }),
      subresource: 'status',
    });
  }

  /** Returns a copy of the complete object. */
  backup(name: string): JsonObject {
    return structuredClone(this.#world.kube.writes.read(this.#instance(name)) ?? {});
  }

  /** Puts record and annotations of a backup in place; what the spec wants is of today. */
  restore(name: string, backup: JsonObject): void {
    if (!this.#world.has('labels')) return;
    const { annotations = {} } = metadataOf(backup);
    this.#editMetadata(name, 'restores the annotations', { annotations });
    this.#kubectl.edit(this.#instance(name), {
      what: `restores the status of ${name}`,
      change: (current) => ({ ...current, status: objectAt(backup, 'status') }),
      subresource: 'status',
    });
  }

  /** Sets the tolerance for a silent host. */
  setTolerance(name: string, silence: string): void {
    const tolerance = { offline: silence, unknown: silence };
    this.#editSpec(name, `tolerance ${silence}`, { replacement: { maxPerHour: 30, tolerance } });
  }

  removeIntent(name: string): void {
    if (!this.#world.has('labels')) return;
    this.#kubectl.edit(this.#instance(name), {
      what: `removes the intent of ${name}`,
      change: (current) => {
        const metadata = metadataOf(current);
        const { 'gpurental.dev/rental-intent': _intent, ...annotations } = objectAt(metadata, 'annotations');
        return { ...current, metadata: { ...metadata, annotations } };
      },
    });
  }

  /** Returns the machine that an object records. */
  machineOf(name: string): number | undefined {
    const object = this.#world.kube.writes.read(this.#instance(name)) ?? {};
    return idAt(statusAt(object), 'instanceId');
  }

  /** Machines that an object takes for purchases of its own perhaps, since they carry no label: `RentalUncertain`. */
  machinesInDoubt(): readonly number[] {
    const kind = this.#world.kube.kind(GPU_INSTANCES);
    const statuses = this.#world.kube.store.all(kind).map((object) => JSON.stringify(statusAt(object)));
    const named = statuses.flatMap(
      (status) => IN_DOUBT.exec(status)?.[1]?.replaceAll(PRICE, '').split(', ') ?? [],
    );
    const { contracts } = this.#world.market.store.current().tables;
    return named.map(Number).filter((id) => contracts[id]?.label === null);
  }

  /** Machines whose rental was carried out late, as objects say that rent nothing while those are there. */
  lateMachines(): readonly number[] {
    const kind = this.#world.kube.kind(GPU_INSTANCES);
    return this.#world.kube.store
      .all(kind)
      .flatMap((object) => LATE.exec(JSON.stringify(statusAt(object)))?.[1] ?? [])
      .map(Number);
  }

  /** Names of the instances that stand now. */
  names(): string[] {
    return this.#kubectl.names(GPU_INSTANCES);
  }

  /** Returns a random object that a person created, or undefined. */
  anyName(): string | undefined {
    const kind = this.#world.kube.kind(GPU_INSTANCES);
    const own = this.#world.kube.store.all(kind).filter((object) => ownerUids(object).length === 0);
    return this.#oneOf(own.map(calledOf));
  }

  anyGroup(): string | undefined {
    return this.#oneOf(this.groups.names());
  }

  /** Returns a random object that a group created, or undefined. */
  anyWorker(): string | undefined {
    const kind = this.#world.kube.kind(GPU_INSTANCES);
    const isWorker = (object: JsonObject) => ownerUids(object).length > 0 && !isOfJob(object);
    const workers = this.#world.kube.store.all(kind).filter(isWorker);
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
    return this.#kubectl.address(GPU_INSTANCES, name);
  }

  #editSpec(name: string, what: string, spec: JsonObject): void {
    this.#kubectl.edit(this.#instance(name), {
      what: `sets ${what} of ${name}`,
      change: (current) => ({ ...current, spec: { ...objectAt(current, 'spec'), ...spec } }),
    });
  }

  #annotate(name: string, what: string, annotations: JsonObject): void {
    this.#kubectl.annotate(this.#instance(name), `${what} of ${name}`, annotations);
  }

  #editMetadata(name: string, what: string, metadata: JsonObject): void {
    this.#kubectl.edit(this.#instance(name), {
      what: `${what} of ${name}`,
      change: (current) => ({ ...current, metadata: { ...metadataOf(current), ...metadata } }),
    });
  }
}

const isOfJob = (object: JsonObject): boolean =>
  objectAt(metadataOf(object), 'labels')[labels.jobRun] !== undefined;

/** Returns the short name of an object's connection Secret. */
const connectionOf = (called: string): string => called.replace(/^[^.]+/, '$&-connection');
