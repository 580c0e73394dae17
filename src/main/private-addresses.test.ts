import { expect, test } from 'vitest';
import type { JsonObject } from '../../test/simulation/memory-kube/json.ts';
import { MACHINE } from '../../test/simulation/specs.ts';
import { Users } from '../../test/simulation/users.ts';
import { NAMESPACE, SimulatedWorld } from '../../test/simulation/world.ts';
import type { RawOptions } from '../config.ts';
import { seededRandom } from '../lib/random.ts';

const QUIET = { requestMs: 2, responseMs: 2 };
const INSTANCE = {
  apiVersion: 'gpurental.dev/v1alpha1',
  kind: 'GpuInstance',
  metadata: { name: 'job' },
  spec: { ...MACHINE, ports: [{ name: 'http', containerPort: 8080 }] },
};

/**
 * Returns the slices of an object whose machine has a private address, and the text of its events, under these flags.
 */
async function publishedUnder(flags: RawOptions) {
  const world = new SimulatedWorld({ seed: 1, keepTrace: false, flags, fate: () => QUIET });
  const { store } = world.market;
  for (const machine of Object.values(store.current().tables.machines))
    store.put('machines', { ...machine, publicAddress: '10.1.2.3' });
  new Users(world, seededRandom(1)).account.create('Report');
  const kind = world.kube.kind('gpuinstances');
  world.kube.writes.create({ kind, namespace: NAMESPACE, name: 'job' }, INSTANCE);
  world.startProcess();
  await world.scheduler.runUntil(world.now + 120_000, () => true);
  const all = (plural: string) => world.kube.store.all(world.kube.kind(plural));
  return {
    addresses: all('endpointslices').flatMap(
      ({ endpoints }) => (endpoints as readonly JsonObject[])[0]?.['addresses'],
    ),
    events: all('events').map(({ reason }) => reason),
  };
}

test('the address of a machine is published where it is private by --allow-private-addresses alone', async () => {
  const allowed = await publishedUnder({ allowPrivateAddresses: true });
  expect(allowed.addresses).toEqual(['10.1.2.3']);
  expect(allowed.events).not.toContain('EndpointsLeftOut');
  const refused = await publishedUnder({});
  expect(refused.addresses).toEqual([]);
  expect(refused.events).toContain('EndpointsLeftOut');
});
