import { statusCodec } from '../../../src/api/v1alpha1/status-codec.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import { type JsonObject, metadataOf } from '../memory-kube/json.ts';
import type { Fate } from '../network.ts';
import { statusAt } from '../status-at.ts';
import { NAMESPACE } from '../world.ts';
import type { Bench } from './bench.ts';

export const FAILED = { requestMs: 2, responseMs: 2, refusal: { status: 500, body: '' } };
/** The answer is a certain no. */
export const REFUSED = { ...FAILED, refusal: { status: 429, body: '' } };
export const INSTANCES = '/apis/gpurental.dev/v1alpha1/namespaces/default/gpuinstances';
export const GROUP = '/apis/gpurental.dev/v1alpha1/namespaces/default/endpointgroups/group';
export const INTENT = 'gpurental.dev/rental-intent';

/** Returns a recorded machine that has run for a while. */
export async function atWork(bench: Bench, name = 'a', attempt = 1): Promise<Contract> {
  const contract = await bench.rent(attempt, { name });
  bench.setStatus({ instanceId: String(contract.id), attempt, phase: 'Running' }, name);
  bench.world.market.store.put('contracts', { ...contract, actualStatus: 'running' });
  bench.invariants.check();
  await bench.pass(120);
  return contract;
}

/** Destroys a working machine whose host demands that multiple of its price by then. */
export async function destroyedAtWork(bench: Bench, times: number): Promise<void> {
  const { id } = await atWork(bench);
  const { store } = bench.world.market;
  const contract = store.current().tables.contracts[id];
  if (!contract) throw new Error(`there is no contract ${id}`);
  store.put('contracts', { ...contract, gpuPricePerHour: contract.gpuPricePerHour * times });
  bench.invariants.check();
  await bench.pass(70);
  bench.sendDestroy(id);
  store.remove('contracts', id);
  bench.invariants.check();
}

/** Destroys a machine at once after it recovered from two minutes offline and its process read a list. */
export async function destroyedAfterRecovery(
  bench: Bench,
  { shows, afterSeconds = 2 }: { readonly shows: string; readonly afterSeconds?: number },
): Promise<void> {
  const contract = await atWork(bench);
  const { store } = bench.world.market;
  store.put('contracts', { ...contract, actualStatus: 'offline' });
  await bench.pass(120);
  store.put('contracts', { ...contract, actualStatus: 'running' });
  bench.invariants.check();
  await bench.pass(5);
  bench.readList(shows);
  await bench.pass(afterSeconds);
  bench.sendDestroy(contract.id);
  store.remove('contracts', contract.id);
  bench.invariants.check();
}

/** Adds a finalizer to the account, so that it is not deleted at once. */
export function guardAccount(bench: Bench): void {
  const { kube } = bench.world;
  const address = { kind: kube.kind('marketplaceaccounts'), namespace: NAMESPACE, name: 'default' };
  const change = (current: JsonObject) => ({
    ...current,
    metadata: { ...metadataOf(current), finalizers: ['gpurental.dev/account'] },
  });
  kube.writes.update(address, change, undefined);
}

/** Silences the host of a machine. */
export function silence(bench: Bench, { machineId }: Contract): void {
  const { store } = bench.world.market;
  const machine = store.current().tables.machines[machineId];
  if (machine) store.put('machines', { ...machine, state: 'offline' });
  bench.invariants.check();
}

/** Makes a worker of a group ready by its report. */
export async function serving(bench: Bench): Promise<void> {
  bench.group(1);
  const conditions = [
    {
      type: 'Ready',
      status: 'True',
      reason: 'Ready',
      message: '',
      lastTransitionTime: '2026-01-05T12:00:00Z',
      observedGeneration: -1,
    },
  ];
  bench.setStatus({ actualStatus: 'running', conditions }, 'worker-0');
  await bench.pass(1);
}

/** Returns a desired worker in a Service. */
export async function led(bench: Bench): Promise<() => void> {
  await serving(bench);
  bench.edit({ annotations: { 'gpurental.dev/desired-role': 'Hot' } }, 'worker-0');
  const { kube } = bench.world;
  const address = { kind: kube.kind('endpointslices'), namespace: NAMESPACE, name: 'worker-0-endpoint' };
  const owner = { uid: bench.uidOf('worker-0'), kind: 'GpuInstance', name: 'worker-0' };
  kube.writes.create(address, { metadata: { name: 'worker-0-endpoint', ownerReferences: [owner] } });
  await bench.pass(60);
  return () => kube.writes.delete(address, {});
}

/** Returns a machine whose object a person has removed by force. */
export async function abandoned(bench: Bench): Promise<Contract> {
  const contract = await bench.rent(1);
  bench.invariants.markHandled('a');
  bench.users.delete('a');
  bench.invariants.check();
  return contract;
}

/** Returns a machine that is unknown to a restored cluster, seen in two lists and old enough. */
export async function forgotten(bench: Bench): Promise<number> {
  const { id } = await bench.rent(1);
  bench.invariants.forgotten('a');
  bench.users.delete('a');
  bench.invariants.check();
  await bench.pass(60);
  for (let poll = 0; poll < 2; poll += 1) await bench.poll(10);
  return id;
}

/** Takes the lease by a process and writes an intent whose call may take that many seconds. */
export function intends(bench: Bench, seconds: number): void {
  const { kube, now } = bench.world;
  const kind = kube.kind('leases');
  const spec = { holderIdentity: bench.machine.name, leaseDurationSeconds: 15 };
  kube.writes.create({ kind, namespace: NAMESPACE, name: 'lease' }, { metadata: { name: 'lease' }, spec });
  const intent = { uid: bench.uid, attempt: 1, issuedAt: now, deadline: now + seconds * 1000 };
  bench.edit({ annotations: { 'gpurental.dev/rental-intent': JSON.stringify(intent) } });
}

/** Calls to rent leave for two objects, and the second arrives before the first. */
export async function overtaken(bench: Bench, between = (): void => {}): Promise<void> {
  bench.users.createInstance('b');
  bench.sendRent(1);
  between();
  await bench.pass(5);
  bench.sendRent(2, 'b');
  await bench.rent(2, { name: 'b' });
  await bench.pass(5);
  await bench.rent(1);
}

/** Turns four machines bad together beside a healthy one, and gives one of them up that many seconds later. */
export async function givesUpOneOfFour(
  bench: Bench,
  seconds: number,
  ofOthers: { readonly isOfSecond?: boolean } = {},
): Promise<void> {
  const names = ['a', 'b', 'c', 'd'];
  for (const name of names.slice(1)) bench.users.createInstance(name, ofOthers);
  bench.users.createInstance('e');
  const contracts: Contract[] = [];
  for (const [index, name] of names.entries()) contracts.push(await atWork(bench, name, index + 1));
  await atWork(bench, 'e', names.length + 1);
  await bench.poll(10);
  for (const contract of contracts) silence(bench, contract);
  await bench.poll(seconds);
  bench.sendDestroy(contracts[0]?.id ?? 0);
}

/**
 * Silences some of the working machines, whose process reads a list every ten seconds. Returns the ids of the silent
 * ones.
 */
export async function silentFor(
  bench: Bench,
  {
    machines,
    silent,
    seconds,
  }: { readonly machines: number; readonly silent: number; readonly seconds: number },
): Promise<readonly number[]> {
  const contracts: Contract[] = [];
  for (let index = 0; index < machines; index += 1) {
    const name = index === 0 ? 'a' : `m-${index}`;
    if (index > 0) bench.users.createInstance(name);
    contracts.push(await atWork(bench, name, index + 1));
  }
  await bench.poll(10);
  const fallen = contracts.slice(0, silent);
  for (const contract of fallen) silence(bench, contract);
  for (let passed = 0; passed < seconds; passed += 10) await bench.poll(10);
  return fallen.map(({ id }) => id);
}

/** Makes that many machines lose their objects at once; their process reads lists for seventy seconds. */
export async function orphanedAtOnce(bench: Bench, count: number): Promise<readonly number[]> {
  const ids: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const name = index === 0 ? 'a' : `m-${index}`;
    if (index > 0) bench.users.createInstance(name);
    ids.push((await bench.rent(index + 1, { name })).id);
    await bench.pass(10);
  }
  for (const name of bench.users.names()) {
    bench.invariants.markHandled(name);
    bench.users.delete(name);
  }
  bench.invariants.check();
  for (let passed = 0; passed < 70; passed += 10) await bench.poll(10);
  return ids;
}

/** Deletes the object, with remaining work. */
export function leaving(bench: Bench): void {
  bench.edit({ finalizers: ['gpurental.dev/machine'] });
  bench.users.delete('a');
  bench.invariants.check();
}

/** Writes the status of a group, as its controller does. */
export function setGroupStatus(bench: Bench, status: JsonObject): void {
  const { kube } = bench.world;
  const address = { kind: kube.kind('endpointgroups'), namespace: NAMESPACE, name: 'group' };
  const change = (current: JsonObject) =>
    statusCodec.encode({ ...current, status: { ...statusAt(current), ...status } });
  kube.writes.update(address, change, 'status');
  bench.invariants.check();
}

/** Writes the status of a group that a user has edited since: the API server refuses the write. */
export function losesRace(bench: Bench, fate: Partial<Fate> = {}): void {
  const read = bench.objectOf('group', 'endpointgroups');
  bench.users.groups.setLoad('group', 150);
  const whole = { requestMs: 2, responseMs: 2, ...fate };
  bench.sendToCluster('PUT', `${GROUP}/status`, JSON.stringify(read), { fate: whole });
}

/** Creates a worker of the group. */
export function createsWorker(bench: Bench, machine = bench.machine): void {
  const ownerReferences = [{ kind: 'EndpointGroup', name: 'group' }];
  const body = JSON.stringify({ metadata: { name: 'group-1', ownerReferences } });
  bench.sendToCluster('POST', `${INSTANCES}?fieldManager=children`, body, { machine });
}

/** Begins a process in the view of the oracle: it runs nothing. */
export function processBegins(bench: Bench): void {
  const process = bench.world.startProcess();
  process.machine.kill();
  bench.world.processes.splice(0, 1, { ...process, machine: bench.machine });
  bench.sendToCluster('GET', '/apis/gpurental.dev/v1alpha1/namespaces/default/gpuinstances');
}

/** Writes the record of the operator when it begins to end a machine for another one. */
export function givesUp(bench: Bench, reason: string, name = 'a', doing = 'Replacing'): void {
  const condition = { message: '', lastTransitionTime: '2026-01-05T12:00:00Z', observedGeneration: -1 };
  const conditions = [
    { ...condition, type: 'Ready', status: 'False', reason },
    { ...condition, type: 'Reconciling', status: 'True', reason: doing },
  ];
  bench.setStatus({ conditions }, name);
}

/** Writes the next purchase of the operator, after a machine that ended for this reason. */
export function buysAfter(bench: Bench, reason: string, name = 'a'): void {
  const ended = {
    instanceId: '7',
    attempt: 1,
    reason,
    endedAt: '2026-01-05T12:00:00Z',
    rentedMinutes: 1,
    cost: '0.01',
  };
  bench.setStatus({ attempt: 1, history: [ended] }, name);
  bench.edit({ annotations: { [INTENT]: '{"attempt":2}' } }, name);
}

/** Makes the account of the bench able to rent: its key is verified, and labels are known to be echoed. */
export function accountRents(bench: Bench): void {
  const { kube, market } = bench.world;
  const address = { kind: kube.kind('marketplaceaccounts'), namespace: NAMESPACE, name: 'default' };
  const lastTransitionTime = '2026-01-05T12:00:00Z';
  const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime };
  const { userId = 0 } = market.store.keyBySecret(market.apiKey) ?? {};
  const status = {
    conditions: [{ ...ready, observedGeneration: 1 }],
    labelsEchoed: true,
    login: { url: 'http://127.0.0.1:9', userId: String(userId), provenAt: lastTransitionTime },
  };
  bench.invariants.byPerson(() =>
    kube.writes.update(address, (current) => statusCodec.encode({ ...current, status }), 'status'),
  );
  bench.invariants.check();
}

/** Polls for that many seconds and rents nothing. */
export async function pollsOn(bench: Bench, seconds: number): Promise<void> {
  const { apiKey } = bench.world.market;
  for (let passed = 0; passed < seconds; passed += 10) await bench.poll(10, { apiKey });
}

/** Adopts a machine that a person rented by hand, under an account that does or does not allow it. */
export async function takesOver(
  bench: Bench,
  adoption: 'Unlabelled' | 'None' = 'Unlabelled',
): Promise<number> {
  await bench.users.console.rent(8_000_005, undefined);
  bench.invariants.check();
  const { store } = bench.world.market;
  const [contract] = Object.values(store.current().tables.contracts);
  if (!contract) throw new Error('the marketplace refused the rental');
  bench.users.account.set({ adoption });
  bench.users.createAdopting('taker', contract.id);
  bench.setStatus({ instanceId: String(contract.id), attempt: 1 }, 'taker');
  store.put('contracts', { ...contract, label: bench.label(1, 'taker') });
  bench.invariants.check();
  return contract.id;
}

/** Records an object whose search found nothing. */
export function searchesInVain(bench: Bench, name: string, message: string): void {
  const lastTransitionTime = '2026-01-05T12:00:00Z';
  const ready = { type: 'Ready', status: 'False', reason: 'NoOffers', message, lastTransitionTime };
  const conditions = [{ ...ready, observedGeneration: 1 }];
  bench.setStatus({ observedGeneration: 1, phase: 'Pending', conditions }, name);
}
