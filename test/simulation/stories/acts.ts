import { rebill } from '../../../src/simulator/world/ledger.ts';
import { HANDED_OVER } from '../console.ts';
import type { Address } from '../memory-kube/address.ts';
import { isObject, type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { NAMESPACE, type SimulatedWorld } from '../world.ts';
import type { Stage } from './stage.ts';

const CONFIRM_ORPHANS = 'gpurental.dev/confirm-orphans';
const INTENT = 'gpurental.dev/rental-intent';
const PAID_IN_MICROS = 1_000_000_000;

/** A person calls the marketplace with the account's key. */
async function call(stage: Stage, method: string, path: string, body?: JsonObject): Promise<void> {
  const { status } = await stage.users.console.call(method, path, body);
  stage.world.note(`in the console: ${method} ${path}: ${status}`);
}

/** A person rents a machine without a label, which an object may take over. */
export function rentToHandOver(stage: Stage, offerId: number): void {
  void call(stage, 'PUT', `/api/v0/asks/${offerId}/`, { image: HANDED_OVER, disk: 20 });
}

/** The machine that holds that offer now. */
export function machineOn(stage: Stage, offerId: number): number {
  return stage.world.market.store.current().tables.offers[offerId]?.rentedBy ?? Number.NaN;
}

/** The host asks for more: whoever searches now takes another offer. */
export function raisePrice(stage: Stage, offerId: number, gpuPricePerHour: number): void {
  const { store } = stage.world.market;
  const offer = store.current().tables.offers[offerId];
  if (!offer) throw new Error(`there is no offer ${offerId}`);
  store.put('offers', { ...offer, gpuPricePerHour });
}

/** Every host that has a machine left asks for that price. */
export function raisePrices(stage: Stage, gpuPricePerHour: number): void {
  for (const offer of Object.values(stage.world.market.store.current().tables.offers))
    if (offer.rentedBy === null) raisePrice(stage, offer.id, gpuPricePerHour);
}

/** Every offer but that one asks for more than any object may pay, also once its machine is free again. */
export function leaveOneOffer(stage: Stage, offerId: number): void {
  for (const { id } of Object.values(stage.world.market.store.current().tables.offers))
    if (id !== offerId) raisePrice(stage, id, 9_000_000);
}

/** The host of an offer lets nothing in from outside but through the proxy. */
export function closePorts(stage: Stage, offerId: number): void {
  const { store } = stage.world.market;
  const offer = store.current().tables.offers[offerId];
  if (!offer) throw new Error(`there is no offer ${offerId}`);
  store.put('offers', { ...offer, columns: { ...offer.columns, direct_port_count: 0 } });
}

/** The machine of an object maps no port any more, whatever its offer said. */
export function unmapPorts(stage: Stage, name: string): void {
  const { store } = stage.world.market;
  const contract = store.current().tables.contracts[stage.machineOf(name)];
  if (!contract) throw new Error(`${name} has no machine`);
  store.put('contracts', { ...contract, ports: {} });
}

/** The host asks for another price of the machine that an object has, and bills it from now on. */
export function repriceMachine(stage: Stage, name: string, gpuPricePerHour: number): void {
  const { store } = stage.world.market;
  const contract = store.current().tables.contracts[stage.machineOf(name)];
  if (!contract) throw new Error(`${name} has no machine`);
  const diskPerHour = contract.spans.at(-1)?.diskPerHour ?? 0;
  const rates = { gpuPerHour: gpuPricePerHour, diskPerHour };
  store.put('contracts', rebill({ ...contract, gpuPricePerHour }, stage.world.now, rates));
}

/** The label that the machine of an object carries. */
export function labelOf(stage: Stage, name: string): string {
  return stage.world.market.store.current().tables.contracts[stage.machineOf(name)]?.label ?? '';
}

/** A person ends a machine in the console. */
export function endInConsole(stage: Stage, id: number): void {
  stage.invariants.destroyedElsewhere(id);
  void call(stage, 'DELETE', `/api/v0/instances/${id}/`);
}

/** A person takes the guard away and deletes the object: its machine is nobody's. */
export function abandon(stage: Stage, name: string): void {
  stage.invariants.markHandled(name);
  stage.users.removeFinalizers(name);
  stage.users.delete(name);
}

/** A person wants the machines destroyed that lost their objects together. */
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

/** The cluster is restored to a moment before that object was made, and the account is as it was then. */
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

/** The account as it is now. */
export function accountNow(stage: Stage): JsonObject {
  return structuredClone(stage.world.kube.writes.read(account(stage)) ?? {});
}

/** A person edits the intent of an object. Returns what it was. */
export function editIntent(stage: Stage, name: string, edits: JsonObject): string {
  const before = String(objectAt(metadataOf(stage.users.backup(name)), 'annotations')[INTENT]);
  const intent: JsonObject = JSON.parse(before);
  writeIntent(stage, name, JSON.stringify({ ...intent, ...edits }));
  return before;
}

/** A person writes the intent of an object. */
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

/** A person applies what a backup holds of an object that is gone: it gets another uid, and no status. */
export function restoreFromBackup(stage: Stage, name: string, { spec = {}, ...backup }: JsonObject): void {
  const { annotations = {} } = metadataOf(backup);
  const { apiVersion = '', kind = '' } = backup;
  const object = { apiVersion, kind, metadata: { name, annotations }, spec };
  stage.world.kube.writes.create(instance(stage, name), object);
  stage.world.note(`a user makes ${name} anew from a backup`);
}

/** Somebody of another namespace makes an object that names the account and wants no machine, and writes its intent. */
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

/** People label the machines of theirs that an object takes for its own perhaps. */
export function labelOwn({ users, invariants }: Stage): void {
  for (const id of users.machinesInDoubt()) {
    invariants.labelledElsewhere(id);
    void users.console.label(id, 'mine');
  }
}

/** No machine loads an image within its time any more, or each does as usual again. */
export function slowPulls(stage: Stage, isSlow: boolean): void {
  const { store } = stage.world.market;
  for (const machine of Object.values(store.current().tables.machines))
    store.put('machines', { ...machine, pullFactor: isSlow ? 10_000 : 1 });
}

/** Somebody else's Secret or Service has the name that a child of an object needs. */
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

/** That object goes. */
export function freeName(stage: Stage, plural: 'secrets' | 'services', name: string): void {
  const { kube } = stage.world;
  const address = { kind: kube.kind(plural), namespace: NAMESPACE, name };
  stage.invariants.byPerson(() => kube.writes.delete(address, {}));
}

/** A person pays credit into every login. */
export function payIn(world: SimulatedWorld): void {
  const { store } = world.market;
  for (const user of Object.values(store.current().tables.users))
    store.put('users', { ...user, depositedMicros: user.depositedMicros + PAID_IN_MICROS });
  world.note('a person pays credit in');
}
