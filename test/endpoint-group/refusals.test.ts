import { describe, expect, test } from 'vitest';
import type { TransportRequest } from '../../src/lib/transport.ts';
import { SimulatedGroup } from '../builders/simulated-group.ts';
import { metadataOf } from '../simulation/memory-kube/json.ts';

const STATUS_WRITE = /^PUT .*\/endpointgroups\/llm\/status$/;

/** Returns a group for which the API server refuses one kind of write while `isOn`. */
function refusing(isRefused: (request: TransportRequest) => boolean, message: string) {
  const refusal = { isOn: false, tries: 0 };
  const body = JSON.stringify({ kind: 'Status', status: 'Failure', reason: 'Forbidden', code: 403, message });
  const life = new SimulatedGroup({
    fate: ({ request }) => {
      if (!refusal.isOn || !isRefused(request)) return undefined;
      refusal.tries += 1;
      return { requestMs: 2, responseMs: 2, refusal: { status: 403, body } };
    },
  });
  return { life, refusal };
}

const makesWorker = ({ method, path }: TransportRequest) =>
  method === 'POST' && /\/gpuinstances(\?|$)/.test(path);

const eventsOf = (life: SimulatedGroup, reason: string) =>
  life.world.kube.store.all(life.world.kube.kind('events')).filter((event) => event['reason'] === reason);

describe('a worker that a quota forbids', () => {
  test('keeps no other from being stopped, and is made once the quota is raised', async () => {
    const { life, refusal } = refusing(makesWorker, 'exceeded quota: count/gpuinstances');
    life.begin({ minLoad: '350', coldWorkers: 4, maxWorkers: 12 });
    await life.until('four are ready', () => life.status().ready === 4);
    await life.pass(120);
    const added = eventsOf(life, 'WorkersAdded').length;
    refusal.isOn = true;
    life.edit({ minLoad: '0', coldWorkers: 5 });
    await life.pass(900);
    expect(life.fleet.running).toBe(0);
    expect(life.status()).toMatchObject({ replicas: 0, cold: 4, total: 4 });
    const why = {
      status: 'False',
      reason: 'NotPermitted',
      message: expect.stringContaining('exceeded quota'),
    };
    expect(life.condition('Ready')).toMatchObject(why);
    expect(life.condition('Progressing')).toMatchObject(why);
    expect(eventsOf(life, 'WorkersAdded')).toHaveLength(added);
    expect(eventsOf(life, 'WorkersParked')).toHaveLength(1);

    const [writes, tries] = [life.callsTo(STATUS_WRITE).length, refusal.tries];
    await life.pass(600);
    expect(life.callsTo(STATUS_WRITE)).toHaveLength(writes);
    expect(refusal.tries - tries).toBe(60);

    refusal.isOn = false;
    await life.until('five are cold', () => life.status().cold === 5 && life.fleet.running === 0);
    expect(life.condition('Ready')).toMatchObject({ status: 'True', reason: 'ScaledToZero' });
  });
});

describe('a worker that cannot be taken in', () => {
  const left = async () => {
    let name = '';
    const { life, refusal } = refusing(
      ({ method, path, body }) =>
        method === 'PATCH' && path.includes(`/${name}`) && String(body).includes('ownerReferences'),
      'an admission webhook denied the request',
    );
    life.begin({ minLoad: '350', maxWorkers: 5 });
    await life.until('four are ready', () => life.status().ready === 4);
    await life.pass(60);
    name = life.workers()[0]?.metadata.name ?? '';
    refusal.isOn = true;
    life.editWorker(name, (worker) => ({
      ...worker,
      metadata: { ...metadataOf(worker), ownerReferences: [] },
    }));
    await life.pass(20);
    return { life, refusal };
  };

  test('is reported, and has its place; the others grow and go by the load', async () => {
    const { life, refusal } = await left();
    await life.until('four of its own', () => life.status().ready === 4);
    life.edit({ minLoad: '900' });
    await life.pass(600);
    expect(life.workers()).toHaveLength(5);
    expect(life.condition('Ready')).toMatchObject({
      status: 'False',
      reason: 'NotPermitted',
      message: expect.stringMatching(/^Cannot adopt worker llm-\w+: an admission webhook denied/),
    });
    life.edit({ minLoad: '0' });
    await life.until('none of its own is left', () => life.workers().length === 1);
    refusal.isOn = false;
    await life.until('it goes, too', () => life.workers().length === 0);
    expect(life.billing()).toEqual([]);
  });
});

describe('a worker that cannot be stopped', () => {
  test('goes on billing, and the group is not called ready', async () => {
    const { life, refusal } = refusing(
      ({ method, path, body }) =>
        method === 'PATCH' && path.includes('/gpuinstances/') && String(body).includes('Gone'),
      'no right to patch',
    );
    life.begin({ minLoad: '150' });
    await life.until('two are ready', () => life.status().ready === 2);
    await life.pass(60);
    refusal.isOn = true;
    life.edit({ minLoad: '0' });
    await life.pass(600);
    expect(life.status()).toMatchObject({ replicas: 2, observedGeneration: 2 });
    expect(life.condition('Ready')).toMatchObject({ status: 'False', reason: 'NotPermitted' });
    refusal.isOn = false;
    await life.until('they go', () => life.billing().length === 0);
    expect(life.condition('Ready')).toMatchObject({ status: 'True' });
  });
});

describe('an EndpointSlice that cannot be deleted', () => {
  test('keeps no worker from being stopped', async () => {
    const { life, refusal } = refusing(
      ({ method, path }) => method === 'DELETE' && path.includes('/endpointslices/'),
      'no right to delete',
    );
    life.begin({ minLoad: '250', coldWorkers: 3 });
    await life.until('three are ready', () => life.status().ready === 3);
    await life.pass(60);
    refusal.isOn = true;
    life.edit({ minLoad: '0' });
    await life.until('all sleep', () => life.fleet.running === 0);
    expect(life.condition('Ready')).toMatchObject({
      status: 'False',
      reason: 'NotPermitted',
      message: expect.stringContaining('Cannot delete an EndpointSlice of llm: no right to delete'),
    });
    refusal.isOn = false;
    await life.until('it is well again', () => life.condition('Ready')?.status === 'True');
  });
});

describe('a group that is deleted', () => {
  test('reports the workers that it cannot delete', async () => {
    const { life, refusal } = refusing(
      ({ method, path }) => method === 'DELETE' && path.includes('/gpuinstances/'),
      'a policy protects it',
    );
    life.begin({ minLoad: '150' });
    await life.until('two are ready', () => life.status().ready === 2);
    refusal.isOn = true;
    life.delete();
    await life.pass(30);
    expect(life.condition('Ready')).toMatchObject({
      reason: 'Deleting',
      message: expect.stringMatching(/^Deleting 2 workers\. Cannot delete worker llm-\w+: /),
    });
    refusal.isOn = false;
    await life.until('all is gone', () => life.group() === undefined);
    expect(life.billing()).toEqual([]);
  });
});
