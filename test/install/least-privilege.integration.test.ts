import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readLedger } from '../../scripts/demo/simulator-control.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { metricFamilies } from '../../scripts/generate/monitoring/metric-families.ts';
import { clusterGrants, metricsGrants, ownGrants, watchedGrants } from '../../src/api/access.ts';
import { IN_USE_RECORD, labels } from '../../src/api/v1alpha1/names.ts';
import { until } from '../builders/until.ts';
import { readAuditLog } from '../cluster/audit-log.ts';
import { findOnPath } from '../cluster/kubectl.ts';
import { brokenRules } from '../status-contract/contract.ts';
import { recordVersions, type VersionRecorder } from '../status-contract/version-recorder.ts';
import { goToolPath, HELM } from '../tools/go-tool.ts';
import { rightsOf, rightsUsed } from './granted.ts';
import { type InstalledOperator, installOperator, NAMESPACE, RELEASE } from './installed-operator.ts';

const canRun = existsSync(goToolPath(HELM, process.env)) || findOnPath('go', process.env.PATH) !== undefined;

/** Rights that this run does not use, and why the operator has them all the same. */
const STREAMED =
  'Lists are streamed over a watch here; where the API server cannot, and in a sweep, they are plain ones.';
const RACED = 'Read again after a write met a newer version; luck decides here.';
const OWNED = 'Asked by OwnerReferencesPermissionEnforcement alone, which is off by default, here too.';
const MOVED =
  'For a machine whose address changes, or an object that another client changed; neither occurs in this run.';
const NO_BUDGET = 'Its status is written where a namespace has a budget; none has one in this run.';
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'get discovery.k8s.io/endpointslices': MOVED,
  'get gpurental.dev/endpointgroups': RACED,
  'get gpurental.dev/gpuinstances': RACED,
  'get gpurental.dev/marketplaceaccounts': RACED,
  'get gpurental.dev/spendbudgets': RACED,
  'list gpurental.dev/endpointgroups': STREAMED,
  'list gpurental.dev/gpuinstances': STREAMED,
  'list gpurental.dev/marketplaceaccounts': STREAMED,
  'list gpurental.dev/spendbudgets': STREAMED,
  'patch discovery.k8s.io/endpointslices': MOVED,
  'patch events.k8s.io/events': 'An event that repeats becomes a series; none repeats in this run.',
  'patch services': MOVED,
  'update gpurental.dev/endpointgroups/finalizers': OWNED,
  'update gpurental.dev/gpuinstances/finalizers': OWNED,
  'update gpurental.dev/spendbudgets/status': NO_BUDGET,
  'watch coordination.k8s.io/leases':
    'Only a replica that waits for the lease listens to it; here one runs alone.',
};

let installed: InstalledOperator;
let recorder: VersionRecorder;
const kubectl = (...args: readonly string[]) => installed.cluster.kubectl(args);
const sample = (name: string) => join(REPOSITORY, 'deploy/samples', name);
const waitFor = (object: string, condition: string, ...more: readonly string[]) =>
  kubectl('wait', object, `--for=${condition}`, '--timeout=60s', ...more);
const jsonPath = (object: string, path: string) => kubectl('get', object, `-o=jsonpath=${path}`);

/** Returns a worker that a Service routes to. */
async function someWorkerOf(group: string): Promise<string> {
  const worker = await kubectl(
    ...['get', 'endpointslices', '-l', `${labels.endpointGroup}=${group}`],
    '-o=jsonpath={.items[0].metadata.ownerReferences[0].name}',
  );
  return `gpui/${worker}`;
}

/** Asks for another machine, as a person does, and waits for it. */
async function replaceMachine(object: string): Promise<void> {
  const before = await jsonPath(object, '{.status.machine.id}');
  const at = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  await kubectl('annotate', object, `gpurental.dev/replace-at=${at}`);
  await until('another machine', async () => {
    const now = await jsonPath(object, '{.status.machine.id}');
    return now !== '' && now !== before;
  });
}

beforeAll(async () => {
  if (!canRun) return;
  installed = await installOperator({
    values: ['--set', 'metrics.authentication.enabled=true'],
    flags: ['--metrics-authentication', 'kubernetes'],
  });
  recorder = await recordVersions(installed.cluster);
}, 15 * 60_000);
afterAll(async () => {
  await recorder?.stop();
  await installed?.close();
});

describe.skipIf(!canRun)('the operator as exactly the ServiceAccount of the chart', () => {
  test('rents, and publishes how to reach the machine', async () => {
    await kubectl(
      'create',
      'secret',
      'generic',
      'marketplace-key',
      `--from-literal=api-key=${installed.apiKey}`,
    );
    await kubectl('apply', '-f', sample('account.yaml'), '-f', sample('gpu-instance-trainer.yaml'));
    await waitFor('gpuacct/default', 'condition=Ready');
    await waitFor('gpui/trainer', 'condition=Ready');
    expect(await jsonPath('gpui/trainer', '{.status.binding.name}')).toBe('trainer-connection');
  });

  test('leads to a machine by a Service of the cluster', async () => {
    await kubectl('apply', '-f', sample('gpu-instance-service.yaml'));
    await until('an address behind the Service', async () =>
      (await kubectl('get', 'endpointslices', '-o=jsonpath={.items[*].endpoints[*].addresses}')).includes(
        '203.0.113.',
      ),
    );
    await kubectl('get', 'service', 'embeddings');
  });

  test('keeps the workers of an EndpointGroup', async () => {
    await kubectl('apply', '-f', sample('endpoint-group-static-load.yaml'));
    await kubectl('wait', 'epg/fixed', '--for=condition=Ready', '--timeout=90s');
    await replaceMachine(await someWorkerOf('fixed'));
    await kubectl('wait', 'epg/fixed', '--for=condition=Ready', '--timeout=60s');
  }, 170_000);

  test('brings a new template to the workers of an EndpointGroup, and takes away those beyond its maximum', async () => {
    const template = '{"spec":{"template":{"spec":{"env":[{"name":"EPOCH","value":"2"}]}}}}';
    await kubectl('patch', 'epg', 'fixed', '--type=merge', `--patch=${template}`);
    await kubectl('wait', 'epg/fixed', '--for=condition=Ready', '--timeout=120s');
    expect(await jsonPath('epg/fixed', '{.status.replicas} hot, {.status.updated} updated')).toBe(
      '3 hot, 3 updated',
    );
    await kubectl('patch', 'epg', 'fixed', '--type=merge', '--patch={"spec":{"maxWorkers":1}}');
    await waitFor('epg/fixed', 'jsonpath={.status.total}=1');
  }, 260_000);

  test('lists the ready workers of an EndpointGroup for another router, and takes the list away', async () => {
    const list = () => kubectl('get', 'configmap', 'fixed-endpoints', '-o=jsonpath={.data.endpoints\\.json}');
    const publish = (value: string) =>
      kubectl('patch', 'epg', 'fixed', '--type=merge', `--patch={"spec":{"gateway":${value}}}`);
    await publish('{"enabled":false,"publish":"FileDiscovery"}');
    const first = await until('the list', async () => {
      const text = await list().catch(() => '');
      return text.includes('203.0.113.') && text;
    });
    expect(JSON.parse(first).endpoints).toHaveLength(1);
    await kubectl('patch', 'epg', 'fixed', '--type=merge', '--patch={"spec":{"maxWorkers":2}}');
    await until('two in it', async () => JSON.parse(await list()).endpoints.length === 2);
    await publish('null');
    await until('no list', async () => (await list().catch(() => 'gone')) === 'gone');
    await kubectl('delete', 'epg', 'fixed', '--timeout=60s');
  }, 170_000);

  test('says that machines are rented, so that an uninstall is refused', async () => {
    await until('the record', async () => {
      const record = await kubectl(
        'get',
        'configmap',
        IN_USE_RECORD,
        '-n',
        NAMESPACE,
        '-o=jsonpath={.data.inUse}',
      );
      return record === 'true';
    });
    const refused = kubectl('delete', 'crd', 'gpuinstances.gpurental.dev', '--dry-run=server');
    await expect(refused).rejects.toThrow(
      /The operator in namespace gpu-rental-system still has rented machines/,
    );
  });

  test('passes `helm test` with the script that its Pod runs', async () => {
    const { cluster, helm } = installed;
    const rendered = await helm.template([
      '--namespace',
      NAMESPACE,
      '--show-only',
      'templates/tests/helm-test.yaml',
    ]);
    const rights = rendered.filter(({ kind }) => kind !== 'Pod').map((object) => JSON.stringify(object));
    const [account] = rendered.filter(({ kind }) => kind === 'ServiceAccount');
    const serviceAccount = { namespace: NAMESPACE, name: account?.metadata.name ?? '' };
    await cluster.kubectl(['apply', '-f', '-'], { stdin: rights.join('\n---\n') });
    const { token } = await cluster.kubeconfigFor({ serviceAccount });
    const file = (name: string, text: string) => {
      const path = join(cluster.folder, `helm-test-${name}`);
      writeFileSync(path, text);
      return path;
    };
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(REPOSITORY, 'charts/gpu-rental-operator/files/helm-test.mjs')],
      {
        env: {
          NAMESPACE,
          API_URL: cluster.url,
          TOKEN_FILE: file('token', token),
          API_KEY_FILE: file('key', installed.apiKey),
          MARKETPLACE_URL: installed.marketplaceUrl,
          CA_FILE: file('ca', cluster.caPem),
        },
      },
    );
    expect(stdout).toBe(
      'ok: a GpuInstance is accepted (dry run)\nok: an operator leads\nok: the key proves a login\n',
    );
  });

  test('replaces a machine when a person asks for it', async () => {
    await replaceMachine('gpui/trainer');
    await waitFor('gpui/trainer', 'condition=Ready');
  }, 130_000);

  test('stops and starts a machine', async () => {
    await kubectl('patch', 'gpui', 'trainer', '--type=merge', '--patch={"spec":{"powerState":"Stopped"}}');
    await waitFor('gpui/trainer', 'jsonpath={.status.phase}=Stopped');
    await kubectl('patch', 'gpui', 'trainer', '--type=merge', '--patch={"spec":{"powerState":"Running"}}');
    await waitFor('gpui/trainer', 'condition=Ready');
  });

  test('shows a reader with the role of the chart every family that dashboards, alerts and rules read', async () => {
    const reader = { namespace: 'default', name: 'prometheus' };
    await kubectl('create', 'serviceaccount', reader.name);
    const { token } = await installed.cluster.kubeconfigFor({ serviceAccount: reader });
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(installed.metricsUrl)).status).toBe(401);
    expect((await fetch(installed.metricsUrl, { headers })).status).toBe(403);
    await kubectl(
      ...['create', 'clusterrolebinding', reader.name, `--clusterrole=${RELEASE}-metrics-reader`],
      `--serviceaccount=${reader.namespace}:${reader.name}`,
    );
    let text = '';
    await until('metrics that the new binding lets it read', async () => {
      const reply = await fetch(installed.metricsUrl, { headers });
      text = await reply.text();
      return reply.status === 200;
    });
    const exposed = new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name));
    for (const { name } of metricFamilies()) expect(exposed).toContain(name);
  });

  test('stalls on what only a person can fix', async () => {
    const spec = '{"spec":{"maxTotalCost":"0.000001"}}';
    await kubectl('patch', 'gpui', 'embeddings', '--type=merge', `--patch=${spec}`);
    await waitFor('gpui/embeddings', 'condition=Stalled');
  });

  test('tears everything down', async () => {
    await kubectl('delete', 'gpui', '--all', '--timeout=90s');
    await kubectl('delete', 'gpuacct', 'default', '--timeout=60s');
    expect((await readLedger(installed.controlUrl)).billing).toBe(0);
    await until('the record', async () => {
      const record = await kubectl(
        'get',
        'configmap',
        IN_USE_RECORD,
        '-n',
        NAMESPACE,
        '-o=jsonpath={.data.inUse}',
      );
      return record === 'false';
    });
    await installed.operator.stop();
  }, 160_000);

  test('kept the status contract in every version of every object', () => {
    const file = process.env.RECORD_VERSIONS;
    if (file !== undefined) writeFileSync(file, JSON.stringify(recorder.versions));
    expect(recorder.versions.length).toBeGreaterThan(30);
    for (const version of recorder.versions)
      expect(brokenRules(version), JSON.stringify(version.status)).toEqual([]);
  });

  test('was refused nothing', () => {
    const events = readAuditLog(installed.auditLogPath, installed.operatorUser);
    expect(events.length).toBeGreaterThan(50);
    const refused = events.filter(({ responseStatus }) => responseStatus?.code === 403);
    expect(refused.map(({ verb, requestURI }) => `${verb} ${requestURI}`)).toEqual([]);
  });

  test('has no right that it does not use, but for those with a reason', () => {
    const used = rightsUsed(readAuditLog(installed.auditLogPath, installed.operatorUser));
    const granted = rightsOf([...watchedGrants, ...clusterGrants, ...ownGrants, ...metricsGrants]);
    const unused = [...granted].filter((right) => !used.has(right)).toSorted();
    // What an exception names may have been used all the same: that depends on the timing of the run.
    expect(unused.filter((right) => !(right in EXCEPTIONS))).toEqual([]);
    expect(Object.keys(EXCEPTIONS).filter((right) => !granted.has(right))).toEqual([]);
  });
});
