import { describe, expect, test } from 'vitest';
import { given, holding, identity, withMachine } from '../../../test/builders/observed.ts';
import { Secret } from '../../lib/secret.ts';
import type { KubeClient, Patch } from '../../runtime/kube/kube-client.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject, Resource } from '../../runtime/kube/kube-object.ts';
import { ObjectMemory } from './memory.ts';
import { keepInstanceKey, publish } from './publish.ts';

const fields = { ...holding(), attempt: 1, ssh: { host: '203.0.113.5', port: 20_022 } };
const unbound = given().object;
const bound = given(
  withMachine({}, { status: { ...holding(), binding: { name: 'job-connection' } } }),
).object;

const refused = (kind: 'alreadyExists' | 'notFound' | 'invalid') =>
  new KubeError(kind, { kind, status: 409, reason: kind, outcome: 'refused' });

/** A cluster that holds these Secrets, and what was sent to it. */
function clusterWith(
  present: Readonly<
    Record<string, { readonly owner: string; readonly data?: Readonly<Record<string, string>> }>
  > = {},
) {
  const sent: string[] = [];
  const bodies: unknown[] = [];
  const ownerOf = (name: string) => present[name]?.owner;
  const note = (verb: string, { kind }: Resource, name: string, body?: unknown): void => {
    sent.push(`${verb} ${kind} ${name}`);
    bodies.push(body);
  };
  const cluster = {
    create: async (resource: Resource, child: KubeObject) => {
      note('create', resource, child.metadata.name, child);
      if (ownerOf(child.metadata.name)) throw refused('alreadyExists');
      return child;
    },
    get: async (resource: Resource, { name }: { readonly name: string }) => {
      note('get', resource, name);
      const uid = ownerOf(name);
      const { data = {} } = present[name] ?? {};
      return uid && { metadata: { name, ownerReferences: [{ uid }] }, data };
    },
    patch: async (resource: Resource, { name }: { readonly name: string }, { type, body }: Patch) => {
      note(`${type} patch`, resource, name, body);
      const uid = ownerOf(name);
      if (!uid) throw refused('notFound');
      const [first] = Array.isArray(body) ? (body as { op: string; value: unknown }[]) : [];
      if (first?.op === 'test' && first.value !== uid) throw refused('invalid');
      return body;
    },
  };
  return { cluster: cluster as unknown as KubeClient, sent, bodies };
}

function portsTo(cluster: KubeClient, key?: { readonly attempt: number }) {
  const memory = new ObjectMemory();
  if (key) memory.instanceApiKey = { ...key, key: new Secret('k') };
  return { cluster, keys: identity.keys, memory, allowPrivateAddresses: false };
}

const mine = { 'job-connection': { owner: unbound.metadata.uid ?? '' } };
const foreign = { 'job-connection': { owner: 'someone-else' } };

describe('the connection Secret', () => {
  test('costs one create', async () => {
    const { cluster, sent } = clusterWith();
    const published = await publish(unbound, { fields, serving: true, ready: true }, portsTo(cluster));
    expect(published).toEqual({ type: 'done', bindingName: 'job-connection' });
    expect(sent).toEqual(['create Secret job-connection']);
  });

  test('of another owner is never written', async () => {
    for (const owner of [unbound, bound]) {
      const { cluster, sent } = clusterWith(foreign);
      const published = await publish(owner, { fields, serving: true, ready: true }, portsTo(cluster));
      expect(published).toMatchObject({
        type: 'nameTaken',
        detail: expect.stringContaining('job-connection'),
      });
      expect(sent.filter((line) => line.includes('patch'))).toEqual([]);
    }
  });

  test('that is gone is made again', async () => {
    const { cluster, sent } = clusterWith();
    await publish(bound, { fields, serving: true, ready: true }, portsTo(cluster));
    expect(sent.filter((line) => line.includes('Secret'))).toEqual([
      'get Secret job-connection',
      'create Secret job-connection',
    ]);
  });
});

describe('a slice to a private address', () => {
  const withService = given(withMachine({}, { spec: { ssh: true } })).object;
  const privately = { ...fields, publicAddress: '10.1.2.3', ssh: { host: '10.1.2.3', port: 20_022 } };

  test.each<[boolean, readonly string[]]>([
    [false, ['Secret', 'Service']],
    [true, ['Secret', 'Service', 'EndpointSlice']],
  ])('is written by --allow-private-addresses alone: %s', async (allowPrivateAddresses, kinds) => {
    const { cluster, sent } = clusterWith();
    const ports = { ...portsTo(cluster), allowPrivateAddresses };
    await publish(withService, { fields: privately, serving: true, ready: true }, ports);
    const made = sent.filter((line) => line.startsWith('create '));
    expect(made.map((line) => line.split(' ')[1])).toEqual(kinds);
  });

  test.each<[string, typeof withService, boolean, string | undefined]>([
    [
      'is said where it is missing',
      withService,
      false,
      'its address 10.1.2.3 is a private or cluster address',
    ],
    ['is not said where it is written', withService, true, undefined],
    ['is not said where no Service is wanted', unbound, false, undefined],
  ])('%s', async (_name, owner, allowPrivateAddresses, said) => {
    const ports = { ...portsTo(clusterWith().cluster), allowPrivateAddresses };
    const published = await publish(owner, { fields: privately, serving: true, ready: true }, ports);
    expect(published).toEqual({
      type: 'done',
      bindingName: 'job-connection',
      ...(said !== undefined && { unpublished: said }),
    });
  });
});

describe('the key of a machine', () => {
  const machine = { instanceId: '1', attempt: 1 };

  test('is written when it is given out, and its address follows without a read', async () => {
    const first = clusterWith();
    const ports = portsTo(first.cluster, { attempt: 1 });
    await keepInstanceKey(unbound, machine, ports);
    expect(first.sent).toEqual(['create Secret job-connection']);
    const then = clusterWith(mine);
    await publish(unbound, { fields, serving: true, ready: true }, { ...ports, cluster: then.cluster });
    expect(then.sent).toEqual(['merge patch Secret job-connection']);
    expect(JSON.stringify(then.bodies)).toContain(Buffer.from('203.0.113.5').toString('base64'));
  });

  test('of a replacement takes the place of the one before in one request', async () => {
    const { cluster, sent, bodies } = clusterWith(mine);
    await keepInstanceKey(bound, { instanceId: '2', attempt: 2 }, portsTo(cluster, { attempt: 2 }));
    expect(sent).toEqual(['json patch Secret job-connection']);
    expect(JSON.stringify(bodies)).not.toContain('host');
  });

  test('is not written into a Secret of another owner', async () => {
    const { cluster, sent } = clusterWith(foreign);
    const ports = portsTo(cluster, { attempt: 2 });
    await keepInstanceKey(bound, { instanceId: '2', attempt: 2 }, ports);
    expect(sent).toEqual([
      'json patch Secret job-connection',
      'create Secret job-connection',
      'get Secret job-connection',
    ]);
    expect(ports.memory.keptKeyOf).toBeUndefined();
    expect(ports.memory.instanceApiKey).toBeDefined();
  });

  test('of another purchase, or one that was not given out, is not written', async () => {
    for (const key of [undefined, { attempt: 7 }]) {
      const { cluster, sent } = clusterWith();
      await keepInstanceKey(unbound, machine, portsTo(cluster, key));
      expect(sent).toEqual([]);
    }
  });

  test('of another purchase is in no Secret of this one', async () => {
    const { cluster, bodies } = clusterWith();
    await publish(unbound, { fields, serving: true, ready: true }, portsTo(cluster, { attempt: 7 }));
    expect(bodies).toHaveLength(1);
    expect(JSON.stringify(bodies)).not.toContain(Buffer.from('k').toString('base64'));
  });

  test('whose Secret was deleted meanwhile is written with the address', async () => {
    const first = clusterWith();
    const ports = portsTo(first.cluster, { attempt: 1 });
    await keepInstanceKey(unbound, machine, ports);
    const then = clusterWith();
    await publish(unbound, { fields, serving: true, ready: true }, { ...ports, cluster: then.cluster });
    expect(then.sent).toEqual(['merge patch Secret job-connection', 'create Secret job-connection']);
    expect(JSON.stringify(then.bodies)).toContain(Buffer.from('k').toString('base64'));
  });

  test('stays in memory until the machine serves, and not longer', async () => {
    const { cluster } = clusterWith();
    const ports = portsTo(cluster, { attempt: 1 });
    await keepInstanceKey(unbound, machine, ports);
    await publish(unbound, { fields, serving: false, ready: false }, ports);
    expect(ports.memory).toMatchObject({ keptKeyOf: 1, instanceApiKey: { attempt: 1 } });
    await publish(unbound, { fields, serving: true, ready: true }, ports);
    expect(ports.memory).toMatchObject({ keptKeyOf: undefined, instanceApiKey: undefined });
  });

  test.for([
    ['stays while the machine does, since it is given out once', '1', undefined],
    ['goes with the machine that it was of', '2', null],
  ] as const)('%s', async ([, instanceId, expected]) => {
    const base64 = (text: string) => Buffer.from(text).toString('base64');
    const data = { 'instance-id': base64(instanceId), 'instance-api-key': base64('old'), stale: base64('x') };
    const { cluster, bodies } = clusterWith({ 'job-connection': { ...mine['job-connection'], data } });
    await publish(bound, { fields, serving: true, ready: true }, portsTo(cluster));
    const patch = bodies.at(-1) as { readonly data: Readonly<Record<string, string | null>> };
    expect(patch.data['instance-api-key']).toBe(expected);
    expect(patch.data['stale']).toBeNull();
  });
});
