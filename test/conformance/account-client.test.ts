import { describe, expect, test } from 'vitest';
import { Secret } from '../../src/lib/secret.ts';
import type { MarketplaceClient } from '../../src/markets/vast/client.ts';
import { clientOf, failureOf } from '../builders/simulated-client.ts';
import { type SimulatedService, simulatedService } from '../builders/simulated-service.ts';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRlc3Qga2V5IG9mIGEgdGVzdCBmb3IgdGVzdHM me@example.com';

describe('our client and the account', () => {
  test.for(['public', 'specification'] as const)(
    'proves its key by the current user, %s profile',
    async (profile) => {
      const service = simulatedService({ profile });
      const user = await clientOf(service).users.current();
      expect(user).toMatchObject({
        id: String(service.user().id),
        email: service.user().email,
        credit: 1_000_000_000,
        sshKey: service.user().sshKey,
        fullName: service.user().fullName,
        twoFactor: 'disabled',
      });
    },
  );

  test('a scoped key lacks what it was not given, and a deleted one proves nothing', async () => {
    const service = simulatedService();
    const client = clientOf(service);
    const made = await client.apiKeys.create({ name: 'reader', permissions: { api: { instance_read: {} } } });
    const reader = clientOf(service, made.key.reveal());
    expect((await reader.instances.list()).instances).toEqual([]);
    expect((await failureOf(reader.users.current())).kind).toBe('forbidden');
    expect((await client.apiKeys.get(made.id ?? '')).name).toBe('reader');
    await client.apiKeys.delete(made.id ?? '');
    expect((await failureOf(reader.instances.list())).kind).toBe('unauthorized');
    expect((await client.apiKeys.list()).map(({ name }) => name)).toEqual(['default']);
  });

  test('a reset key takes the place of the old one', async () => {
    const service = simulatedService();
    const fresh = await clientOf(service).apiKeys.reset();
    expect((await failureOf(clientOf(service).users.current())).kind).toBe('unauthorized');
    expect((await clientOf(service, fresh.reveal()).users.current()).id).toBe(String(service.user().id));
  });

  test('SSH keys and environment variables come and go', async () => {
    const client = clientOf(simulatedService());
    const registered = await client.sshKeys.list();
    expect(registered).toHaveLength(1);
    const id = await client.sshKeys.create(KEY);
    await client.sshKeys.update(id, KEY.replace('me@', 'you@'));
    expect((await client.sshKeys.list()).map(({ publicKey }) => publicKey)).toEqual([
      registered[0]?.publicKey,
      KEY.replace('me@', 'you@'),
    ]);
    await client.sshKeys.delete(id);
    expect(await client.sshKeys.list()).toEqual(registered);
    await client.secrets.create('HF_TOKEN', new Secret('hf_x'));
    await client.secrets.update('HF_TOKEN', new Secret('hf_y'));
    expect(await client.secrets.list()).toEqual(['HF_TOKEN']);
    await client.secrets.delete('HF_TOKEN');
    expect(await client.secrets.list()).toEqual([]);
  });
});

describe('our client and volumes', () => {
  test.for(['public', 'specification'] as const)('unlists a volume listing, %s profile', async (profile) => {
    const client = clientOf(simulatedService({ profile }));
    expect((await client.volumes.unlist('8')).message).toBe('Unlisted Volume 8.');
    expect(await failureOf(client.volumes.unlist('8'))).toMatchObject({
      status: 400,
      upstreamMessage: 'Volume listing does not exist',
    });
    expect((await failureOf(client.volumes.unlist('9'))).upstreamMessage).toBe(
      'Unable to delete active volume listing',
    );
  });

  test('searches, rents, lists and deletes a volume', async () => {
    const client = clientOf(simulatedService());
    const [offer] = await client.volumes.search({
      filters: [{ field: 'disk_space', operator: 'gte', value: 60 }],
      order: [{ field: 'storage_cost', direction: 'asc' }],
      sizeGB: 20,
    });
    const { name } = await client.volumes.rent({ offerId: offer?.id ?? '', sizeGB: 20 });
    const [own] = await client.volumes.list('local');
    expect(own).toMatchObject({ label: name, sizeGB: 20 });
    await client.volumes.delete(own?.id ?? '');
    expect(await client.volumes.list()).toEqual([]);
  });

  test('offers disk of its machines as a host', async () => {
    const service = simulatedService();
    const [machineId = 0] = Object.keys(service.simulator.world().tables.machines).map(Number);
    const client = clientOf(service);
    await client.volumes.offer({ machineIds: [String(machineId)], sizeGB: 100, pricePerGBMonth: 200_000 });
    const listed = Object.values(service.simulator.world().tables.volumeListings).filter(
      ({ userId }) => userId === service.user().id,
    );
    expect(listed.at(-1)).toMatchObject({ machineId, sizeGB: 100, dollarsPerGBMonth: 0.2 });
  });
});

/** Creates an endpoint group `chat` with one worker group. */
async function chat(client: MarketplaceClient): Promise<{ id: string; groupId: string }> {
  const id = await client.endpointGroups.create({ endpointName: 'chat', minLoad: 1, coldWorkers: 2 });
  const groupId = await client.workerGroups.create({ endpointName: 'chat', searchParams: 'num_gpus=1' });
  return { id, groupId };
}

describe('our client and endpoint groups', () => {
  const fast = (): SimulatedService => simulatedService({ settings: { boot: { scale: 0.01 } } });

  test('what it does not say gets the defaults of specification 4.9', async () => {
    const client = clientOf(fast());
    const id = await client.endpointGroups.create({ endpointName: 'chat' });
    expect(await client.endpointGroups.get(id)).toMatchObject({
      name: 'chat',
      minLoad: 0,
      minColdLoad: 0,
      targetUtilization: 0.9,
      coldMultiplier: 2.5,
      coldWorkers: 5,
      maxWorkers: 20,
      maxQueueSeconds: 30,
      targetQueueSeconds: 10,
      inactivityTimeoutSeconds: undefined,
    });
  });

  test('an update keeps what it does not name', async () => {
    const client = clientOf(fast());
    const id = await client.endpointGroups.create({ endpointName: 'chat', maxWorkers: 7 });
    await client.endpointGroups.update(id, { coldWorkers: 1, maxWorkers: null, state: 'suspended' });
    expect(await client.endpointGroups.get(id)).toMatchObject({
      coldWorkers: 1,
      maxWorkers: 7,
      state: 'suspended',
    });
  });

  test('several worker groups share one endpoint by its name', async () => {
    const client = clientOf(fast());
    const { id } = await chat(client);
    await client.workerGroups.create({ endpointName: 'chat', searchParams: 'num_gpus=2' });
    expect((await client.workerGroups.list()).map(({ endpointId }) => endpointId)).toEqual([id, id]);
  });

  test('sees workers come up, gets a route and its logs, and deletes it all', async () => {
    const service = fast();
    const client = clientOf(service);
    const { id, groupId } = await chat(client);
    service.advance(300);
    const workers = await client.autoscaler.workers(id);
    expect(workers.type === 'ready' && workers.workers.map(({ status }) => status).toSorted()).toEqual([
      'idle',
      'stopped',
    ]);
    const endpointKey = (await client.endpointGroups.get(id)).apiKey ?? new Secret('');
    const route = await client.autoscaler.route({
      endpointName: 'chat',
      endpointKey,
      cost: 7,
      requestIndex: 0,
    });
    expect(route.type).toBe('ready');
    expect((await client.autoscaler.logs({ of: 'endpoint', id })).info0).toContain('rented');
    expect((await client.autoscaler.updateWorkers({ workerGroupId: groupId })).workers).toBe(2);
    await client.endpointGroups.delete(id);
    expect(await client.endpointGroups.list()).toEqual([]);
    expect(await client.workerGroups.list()).toEqual([]);
    expect((await client.instances.list()).instances).toEqual([]);
  });
});
