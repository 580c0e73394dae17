import { describe, expect, test } from 'vitest';
import { given, holding, identity, withMachine } from '../../../test/builders/observed.ts';
import { Secret } from '../../lib/secret.ts';
import { sealKey } from '../../ownership/sealed-key.ts';
import type { KubeClient, Patch } from '../../runtime/kube/kube-client.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject, Resource } from '../../runtime/kube/kube-object.ts';
import { ObjectMemory } from './memory.ts';
import { publish, replaceConnection } from './publish.ts';

const fields = { ...holding(), attempt: 1, ssh: { host: '203.0.113.5', port: 20_022 } };
const unbound = given().object;
const bound = given(
  withMachine({}, { status: { ...holding(), binding: { name: 'job-connection' } } }),
).object;

const refused = (kind: 'alreadyExists' | 'notFound' | 'invalid') =>
  new KubeError(kind, { kind, status: 409, reason: kind, outcome: 'refused' });

/** Returns a cluster that contains these Secrets, and its requests. */
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

const portsTo = (cluster: KubeClient) => ({
  ...{ cluster, keys: identity.keys, memory: new ObjectMemory(), allowPrivateAddresses: false },
});
const base64 = (text: string) => Buffer.from(text).toString('base64');

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
  const machine = { uid: unbound.metadata.uid ?? '', attempt: 1, instanceId: '1' };
  const sealedKey = sealKey(identity.keys, machine, new Secret('k'));
  const next = { instanceId: '2', attempt: 2 };
  const keyIn = (bodies: readonly unknown[]) => JSON.stringify(bodies).includes(base64('k'));

  test('is written with its address, in one request', async () => {
    const { cluster, sent, bodies } = clusterWith();
    await publish(
      unbound,
      { fields: { ...fields, sealedKey }, serving: true, ready: true },
      portsTo(cluster),
    );
    expect(sent).toEqual(['create Secret job-connection']);
    expect(keyIn(bodies)).toBe(true);
    expect(JSON.stringify(bodies)).toContain(base64('203.0.113.5'));
  });

  test('comes back with a Secret that was deleted', async () => {
    const { cluster, sent, bodies } = clusterWith();
    await publish(bound, { fields: { ...fields, sealedKey }, serving: true, ready: true }, portsTo(cluster));
    expect(sent.slice(-2)).toEqual(['get Secret job-connection', 'create Secret job-connection']);
    expect(keyIn(bodies)).toBe(true);
  });

  test('of another machine is in no Secret of this one', async () => {
    const { cluster, bodies } = clusterWith();
    const others = { ...fields, ...next, sealedKey };
    await publish(unbound, { fields: others, serving: true, ready: true }, portsTo(cluster));
    expect(bodies).toHaveLength(1);
    expect(keyIn(bodies)).toBe(false);
  });

  test('and its address go when the next one is rented, in one request', async () => {
    const { cluster, sent, bodies } = clusterWith(mine);
    await replaceConnection(bound, next, portsTo(cluster));
    expect(sent).toEqual(['json patch Secret job-connection']);
    const data = (bodies[0] as readonly { readonly value: object }[])[1]?.value ?? {};
    expect(Object.keys(data).sort()).toEqual(['instance-id', 'provider', 'type', 'username', 'worker-token']);
  });

  test.each([
    ['of another owner', foreign],
    ['that is gone', {}],
  ])('are not looked for in a Secret %s', async (_name, present) => {
    const { cluster, sent } = clusterWith(present);
    await replaceConnection(bound, next, portsTo(cluster));
    expect(sent).toEqual(['json patch Secret job-connection']);
  });

  test('are not looked for before an object has a Secret', async () => {
    const { cluster, sent } = clusterWith();
    await replaceConnection(unbound, next, portsTo(cluster));
    expect(sent).toEqual([]);
  });

  test.for([
    ['stays while the machine does, since it is given out once', '1', undefined],
    ['goes with the machine that it was of', '2', null],
  ] as const)('%s', async ([, instanceId, expected]) => {
    const data = { 'instance-id': base64(instanceId), 'instance-api-key': base64('old'), stale: base64('x') };
    const { cluster, bodies } = clusterWith({ 'job-connection': { ...mine['job-connection'], data } });
    await publish(bound, { fields, serving: true, ready: true }, portsTo(cluster));
    const patch = bodies.at(-1) as { readonly data: Readonly<Record<string, string | null>> };
    expect(patch.data['instance-api-key']).toBe(expected);
    expect(patch.data['stale']).toBeNull();
  });
});
