import { describe, expect, test } from 'vitest';
import { groupObject } from '../../../test/builders/group-worker.ts';
import { memoryCluster } from '../../../test/builders/memory-cluster.ts';
import { calm } from '../../../test/builders/observed-group.ts';
import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import { endpointGroupResource, GROUP_FINALIZER } from '../../api/v1alpha1/names.ts';
import { refOf } from '../../runtime/kube/kube-object.ts';
import { LoadStore } from './load/state.ts';
import { Memories } from './memory.ts';
import { record } from './record.ts';

async function bench() {
  const { kube: cluster, clock } = memoryCluster();
  const { metadata: _, ...body } = groupObject();
  const metadata = { name: 'llm', namespace: 'default' };
  const group = await cluster.create<EndpointGroup>(endpointGroupResource, { ...body, metadata });
  const memory = new Memories({ cluster, clock, loadStore: new LoadStore() }).of(group);
  const written: EndpointGroup[] = [];
  const groups = { wrote: (object: EndpointGroup) => written.push(object) } as never;
  const decision = { needsFinalizer: true, status: { replicas: 1 }, memory: calm(1) };
  const now = () => cluster.get<EndpointGroup>(endpointGroupResource, refOf(group));
  memory.wake.ask();
  memory.wake.see();
  return { cluster, group, memory, written, decision, now, deps: { cluster, groups, memory } };
}

describe('the record of a decision', () => {
  test('writes finalizer and status, then answers pending requests', async () => {
    const { group, decision, deps, memory, written, now } = await bench();
    const receipt = await record(group, decision, deps);
    expect(await now()).toMatchObject({
      metadata: { finalizers: [GROUP_FINALIZER] },
      status: { replicas: 1 },
    });
    expect(receipt?.object.metadata.resourceVersion).toBe(written.at(-1)?.metadata.resourceVersion);
    expect([memory.fields, memory.wake.see()]).toEqual([decision.memory, false]);
  });

  test('fails when another client wrote first, and keeps memory and wake request', async () => {
    const { cluster, group, decision, deps, memory, now } = await bench();
    const body = { metadata: { annotations: { 'team.example/note': 'x' } } };
    await cluster.patch(endpointGroupResource, refOf(group), { type: 'merge', body });
    expect(await record(group, decision, deps)).toBeUndefined();
    expect((await now())?.status?.replicas).toBeUndefined();
    expect([memory.fields, memory.wake.see()]).toEqual([undefined, true]);
  });
});
