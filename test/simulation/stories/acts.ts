import { creditMicros, rebill } from '../../../src/simulator/world/ledger.ts';
import { HANDED_OVER } from '../console.ts';
import type { Address } from '../memory-kube/address.ts';
import { isObject, type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { NAMESPACE, type SimulatedWorld } from '../world.ts';
import type { Stage } from './stage.ts';

const CONFIRM_ORPHANS = 'gpurental.dev/confirm-orphans';
const INTENT = 'gpurental.dev/rental-intent';
const PAID_IN_MICROS = 1_000_000_000;

/** Calls the marketplace as a person with the account's key. */
async function call(stage: Stage, method: string, path: string, body?: JsonObject): Promise<void> {
  const { status } = await stage.users.console.call(method, path, body);
  stage.world.note(`in the console: ${method} ${path}: ${status}`);
}

/** Rents a machine without a label, which an object may take over. */
export function rentToHandOver(stage: Stage, offerId: number): void {
  void call(stage, 'PUT', `/api/v0/asks/${offerId}/`, { image: HANDED_OVER, disk: 20 });
}

/** Returns the machine that is rented from that offer. */
export function machineOn(stage: Stage, offerId: number): number {
  return stage.world.market.store.current().tables.offers[offerId]?.rentedBy ?? Number.NaN;
}

/** Raises an offer's price, so that later searches choose another offer. */
export function raisePrice(stage: Stage, offerId: number, gpuPricePerHour: number): void {
  const { store } = stage.world.market;
  const offer = store.current().tables.offers[offerId];
  if (!offer) throw new Error(`there is no offer ${offerId}`);
  store.put('offers', { ...offer, gpuPricePerHour });
}

/** Raises the price of every free offer. */
export function raisePrices(stage: Stage, gpuPricePerHour: number): void {
  for (const offer of Object.values(stage.world.market.store.current().tables.offers))
    if (offer.rentedBy === null) raisePrice(stage, offer.id, gpuPricePerHour);
}

/** Raises the price of every other offer above every limit, also after its machine is free again. */
export function leaveOneOffer(stage: Stage, offerId: number): void {
  for (const { id } of Object.values(stage.world.market.store.current().tables.offers))
    if (id !== offerId) raisePrice(stage, id, 9_000_000);
}

/** Makes an offer's host accept connections only through the proxy. */
export function closePorts(stage: Stage, offerId: number): void {
  const { store } = stage.world.market;
  const offer = store.current().tables.offers[offerId];
  if (!offer) throw new Error(`there is no offer ${offerId}`);
  store.put('offers', { ...offer, columns: { ...offer.columns, direct_port_count: 0 } });
}

/** Removes the port mappings of an object's machine, whatever its offer said. */
export function unmapPorts(stage: Stage, name: string): void {
  const { store } = stage.world.market;
  const contract = store.current().tables.contracts[stage.machineOf(name)];
  if (!contract) throw new Error(`${name} has no machine`);
  store.put('contracts', { ...contract, ports: {} });
}

/** Changes the price of an object's machine, which is billed from now on. */
export function repriceMachine(stage: Stage, name: string, gpuPricePerHour: number): void {
  const { store } = stage.world.market;
  const contract = store.current().tables.contracts[stage.machineOf(name)];
  if (!contract) throw new Error(`${name} has no machine`);
  const diskPerHour = contract.spans.at(-1)?.diskPerHour ?? 0;
  const rates = { gpuPerHour: gpuPricePerHour, diskPerHour };
  store.put('contracts', rebill({ ...contract, gpuPricePerHour }, stage.world.now, rates));
}

/** Returns the label of an object's machine. */
export function labelOf(stage: Stage, name: string): string {
  return stage.world.market.store.current().tables.contracts[stage.machineOf(name)]?.label ?? '';
}

/** Destroys a machine as a person in the console. */
export function endInConsole(stage: Stage, id: number): void {
  stage.invariants.destroyedElsewhere(id);
  void call(stage, 'DELETE', `/api/v0/instances/${id}/`);
}

/** Removes the finalizers and deletes the object: its machine is orphaned. */
export function abandon(stage: Stage, name: string): void {
  stage.invariants.markHandled(name);
  stage.users.removeFinalizers(name);
  stage.users.delete(name);
}

/** Confirms that the machines that lost their objects together may be destroyed. */
export function confirmOrphans(stage: Stage): void {
  stage.invariants.byPerson(() =>
    stage.world.kube.writes.update(
      account(stage),
      (current) => {
        const metadata = metadataOf(current);
        const annotations = { ...objectAt(metadata, 'annotations'), [CONFIRM_ORPHANS]: 'now' };
        return { ...current, metadata: { ...metadata, annotations } };
      },
      undefined,
    ),
  );
  stage.world.note('a user confirms the orphans');
}

/** Restores the cluster to a moment before that object was created, with the account as it was then. */
export function forget(stage: Stage, name: string, accountOfThen: JsonObject): void {
  stage.invariants.forgotten(name);
  stage.invariants.byPerson(() => {
    stage.users.removeFinalizers(name);
    stage.users.delete(name);
    stage.world.kube.writes.update(
      account(stage),
      (current) => ({ ...current, status: statusAt(accountOfThen) }),
      'status',
    );
  });
}

/** Returns a copy of the account. */
export function accountNow(stage: Stage): JsonObject {
  return structuredClone(stage.world.kube.writes.read(account(stage)) ?? {});
}

/** Edits the intent of an object as a person. Returns the previous intent. */
export function editIntent(stage: Stage, name: string, edits: JsonObject): string {
  const before = String(objectAt(metadataOf(stage.users.backup(name)), 'annotations')[INTENT]);
  const intent: JsonObject = JSON.parse(before);
  writeIntent(stage, name, JSON.stringify({ ...intent, ...edits }));
  return before;
}

/** Writes the intent of an object as a person. */
export function writeIntent(stage: Stage, name: string, intent: string): void {
  stage.invariants.byPerson(() =>
    stage.world.kube.writes.update(
      instance(stage, name),
      (current) => {
        const metadata = metadataOf(current);
        const annotations = { ...objectAt(metadata, 'annotations'), [INTENT]: intent };
        return { ...current, metadata: { ...metadata, annotations } };
      },
      undefined,
    ),
  );
  stage.world.note(`a user writes the intent of ${name}: ${intent}`);
}

/** Applies a deleted object from a backup: it gets another UID and no status. */
export function restoreFromBackup(stage: Stage, name: string, { spec = {}, ...backup }: JsonObject): void {
  const { annotations = {} } = metadataOf(backup);
  const { apiVersion = '', kind = '' } = backup;
  const object = { apiVersion, kind, metadata: { name, annotations }, spec };
  stage.world.kube.writes.create(instance(stage, name), object);
  stage.world.note(`a user makes ${name} anew from a backup`);
}

/** Creates, in another namespace, an object that names the account and requests no machine, and writes its intent. */
export function createElsewhere(stage: Stage, namespace: string, intent: string): void {
  const { kube } = stage.world;
  stage.users.createNamespace(namespace);
  const { apiVersion = '', kind = '', spec } = stage.users.backup('a');
  const accountRef = { name: 'default', namespace: NAMESPACE };
  kube.writes.create(
    { ...instance(stage, 'forged'), namespace },
    {
      apiVersion,
      kind,
      metadata: { name: 'forged', namespace, annotations: { [INTENT]: intent } },
      spec: { ...(isObject(spec) && spec), powerState: 'Stopped', accountRef },
    },
  );
  stage.world.note(`a user makes ${namespace}/forged with the intent ${intent}`);
}

function account({ world }: Stage): Address {
  return { kind: world.kube.kind('marketplaceaccounts'), namespace: NAMESPACE, name: 'default' };
}

function instance({ world }: Stage, name: string): Address {
  return { kind: world.kube.kind('gpuinstances'), namespace: NAMESPACE, name };
}

/** Labels hand-rented machines that an object might take for its own. */
export function labelOwn({ users, invariants }: Stage): void {
  for (const id of users.machinesInDoubt()) {
    invariants.labelledElsewhere(id);
    void users.console.label(id, 'mine');
  }
}

/** Makes image pulls on all machines too slow for the timeout, or normal again. */
export function slowPulls(stage: Stage, isSlow: boolean): void {
  const { store } = stage.world.market;
  for (const machine of Object.values(store.current().tables.machines))
    store.put('machines', { ...machine, pullFactor: isSlow ? 10_000 : 1 });
}

/** Creates a foreign Secret or Service with the name that an object's child needs. */
export function takeName(stage: Stage, plural: 'secrets' | 'services', name: string): void {
  const { kube } = stage.world;
  const kind = kube.kind(plural);
  const spec = plural === 'services' && { spec: { ports: [{ port: 80, protocol: 'TCP' }] } };
  stage.invariants.byPerson(() =>
    kube.writes.create(
      { kind, namespace: NAMESPACE, name },
      { apiVersion: 'v1', kind: kind.kind, metadata: { name, namespace: NAMESPACE }, ...spec },
    ),
  );
}

/** Deletes that foreign object. */
export function freeName(stage: Stage, plural: 'secrets' | 'services', name: string): void {
  const { kube } = stage.world;
  const address = { kind: kube.kind(plural), namespace: NAMESPACE, name };
  stage.invariants.byPerson(() => kube.writes.delete(address, {}));
}

/** Pays credit into every login. */
export function payIn(world: SimulatedWorld): void {
  const { store } = world.market;
  for (const user of Object.values(store.current().tables.users))
    store.put('users', { ...user, depositedMicros: user.depositedMicros + PAID_IN_MICROS });
  world.note('a person pays credit in');
}

/** Returns the credit of the first login less one dollar, as a limit of an account has it. */
export function aDollarBelowCredit(world: SimulatedWorld): string {
  const market = world.market.store.current();
  const [user] = Object.values(market.tables.users);
  const credit = user ? creditMicros(market, user, world.now) : 0;
  return (credit / 1e6 - 1).toFixed(2);
}
