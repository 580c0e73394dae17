import type { RawOptions } from '../../../src/config.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { isUsed } from '../../../src/simulator/instances/instance-row.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { Invariants } from '../invariants.ts';
import { addressOf } from '../kubectl.ts';
import { Machine } from '../machine.ts';
import { type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';
import type { Fate } from '../network.ts';
import { statusAt } from '../status-at.ts';
import { Users } from '../users.ts';
import { NAMESPACE, SimulatedWorld } from '../world.ts';

const QUIET: Fate = { requestMs: 2, responseMs: 2 };
const SECOND = 1000;
const ORIGIN = 'http://simulator';

interface BenchOptions {
  readonly strict?: boolean;
  readonly orphanPolicy?: 'Destroy' | 'Report';
  /** Flags of the operator beside its defaults. */
  readonly flags?: RawOptions;
  /** Load comes to groups through a gateway. */
  readonly hasGateway?: boolean;
  /** The first moment of its world, in epoch milliseconds. */
  readonly startMs?: number;
}

/** A world without any operator, in which promises are broken by hand. */
export class Bench {
  readonly world: SimulatedWorld;
  readonly users: Users;
  readonly invariants: Invariants;
  readonly machine: Machine;

  constructor({
    strict = true,
    orphanPolicy = 'Report',
    flags = {},
    hasGateway = false,
    startMs,
  }: BenchOptions = {}) {
    const options = { seed: 1, keepTrace: false, flags, hasGateway, startMs };
    this.world = new SimulatedWorld({ ...options, fate: () => QUIET });
    this.users = new Users(this.world, seededRandom(1));
    this.machine = new Machine('operator-0', this.world.scheduler);
    this.invariants = new Invariants(this.world, { strict });
    this.users.account.create(orphanPolicy);
    this.users.createInstance('a');
    this.invariants.check();
  }

  get object(): JsonObject {
    return this.objectOf('a');
  }

  get uid(): string {
    return this.uidOf('a');
  }

  uidOf(name: string): string {
    return String(metadataOf(this.objectOf(name))['uid']);
  }

  objectOf(name: string, plural = 'gpuinstances'): JsonObject {
    return this.world.kube.writes.read(addressOf(this.world, plural, name)) ?? {};
  }

  label(attempt: number, name = 'a'): string {
    return `gpurental1:00000000:${this.uidOf(name)}:${attempt}:${this.world.now}:00000000000000000000`;
  }

  /** Rents as an operator does, with or without the intent that has to come first. */
  async rent(
    attempt: number,
    { intent = true, name = 'a', label = this.label(attempt, name) } = {},
  ): Promise<Contract> {
    const key = 'gpurental.dev/rental-intent';
    if (intent) this.edit({ annotations: { [key]: JSON.stringify({ attempt }) } }, name);
    const offerId = 8_000_000 + attempt;
    await this.world.market.handle({
      method: 'PUT',
      origin: ORIGIN,
      path: `/api/v0/asks/${offerId}/`,
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${this.world.market.apiKey}`,
      },
      body: JSON.stringify({ image: 'example/work:1', disk: 20, label }),
    });
    const contract = Object.values(this.world.market.store.current().tables.contracts).at(-1);
    if (!contract) throw new Error('the marketplace refused the rental');
    this.invariants.check();
    return contract;
  }

  edit(metadata: JsonObject, name = 'a'): void {
    const change = (current: JsonObject) => ({
      ...current,
      metadata: { ...metadataOf(current), ...metadata },
    });
    this.#update({ plural: 'gpuinstances', name, subresource: undefined }, change);
  }

  setCeiling(maxSpendPerHour: string): void {
    this.#update({ plural: 'endpointgroups', name: 'group', subresource: undefined }, (current) => ({
      ...current,
      spec: { ...objectAt(current, 'spec'), maxSpendPerHour },
    }));
  }

  setStatus(status: JsonObject, name = 'a'): void {
    this.#update({ plural: 'gpuinstances', name, subresource: 'status' }, (current) => ({
      ...current,
      status: { ...statusAt(current), ...status },
    }));
  }

  /** Lets time pass in which processes only poll. */
  async pass(seconds: number): Promise<void> {
    const { scheduler } = this.world;
    scheduler.after(seconds * SECOND, () => {});
    await scheduler.runUntil(scheduler.now + seconds * SECOND, () => {
      this.invariants.check();
      return true;
    });
  }

  send(method: string, path: string, { body = '', fate = QUIET, apiKey = '' } = {}): void {
    const headers = apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` };
    const request = { method, origin: ORIGIN, path, headers, body };
    this.invariants.sent({ side: 'market', machine: this.machine, request }, fate);
  }

  /** Reads the list of machines by a process, of any login or of that key's, and lets that many seconds pass. */
  async poll(seconds: number, { fate = QUIET, apiKey = '' } = {}): Promise<void> {
    this.send('GET', '/api/v0/instances/?owner=me', { fate, apiKey });
    if (!fate.refusal) this.readList(undefined, apiKey);
    await this.pass(seconds);
  }

  /** Reads the whole list by a process, as in the ledger now, or with that status for every machine. */
  readList(status?: string, apiKey = ''): void {
    const { store } = this.world.market;
    const { contracts, machines } = store.current().tables;
    const login = store.keyBySecret(apiKey)?.userId;
    const rows = Object.values(contracts).filter(({ userId }) => login === undefined || userId === login);
    const instances = rows.map((contract) => {
      const { id, actualStatus, machineId, label } = contract;
      const { state = 'up' } = machines[machineId] ?? {};
      const shown = status ?? (state === 'up' ? actualStatus : 'offline');
      return { id, label, actual_status: shown, gpu_util: isUsed(contract, this.world.now) ? 80 : 0 };
    });
    const headers = apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` };
    const request = { method: 'GET', origin: ORIGIN, path: '/api/v0/instances/?owner=me', headers };
    const body = JSON.stringify({ instances, instances_found: instances.length });
    this.invariants.listRead({ machine: this.machine, request }, body);
  }

  /** Records a call of a process to the API server. */
  sendToCluster(
    method: string,
    path: string,
    body = '',
    { fate = QUIET, machine = this.machine }: { readonly fate?: Fate; readonly machine?: Machine } = {},
  ): void {
    const request = { method, origin: ORIGIN, path, headers: {}, body };
    this.invariants.sent({ side: 'kube', machine, request }, fate);
  }

  sendDestroy(id: number): void {
    this.send('DELETE', `/api/v0/instances/${id}/`);
  }

  /** Makes a group and so many workers of it, whatever it may have. */
  group(workers: number): void {
    this.users.groups.create('group', 100);
    const { kube } = this.world;
    const groups = kube.kind('endpointgroups');
    const group = kube.writes.read({ kind: groups, namespace: NAMESPACE, name: 'group' }) ?? {};
    const ownerReferences = [{ uid: String(metadataOf(group)['uid']), kind: 'EndpointGroup', name: 'group' }];
    const kind = kube.kind('gpuinstances');
    for (let index = 0; index < workers; index += 1) {
      const name = `worker-${index}`;
      const metadata = { name, ownerReferences, finalizers: ['gpurental.dev/machine'] };
      kube.writes.create(
        { kind, namespace: NAMESPACE, name },
        { metadata, spec: objectAt(this.object, 'spec') },
      );
    }
    this.invariants.check();
  }

  sendRent(attempt: number, name = 'a', { fate = QUIET, apiKey = '' } = {}): void {
    const body = JSON.stringify({ label: this.label(attempt, name) });
    this.send('PUT', '/api/v0/asks/8000001/', { body, fate, apiKey });
  }

  #update(
    { plural, name, subresource }: { plural: string; name: string; subresource: string | undefined },
    change: (current: JsonObject) => JsonObject,
  ): void {
    this.world.kube.writes.update(addressOf(this.world, plural, name), change, subresource);
    this.invariants.check();
  }
}
