import { expect, test, vi } from 'vitest';
import { groupObject, workerObject } from '../../test/builders/group-worker.ts';
import { SimulatedGroup } from '../../test/builders/simulated-group.ts';
import { wiredUnder } from '../../test/builders/wired.ts';
import { type JsonObject, objectAt } from '../../test/simulation/memory-kube/json.ts';
import { NAMESPACE } from '../../test/simulation/world.ts';
import { annotations, connectionKeys, connectionSecretName, labels } from '../api/v1alpha1/names.ts';
import type { RawOptions } from '../config.ts';
import { GroupIdentities } from '../controllers/endpoint-group/identity/identities.ts';
import { workerToken } from '../ownership/worker-token.ts';
import { createEndpointGroups } from './endpoint-groups.ts';

/** Returns a group with one serving worker, and every address at which its workers are called. */
async function serving(flags: RawOptions = {}, machineAddress?: string) {
  const life = new SimulatedGroup({ flags });
  const { store } = life.world.market;
  if (machineAddress !== undefined)
    for (const machine of Object.values(store.current().tables.machines))
      store.put('machines', { ...machine, publicAddress: machineAddress });
  const transport = vi.spyOn(life.fleet, 'transport');
  life.begin({ replicas: 1 });
  await life.until('the machine runs', () => life.workers()[0]?.status?.actualStatus === 'running');
  await life.pass(60);
  const addresses = () => [...new Set(transport.mock.calls.map(([{ origin }]) => new URL(origin).hostname))];
  return { life, addresses };
}

test('a worker is asked where the address map leads, with the token of the machine that it has now', async () => {
  const { life, addresses } = await serving();
  expect(addresses()).toEqual(['127.0.0.1']);
  const attempt = () => life.workers()[0]?.status?.attempt;
  const first = attempt() ?? 0;
  const [worker] = life.workers();
  const name = worker?.metadata.name ?? '';
  life.editWorker(name, (current) => {
    const metadata = objectAt(current, 'metadata');
    const noted = {
      ...objectAt(metadata, 'annotations'),
      [annotations.replaceAt]: new Date(life.world.now).toISOString(),
    };
    return { ...current, metadata: { ...metadata, annotations: noted } };
  });
  await life.until('it has another machine', () => (attempt() ?? 0) > first);
  await life.until('that serves', () => life.status().ready === 1);
  await life.pass(60);
  const kind = life.world.kube.kind('secrets');
  const secret = life.world.kube.writes.read({
    kind,
    namespace: NAMESPACE,
    name: connectionSecretName(name),
  });
  const token = Buffer.from(String(objectAt(secret ?? {}, 'data')[connectionKeys.workerToken]), 'base64');
  expect(life.fleet.tokens.get(Number(life.workers()[0]?.status?.instanceId))).toBe(
    `Bearer ${token.toString()}`,
  );
});

test('a worker at a private address is asked and published by --allow-private-addresses alone', async () => {
  const published = ({ world }: SimulatedGroup) =>
    JSON.stringify(world.kube.store.all(world.kube.kind('endpointslices'))).includes('10.1.2.3');
  const refused = await serving({}, '10.1.2.3');
  expect([refused.addresses(), published(refused.life)]).toEqual([[], false]);
  const allowed = await serving({ allowPrivateAddresses: true }, '10.1.2.3');
  expect([allowed.addresses(), published(allowed.life)]).toEqual([['10.1.2.3'], true]);
});

test('workers are asked as many times as often as --scaling-speed says', async () => {
  const askedIn = async (flags: RawOptions) => {
    const { life } = await serving(flags);
    const before = life.fleet.asked;
    await life.pass(100);
    return life.fleet.asked - before;
  };
  expect(await askedIn({})).toBeLessThanOrEqual(11);
  expect(await askedIn({ scalingSpeed: '5' })).toBeGreaterThanOrEqual(45);
});

test('an update leaves the workers alone while lists fail: the breaker of their account is open then', async () => {
  let isDown = false;
  const life = new SimulatedGroup({
    fate: ({ side, request }) =>
      isDown && side === 'market' && request.method === 'GET'
        ? { requestMs: 2, responseMs: 2, refusal: { status: 500, body: '' } }
        : undefined,
  });
  life.begin({ replicas: 2, updateStrategy: { type: 'RollingUpdate', maxUnavailable: 1 } });
  await life.until('both serve', () => life.status().ready === 2);
  const template = life.group()?.spec.template;
  isDown = true;
  await life.pass(60);
  life.edit({
    template: { ...template, spec: { ...template?.spec, image: 'example/worker:2' } } as JsonObject,
  });
  await life.pass(180);
  expect([life.billing().length, life.workers().map(({ spec }) => spec.image)]).toEqual([
    2,
    ['example/worker:1', 'example/worker:1'],
  ]);
  isDown = false;
  await life.until('both are new', () => life.status().updated === 2 && life.status().ready === 2);
});

/** Returns the answer to a machine with its own token whose object is labelled as a worker of the group `llm`. */
async function reportedBy(
  ownerReferences: (groupUid: string) => readonly object[],
  { leads = true }: { readonly leads?: boolean } = {},
): Promise<number> {
  const { wiring, memory, create, sync, end } = wiredUnder({});
  const { intake } = createEndpointGroups({
    identities: new GroupIdentities({ cluster: wiring.kube, clock: wiring.env.clock }),
    ...wiring,
    isLeading: () => leads,
  });
  await wiring.installation.resolve();
  const uidOf = (plural: string, name: string) =>
    String(
      objectAt(memory.writes.read({ kind: memory.kind(plural), namespace: 'red', name }) ?? {}, 'metadata')[
        'uid'
      ],
    );
  const { apiVersion, spec } = groupObject({ load: { type: 'Push' } });
  create('endpointgroups', { apiVersion, kind: 'EndpointGroup', metadata: { name: 'llm' }, spec });
  const worker = workerObject('w');
  const owners = ownerReferences(uidOf('endpointgroups', 'llm'));
  const metadata = { name: 'w', labels: { [labels.endpointGroup]: 'llm' }, ownerReferences: owners };
  create('gpuinstances', { apiVersion, kind: 'GpuInstance', metadata, spec: worker.spec });
  const address = { kind: memory.kind('gpuinstances'), namespace: 'red', name: 'w' };
  const status = { ...worker.status, instanceId: '7', attempt: 1 };
  memory.writes.update(address, (current) => ({ ...current, status }) as JsonObject, 'status');
  await sync();
  const keys = wiring.installation.identity()?.keys;
  if (!keys) throw new Error('There is no identity.');
  const mtoken = workerToken(keys, { uid: uidOf('gpuinstances', 'w'), attempt: 1 });
  const answer = intake.take('/worker_status/', { id: 7, mtoken, new_load: 0, cur_load: 0 });
  await end();
  return answer.status;
}

const ownedBy = (uid: string) => [
  { apiVersion: 'gpurental.dev/v1alpha1', kind: 'EndpointGroup', name: 'llm', uid, controller: true },
];

test('a machine reports for the group that controls its object, and for none that it only names', async () => {
  expect(await reportedBy(ownedBy)).toBe(200);
  expect(await reportedBy(() => [])).toBe(401);
  expect(await reportedBy(() => ownedBy('another-uid'))).toBe(401);
});

test('a machine reports to the replica that leads', async () => {
  expect(await reportedBy(ownedBy, { leads: false })).toBe(503);
});
