import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { LEDGER_MONTHS, LEDGER_PAST } from '../../src/api/v1alpha1/names.ts';
import { IDENTITY_SECRET } from '../../src/ownership/identity.ts';
import { until } from '../builders/until.ts';
import { type Cluster, startCluster } from '../cluster/cluster.ts';

const NAMESPACE = 'gpu-rental-system';
const NAME = 'gpu-rental-operator';
const REFUSAL = /Any other use of its ServiceAccount/;
const SYSTEM_TOKEN = 'kubernetes.io/service-account-token';

/** Dedicated cluster, because policies affect all of it. */
let cluster: Cluster;
let operatorConfig = '';

beforeAll(async () => {
  cluster = await startCluster({ only: 'go-toolchain', report: () => {} });
  const rendered = await cluster.kubectl(['kustomize', join(REPOSITORY, 'deploy/overlays/cluster-wide')]);
  await cluster.kubectl(['create', 'namespace', NAMESPACE]);
  await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { stdin: rendered });
  operatorConfig = (await cluster.kubeconfigFor({ serviceAccount: { namespace: NAMESPACE, name: NAME } }))
    .kubeconfigPath;
  await createOwners();
}, 15 * 60_000);
afterAll(() => cluster?.stop());

const asOperator = (args: readonly string[], stdin?: object) =>
  cluster.kubectl(args, {
    kubeconfigPath: operatorConfig,
    ...(stdin && { stdin: JSON.stringify(stdin) }),
  });
const create = (object: object) => asOperator(['create', '--validate=ignore', '-f', '-'], object);
const patched = (kind: string, name: string, body: object, more: readonly string[] = []) => [
  ...['patch', kind, name, '--type=merge', `--patch=${JSON.stringify(body)}`],
  ...more,
];

/** Waits until a write is refused: admission applies a new policy after a short delay. */
async function untilRefused(act: () => Promise<unknown>, words = REFUSAL): Promise<void> {
  await until(`a refusal with ${words}`, async () => {
    const said = await act().then(
      () => '',
      (error: Error) => error.message,
    );
    return words.test(said);
  });
}

/** UIDs of existing owners, by kind: the garbage collector deletes objects of an owner that does not exist. */
const uids = new Map<string, string>();
const owner = (kind: string) => ({
  apiVersion: kind === 'Deployment' ? 'apps/v1' : 'gpurental.dev/v1alpha1',
  ...{ kind, name: 'a', uid: uids.get(kind) ?? 'u' },
});

async function createOwners(): Promise<void> {
  const machine = { image: 'ubuntu:24.04', offers: [{ maxPricePerHour: '1.00' }], paused: true };
  const specs = { GpuInstance: machine, EndpointGroup: { template: { spec: machine } } };
  for (const [kind, spec] of Object.entries(specs)) {
    const object = { apiVersion: 'gpurental.dev/v1alpha1', kind, metadata: { name: 'a' }, spec };
    const stdin = JSON.stringify(object);
    const uid = await until(`the ${kind}`, () =>
      cluster.kubectl(['apply', '-o=jsonpath={.metadata.uid}', '-f', '-'], { stdin }).catch(() => ''),
    );
    uids.set(kind, uid);
  }
}

function secret(name: string, more: { type?: string; namespace?: string; owner?: string } = {}) {
  const { type = 'Opaque', namespace = 'default' } = more;
  const ownerReferences = more.owner === undefined ? [] : [owner(more.owner)];
  const annotations = type === SYSTEM_TOKEN ? { 'kubernetes.io/service-account.name': 'default' } : {};
  const metadata = { name, namespace, ownerReferences, annotations };
  return { apiVersion: 'v1', kind: 'Secret', metadata, type };
}

function service(name: string, spec: object, kind = 'GpuInstance') {
  const metadata = { name, namespace: 'default', ownerReferences: [owner(kind)] };
  const ports = [{ name: 'http', port: 80 }];
  return { apiVersion: 'v1', kind: 'Service', metadata, spec: { ports, ...spec } };
}

function slice(name: string, managedBy: string, ownerReferences: readonly object[]) {
  const labels = {
    'kubernetes.io/service-name': 'victim',
    'endpointslice.kubernetes.io/managed-by': managedBy,
  };
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'default', labels, ownerReferences },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['203.0.113.7'] }],
  };
}

function configMap(name: string, ownerReferences: readonly object[], namespace = 'default') {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, ownerReferences },
    data: { a: 'b' },
  };
}

const CONNECTION = 'servicebinding.io/gpu-instance';
const AUTHORITY = 'gpurental.dev/gateway-ca';
const CLIENT = 'gpurental.dev/gateway-client';

describe('the token of the operator (M9)', () => {
  test.for([
    ['a token of another ServiceAccount', () => secret('robot', { type: SYSTEM_TOKEN })],
    ['one in its own namespace', () => secret('robot', { type: SYSTEM_TOKEN, namespace: NAMESPACE })],
    [
      'one under the name of a kept key',
      () => secret('gpuacct-1', { type: SYSTEM_TOKEN, namespace: NAMESPACE }),
    ],
    ['one that a GpuInstance owns', () => secret('robot', { type: SYSTEM_TOKEN, owner: 'GpuInstance' })],
    ['an identity elsewhere', () => secret(IDENTITY_SECRET)],
    ['a Secret that a GpuInstance owns', () => secret('any', { owner: 'GpuInstance' })],
    ['any Secret of its own namespace', () => secret('any', { namespace: NAMESPACE })],
    ['an authority that nothing owns', () => secret('a-gateway-ca', { type: AUTHORITY })],
    ['one of a GpuInstance', () => secret('a-gateway-ca', { type: AUTHORITY, owner: 'GpuInstance' })],
    ['one of another name', () => secret('b-gateway-ca', { type: AUTHORITY, owner: 'EndpointGroup' })],
    [
      'a certificate of a gateway under the name of its authority',
      () => secret('a-gateway-ca', { type: CLIENT, owner: 'EndpointGroup' }),
    ],
    [
      'a Secret of another type under the name of an authority',
      () => secret('a-gateway-ca', { owner: 'EndpointGroup' }),
    ],
    ['a connection Secret that nothing owns', () => secret('a-connection', { type: CONNECTION })],
    ['a Service that selects Pods', () => service('s', { selector: { app: 'victim' } })],
    ['a Service with an address of its choice', () => service('s', { externalIPs: ['203.0.113.7'] })],
    ['a Service to another name', () => service('s', { type: 'ExternalName', externalName: 'example.com' })],
    ['a Service at a load balancer', () => service('s', { type: 'LoadBalancer' })],
    ['a Service that nothing of the operator owns', () => service('s', {}, 'Deployment')],
    ['a slice that nothing owns', () => slice('x', NAME, [])],
    ['a ConfigMap that nothing owns', () => configMap('x', [])],
    ['a ConfigMap that a GpuInstance owns', () => configMap('x', [owner('GpuInstance')])],
    ['any ConfigMap of its own namespace', () => configMap('x', [], NAMESPACE)],
    ['a slice in the name of another controller', () => slice('x', 'other', [owner('GpuInstance')])],
  ] as const)('scenario 96: does not create %s', async ([, object]) => {
    await untilRefused(() => create(object()));
  });

  test('writes and deletes what the operator does', async () => {
    const written = [
      secret('a-connection', { type: CONNECTION, owner: 'GpuInstance' }),
      secret(IDENTITY_SECRET, { namespace: NAMESPACE }),
      secret('gpuacct-1', { namespace: NAMESPACE }),
      service('a', {}),
      service('group', {}, 'EndpointGroup'),
      slice('a-direct', NAME, [owner('GpuInstance')]),
      configMap('a-endpoints', [owner('EndpointGroup')]),
    ];
    for (const object of written) {
      await create(object);
      const { name, namespace } = object.metadata;
      const place = ['-n', namespace];
      await asOperator(patched(object.kind, name, { metadata: { annotations: { a: 'b' } } }, place));
      await asOperator(['delete', object.kind, name, ...place]);
    }
  });

  test('writes the months of its ledger in its own namespace', async () => {
    for (const name of [...LEDGER_MONTHS.slice(0, 1), LEDGER_PAST]) {
      await create(configMap(name, [], NAMESPACE));
      await asOperator(patched('configmap', name, { data: { a: 'c' } }, ['-n', NAMESPACE]));
      await cluster.kubectl(['delete', 'configmap', name, '-n', NAMESPACE]);
      await untilRefused(() => create(configMap(name, [])));
    }
  });

  test('writes the Secrets of a gateway, and leaves their deletion to the garbage collector', async () => {
    for (const [name, type] of [
      ['a-gateway-ca', AUTHORITY],
      ['a-gateway-client', CLIENT],
    ] as const) {
      await create(secret(name, { type, owner: 'EndpointGroup' }));
      await asOperator(patched('secret', name, { data: { '1.crt': 'eA==' } }));
      await untilRefused(() => asOperator(['delete', 'secret', name]));
      await cluster.kubectl(['delete', 'secret', name]);
    }
  });

  test('tries a slice of a group in a dry run alone', async () => {
    const object = slice('a-endpoint', NAME, [owner('EndpointGroup')]);
    await untilRefused(() => create(object));
    await asOperator(['create', '--dry-run=server', '--validate=ignore', '-f', '-'], object);
  });

  test('leaves Secrets, Services, slices and ConfigMaps of others alone', async () => {
    const theirs = [
      secret('theirs'),
      { ...service('theirs', {}), metadata: { name: 'theirs', namespace: 'default' } },
      slice('theirs', 'other', []),
      configMap('theirs', []),
    ];
    for (const object of theirs) {
      await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(object) });
      const taken = { metadata: { ownerReferences: [owner('GpuInstance')] } };
      await untilRefused(() => asOperator(patched(object.kind, 'theirs', taken)));
      await untilRefused(() => asOperator(['delete', object.kind, 'theirs']));
      await cluster.kubectl(['delete', object.kind, 'theirs']);
    }
  });

  test('changes the ports of a Service, and nothing of where it leads', async () => {
    await create(service('turned', {}));
    for (const spec of [
      { type: 'ExternalName', externalName: 'example.com' },
      { selector: { app: 'victim' } },
      { externalIPs: ['203.0.113.7'] },
    ])
      await untilRefused(
        () => asOperator(patched('service', 'turned', { spec })),
        /changes the ports and owners of a Service only/,
      );
    await cluster.kubectl(patched('service', 'turned', { spec: { type: 'LoadBalancer' } }));
    await asOperator(patched('service', 'turned', { spec: { ports: [{ name: 'http', port: 81 }] } }));
    await asOperator(['delete', 'service', 'turned']);
  });

  test('is judged without a doubt of the API server about any expression', async () => {
    const shown = await cluster.kubectl([
      'get',
      'validatingadmissionpolicies',
      '-o=jsonpath={range .items[*]}{.metadata.name}{" "}{.status.typeChecking.expressionWarnings[*].warning}{"\\n"}{end}',
    ]);
    const lines = shown
      .trim()
      .split('\n')
      .map((line) => line.trim());
    const names = ['secrets', 'services', 'configmaps', 'slices', 'wakes'].map(
      (suffix) => `${NAME}-${suffix}`,
    );
    expect(lines).toEqual(expect.arrayContaining(names));
  });
});

describe('the token of a gateway', () => {
  let gatewayConfig = '';
  beforeAll(async () => {
    const rbac = join(REPOSITORY, 'deploy/components/gateway/rbac.yaml');
    await cluster.kubectl(['apply', '--server-side', '-f', rbac]);
    const serviceAccount = { namespace: NAMESPACE, name: `${NAME}-gateway` };
    // kubectl reads before it patches, which a picker need not.
    const reads = ['--verb=get', '--resource=endpointgroups.gpurental.dev'];
    await cluster.kubectl(['create', 'clusterrole', 'reads-groups', ...reads]);
    const bound = ['--clusterrole=reads-groups', `--serviceaccount=${NAMESPACE}:${NAME}-gateway`];
    await cluster.kubectl(['create', 'clusterrolebinding', 'reads-groups', ...bound]);
    gatewayConfig = (await cluster.kubeconfigFor({ serviceAccount })).kubeconfigPath;
    for (const name of ['a', 'b'])
      await cluster.kubectl(patched('epg', 'a', { metadata: { annotations: { [name]: 'kept' } } }));
  });
  const asGateway = (body: object) =>
    cluster.kubectl(patched('epg', 'a', body), { kubeconfigPath: gatewayConfig });

  test.for([
    ['what its workers run', { spec: { template: { spec: { image: 'miner:1' } } } }],
    ['how many there may be', { spec: { maxWorkers: 90 } }],
    ['a label', { metadata: { labels: { team: 'other' } } }],
    ['another annotation', { metadata: { annotations: { a: 'changed' } } }],
    ['that an annotation is there', { metadata: { annotations: { b: null } } }],
    ['that it has an annotation', { metadata: { annotations: { c: 'new' } } }],
  ] as const)('does not change %s', async ([, body]) => {
    await untilRefused(() => asGateway(body), /only wakes groups, by the annotation gpurental.dev\/wake-at/);
  });

  test('wakes a group, once more, and takes that back', async () => {
    for (const at of ['2026-11-20T12:00:00Z', '2026-11-20T12:00:30Z', null])
      await asGateway({ metadata: { annotations: { 'gpurental.dev/wake-at': at } } });
    const shown = await cluster.kubectl(['get', 'epg', 'a', '-o=jsonpath={.metadata.annotations}']);
    expect(JSON.parse(shown)).toMatchObject({ a: 'kept', b: 'kept' });
  });
});

describe('an account whose limits do not bound what it spends', () => {
  const apply = (limits: object | undefined, more: readonly string[] = []) => {
    const spec = { apiKeySecretRef: { name: 'key', key: 'api-key' }, ...(limits && { limits }) };
    const object = { apiVersion: 'gpurental.dev/v1alpha1', kind: 'MarketplaceAccount' };
    const stdin = JSON.stringify({ ...object, metadata: { name: 'unlimited', namespace: 'default' }, spec });
    return cluster.kubectl(['apply', '--dry-run=server', ...more, '-f', '-'], { stdin });
  };
  const strictly = (limits?: object) => apply(limits, ['--warnings-as-errors']);
  const WARNING = /Warning: .*only the operator's flags limit this account/;

  test('is taken with a warning (L5)', async () => {
    await untilRefused(() => strictly(), WARNING);
    await untilRefused(() => strictly({ maxPricePerHour: '1', minCredit: '5' }), WARNING);
    expect(await apply(undefined)).toContain('unlimited created');
  });

  test.each([{ maxSpendPerHour: '5' }, { maxSpendPerMonth: '100' }, { maxInstances: 2 }])(
    'is none with %j: no warning',
    async (limits) => {
      expect(await strictly(limits)).toContain('unlimited created');
    },
  );
});
