import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { definitions } from '../../src/api/v1alpha1/definitions.ts';
import { IN_USE_RECORD } from '../../src/api/v1alpha1/names.ts';
import { IDENTITY_SECRET } from '../../src/ownership/identity.ts';
import { until } from '../builders/until.ts';
import { type AdminClient, openAdminClient } from '../cluster/admin-client.ts';
import { type Cluster, startCluster } from '../cluster/cluster.ts';
import { findOnPath } from '../cluster/kubectl.ts';
import { goToolPath, HELM } from '../tools/go-tool.ts';
import { CHART, type Helm, openHelm } from './helm.ts';

const canRun = existsSync(goToolPath(HELM, process.env)) || findOnPath('go', process.env.PATH) !== undefined;
const CRD_CHART = join(REPOSITORY, 'charts/gpu-rental-operator-crds');
const NAMESPACE = 'gpu-rental-system';
const RELEASE = 'gpu-rental-operator';
const BREAK_GLASS = 'gpurental.dev:break-glass';

let cluster: Cluster;
let helm: Helm;
let home = '';
let operatorConfig = '';
let operator: AdminClient;
let breakGlassConfig = '';

const apply = (manifest: object, kubeconfigPath?: string, more: readonly string[] = []) =>
  cluster.kubectl(['apply', '-f', '-', ...more], {
    stdin: JSON.stringify(manifest),
    ...(kubeconfigPath && { kubeconfigPath }),
  });

const instance = (name: string, more: { metadata?: object; spec?: object } = {}) => ({
  apiVersion: 'gpurental.dev/v1alpha1',
  kind: 'GpuInstance',
  metadata: { name, namespace: 'default', ...more.metadata },
  spec: { image: 'ubuntu:24.04', offers: [{ maxPricePerHour: '1.00' }], ...more.spec },
});

const patch = (name: string, body: object, kubeconfigPath?: string, more: readonly string[] = []) =>
  cluster.kubectl(
    [
      'patch',
      ...(name.includes('/') ? [name] : ['gpui', name]),
      '--type=merge',
      `--patch=${JSON.stringify(body)}`,
      ...more,
    ],
    {
      ...(kubeconfigPath && { kubeconfigPath }),
    },
  );

/** Writes a status as the operator does: completely, with the object's version. */
async function operatorSaysStatus(name: string, status: object, plural = 'gpuinstances'): Promise<void> {
  const path = `/apis/gpurental.dev/v1alpha1/namespaces/default/${plural}/${name}`;
  const { body } = await cluster.admin.request({ method: 'GET', path });
  await operator.request({ method: 'PUT', path: `${path}/status`, body: { ...(body as object), status } });
}

/** Only tries: what comes too early changes nothing. */
const TRIED = ['--dry-run=server'];

/** Waits until a write is refused: admission applies a new policy after a short delay. */
async function untilRefused(act: () => Promise<unknown>, words: RegExp): Promise<void> {
  await until(`a refusal with ${words}`, async () => {
    const said = await act().then(
      () => '',
      (error: Error) => error.message,
    );
    return words.test(said);
  });
}

async function setInUse(inUse: boolean): Promise<void> {
  await apply(
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: IN_USE_RECORD, namespace: NAMESPACE },
      data: { inUse: String(inUse) },
    },
    operatorConfig,
    ['--server-side', '--force-conflicts'],
  );
}

beforeAll(async () => {
  if (!canRun) return;
  home = mkdtempSync(join(tmpdir(), 'helm-'));
  helm = await openHelm(home);
  cluster = await startCluster({ only: 'go-toolchain', report: () => {} });
  const metadata = { name: NAMESPACE, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } };
  await apply({ apiVersion: 'v1', kind: 'Namespace', metadata });
  await helm.run(['install', 'definitions', CRD_CHART, '--namespace', NAMESPACE], cluster.kubeconfigPath);
  await helm.run(
    ['install', RELEASE, CHART, '--namespace', NAMESPACE, '--set=crds.enabled=false'],
    cluster.kubeconfigPath,
  );
  const serviceAccount = { namespace: NAMESPACE, name: RELEASE };
  const access = await cluster.kubeconfigFor({ serviceAccount });
  operatorConfig = access.kubeconfigPath;
  operator = openAdminClient({ ...cluster, credential: { type: 'token', token: access.token } });
  const person = { user: 'root-on-call', groups: ['system:masters', BREAK_GLASS] };
  breakGlassConfig = (await cluster.kubeconfigFor(person)).kubeconfigPath;
}, 15 * 60_000);
afterAll(async () => {
  await operator?.close();
  await cluster?.stop();
  rmSync(home, { recursive: true, force: true });
});

describe.skipIf(!canRun)('the installed chart', () => {
  test('has every policy in force, and none that the API server has a doubt about', async () => {
    const shown = await cluster.kubectl([
      'get',
      'validatingadmissionpolicies',
      '-o=jsonpath={range .items[*]}{.metadata.name}{" "}{.status.typeChecking.expressionWarnings[*].warning}{"\\n"}{end}',
    ]);
    expect(
      shown
        .trim()
        .split('\n')
        .map((line) => line.trim()),
    ).toEqual([
      'gpu-rental-in-use',
      'gpu-rental-operator-budget',
      'gpu-rental-operator-configmaps',
      'gpu-rental-operator-limits',
      'gpu-rental-operator-price-floor',
      'gpu-rental-operator-protection',
      'gpu-rental-operator-records',
      'gpu-rental-operator-replacement',
      'gpu-rental-operator-secrets',
      'gpu-rental-operator-services',
      'gpu-rental-operator-slices',
      'gpu-rental-operator-wakes',
      'gpu-rental-operator-worker-replacement',
    ]);
  });

  test('lets people do what they are for', async () => {
    await apply(instance('plain'));
    await patch('plain', { metadata: { annotations: { 'gpurental.dev/hold': 'true' } } });
    await patch('plain', { spec: { paused: true } });
    await cluster.kubectl(['delete', 'gpui', 'plain']);
  });

  test('refuses an intent that a person writes, on a new object and on an old one', async () => {
    const annotations = { 'gpurental.dev/rental-intent': '{"v":1}' };
    await untilRefused(
      () => apply(instance('forged', { metadata: { annotations } }), undefined, TRIED),
      /leave it out of your manifest/,
    );
    await apply(instance('honest'));
    await untilRefused(
      () => patch('honest', { metadata: { annotations } }, undefined, TRIED),
      /Only the operator writes the annotation/,
    );
  });

  test('refuses a claim that a person writes, and takes it from the operator', async () => {
    await apply(instance('claimed'));
    const record = '{"v":1,"claim":"abc"}';
    const status = { machine: { id: '7' }, record, observedGeneration: 1, conditions: [] };
    await untilRefused(
      () => patch('claimed', { status }, undefined, ['--subresource=status', ...TRIED]),
      /Only the operator writes status/,
    );
    await operatorSaysStatus('claimed', status);
  });

  test('keeps the finalizer of a machine from people, but for those who break the glass', async () => {
    await apply(instance('guarded'));
    const guard = { metadata: { finalizers: ['gpurental.dev/machine'] } };
    const none = { metadata: { finalizers: [] } };
    await patch('guarded', guard, operatorConfig);
    await untilRefused(
      () => patch('guarded', none, undefined, TRIED),
      /Only the operator changes its finalizers/,
    );
    await patch('guarded', { metadata: { finalizers: ['gpurental.dev/machine', 'example.com/other'] } });
    await patch('guarded', none, breakGlassConfig);
  });

  test('honours the annotation that protects an object', async () => {
    await apply(instance('precious', { metadata: { annotations: { 'gpurental.dev/protect': 'true' } } }));
    await untilRefused(
      () => cluster.kubectl(['delete', 'gpui', 'precious', ...TRIED]),
      /protects this object/,
    );
    await patch('precious', { metadata: { annotations: { 'gpurental.dev/protect': null } } });
    await cluster.kubectl(['delete', 'gpui', 'precious']);
  });

  test('scenario 110: refuses a price below what the running machine costs only if onPriceAbove would replace it (M4)', async () => {
    await apply(instance('running', { spec: { onPriceAbove: 'Replace' } }));
    const cost = { pricePerHour: '0.70', accrued: '0' };
    await operatorSaysStatus('running', { machine: { id: '8' }, cost });
    const cap = (maxPricePerHour: string) => ({ spec: { offers: [{ maxPricePerHour }] } });
    await untilRefused(
      () => patch('running', cap('0.69'), undefined, TRIED),
      /costs 0\.70 dollars an hour and no offer allows that much/,
    );
    await patch('running', { spec: { updateStrategy: { type: 'OnDelete' } } });
    await expect(patch('running', cap('0.69'), undefined, TRIED)).rejects.toThrow(
      /onPriceAbove: Report first/,
    );
    await patch('running', cap('0.70'));
    await patch('running', { spec: { onPriceAbove: 'Report', updateStrategy: { type: 'Replace' } } });
    await patch('running', cap('0.10'));
  });

  test('warns of an edit that replaces the machine, and takes it', async () => {
    const env = [
      { name: 'A', value: '1' },
      { name: 'B', value: '2' },
    ];
    await apply(instance('busy', { spec: { env, disk: '20G', ports: [{ containerPort: 80 }] } }));
    const rentedAt = '2026-11-20T11:10:00Z';
    await operatorSaysStatus('busy', { machine: { id: '20000006', rentedAt } });
    const strictly = (spec: object) => patch('busy', { spec }, undefined, [...TRIED, '--warnings-as-errors']);
    await untilRefused(
      () => strictly({ image: 'ubuntu:26.04', env: [env[0], { name: 'B', value: '3' }], ssh: true }),
      /Warning: .*This replaces machine 20000006 \(rented since 2026-11-20T11:10:00Z\) once another machine can be rented, and its disk is lost: image, env, ssh changed\. To keep it/,
    );
    await expect(strictly({ disk: '21G', paused: true })).rejects.toThrow(
      /replaces machine 20000006 .* after the pause once another machine can be rented, and its disk is lost: disk changed/,
    );
    await expect(strictly({ offers: [{ maxPricePerHour: '0.50' }] })).rejects.toThrow(
      /Warning: .*If machine 20000006 .* satisfies no alternative of spec\.offers any more/,
    );
    const ports = [{ name: 'web', containerPort: 80, protocol: 'TCP' }];
    await strictly({ env: env.toReversed(), disk: '20000M', ports, powerState: 'Stopped' });
    await strictly({ image: 'ubuntu:26.04', updateStrategy: { type: 'OnDelete' } });
    await patch('busy', { spec: { image: 'ubuntu:26.04' } });
  });

  test('warns of an edit that replaces workers of a group, and takes it', async () => {
    const spec = { ...instance('unused').spec, image: 'ubuntu:24.04' };
    const template = (change: object) => ({ template: { spec: { ...spec, ...change } } });
    await apply({
      ...{ apiVersion: 'gpurental.dev/v1alpha1', kind: 'EndpointGroup' },
      ...{ metadata: { name: 'chat', namespace: 'default' }, spec: template({}) },
    });
    await operatorSaysStatus('chat', { total: 3 }, 'endpointgroups');
    const strictly = (change: object) =>
      patch('epg/chat', { spec: change }, undefined, [...TRIED, '--warnings-as-errors']);
    await untilRefused(
      () => strictly(template({ image: 'ubuntu:26.04' })),
      /Warning: .*This replaces 3 workers, at most updateStrategy\.maxUnavailable at a time, and their disks are lost: image of the template changed\. To keep them/,
    );
    await expect(strictly({ ...template({ ssh: true }), pause: { scaleUp: true } })).rejects.toThrow(
      /replaces 3 workers after the pause, .* ssh of the template changed/,
    );
    await expect(strictly(template({ offers: [{ maxPricePerHour: '0.50' }] }))).rejects.toThrow(
      /Warning: .*Of the 3 workers this replaces those that satisfy no alternative of the template any more/,
    );
    await strictly({ ...template({ image: 'ubuntu:26.04' }), updateStrategy: { type: 'OnDelete' } });
    await strictly({ ...template({ powerState: 'Running' }), maxWorkers: 40 });
    await patch('epg/chat', { spec: template({ image: 'ubuntu:26.04' }) });
  });

  test('lets tenants read budgets, and administrators of the namespace write them', async () => {
    const budget = (name: string) => ({
      ...{ apiVersion: 'gpurental.dev/v1alpha1', kind: 'SpendBudget' },
      ...{ metadata: { name, namespace: 'default' }, spec: { perHour: '100' } },
    });
    const personWith = async (role: string): Promise<string> => {
      await cluster.kubectl(['create', 'rolebinding', role, `--clusterrole=${role}`, `--user=${role}-user`]);
      return (await cluster.kubeconfigFor({ user: `${role}-user` })).kubeconfigPath;
    };
    for (const role of ['view', 'edit']) {
      const kubeconfigPath = await personWith(role);
      await cluster.kubectl(['get', 'spendbudgets'], { kubeconfigPath });
      await expect(apply(budget(role), kubeconfigPath)).rejects.toThrow(
        /cannot create resource "spendbudgets"/,
      );
    }
    const admin = await personWith('admin');
    await apply(budget('admin'), admin);
    await cluster.kubectl(['delete', 'spendbudget', 'admin'], { kubeconfigPath: admin });
  });

  test('warns of a machine for which a budget has no room, and takes it', async () => {
    const strictly = (name: string, spec: object = {}) =>
      apply(instance(name, { spec }), undefined, [...TRIED, '--warnings-as-errors']);
    const budget = (spec: object) =>
      apply({
        ...{ apiVersion: 'gpurental.dev/v1alpha1', kind: 'SpendBudget' },
        ...{ metadata: { name: 'team', namespace: 'default' }, spec },
      });
    await strictly('without-budget');
    await budget({ perHour: '5', perMonth: '500' });
    await strictly('without-status');
    const status = { pricePerHour: '4.50', leftPerHour: '0.50', leftThisMonth: '100.00' };
    await operatorSaysStatus('team', status, 'spendbudgets');
    await untilRefused(
      () => strictly('too-much'),
      /Warning: .*SpendBudget team has \$0\.50\/h left of \$5\/h: the machine waits with the reason BudgetReached/,
    );
    await strictly('fits', { offers: [{ maxPricePerHour: '0.50' }, { maxPricePerHour: '3' }] });
    await operatorSaysStatus('team', { ...status, leftThisMonth: '5.00' }, 'spendbudgets');
    await untilRefused(
      () => strictly('fits', { offers: [{ maxPricePerHour: '0.50' }] }),
      /Warning: .*SpendBudget team has \$5\.00 left of \$500 this month/,
    );
    await budget({ perHour: '5', perMonth: '500', action: 'Report' });
    await strictly('reported');
    await cluster.kubectl(['delete', 'spendbudget', 'team']);
  });

  test('renders every object so that strict validation takes it, hooks included', async () => {
    const text = await helm.run([
      'template',
      'second',
      CHART,
      '--namespace',
      NAMESPACE,
      '--set=crds.enabled=false',
    ]);
    const args = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'];
    const said = await cluster.kubectl(args, { stdin: text });
    expect(said).toContain('pod/second-gpu-rental-operator-test serverside-applied');
  });

  test('is upgraded without a manual step, and renders the same twice', async () => {
    const args = [
      'upgrade',
      RELEASE,
      CHART,
      '--namespace',
      NAMESPACE,
      '--set=crds.enabled=false',
      '--set=replicas=2',
    ];
    const before = await cluster.kubectl(['get', 'crd', '-o=jsonpath={.items[*].metadata.generation}']);
    await helm.run(args, cluster.kubeconfigPath);
    await helm.run(['upgrade', 'definitions', CRD_CHART, '--namespace', NAMESPACE], cluster.kubeconfigPath);
    expect(await cluster.kubectl(['get', 'crd', '-o=jsonpath={.items[*].metadata.generation}'])).toBe(before);
    const shown = await cluster.kubectl([
      'get',
      'deployment',
      RELEASE,
      '-n',
      NAMESPACE,
      '-o=jsonpath={.spec.replicas}',
    ]);
    expect(shown).toBe('2');
  });

  test('runs where Pod Security enforces "restricted", without a warning', async () => {
    const text = await helm.run([
      'template',
      'strict',
      CHART,
      '--namespace',
      NAMESPACE,
      '--set=crds.enabled=false',
    ]);
    const said = await cluster.kubectl(['apply', '--dry-run=server', '--warnings-as-errors', '-f', '-'], {
      stdin: text,
    });
    expect(said).toContain('deployment.apps/strict-gpu-rental-operator created');
  });
});

describe.skipIf(!canRun)('while machines are rented', () => {
  const identity = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: IDENTITY_SECRET, namespace: NAMESPACE },
    stringData: { installId: '0'.repeat(32) },
  };

  test('nothing is refused before the operator said so', async () => {
    await apply(identity);
    await cluster.kubectl(['delete', 'secret', IDENTITY_SECRET, '-n', NAMESPACE]);
    await apply(identity);
  });

  test.each([
    ['a definition', ['delete', 'crd', 'gpuinstances.gpurental.dev']],
    ['the identity', ['delete', 'secret', IDENTITY_SECRET, '-n', NAMESPACE]],
    ['the operator', ['delete', 'deployment', RELEASE, '-n', NAMESPACE]],
    ['its ServiceAccount', ['delete', 'serviceaccount', RELEASE, '-n', NAMESPACE]],
    ['its rights', ['delete', 'clusterrole', RELEASE]],
    ['the record itself', ['delete', 'configmap', IN_USE_RECORD, '-n', NAMESPACE]],
    ['its namespace', ['delete', 'namespace', NAMESPACE]],
    ['all Secrets of its namespace', ['delete', 'secrets', '--all', '-n', NAMESPACE]],
  ])('a deletion is refused: %s', async (_what, args) => {
    await setInUse(true);
    await untilRefused(() => cluster.kubectl([...args, '--dry-run=server']), /still has rented machines/);
  });

  test('a deletion of something else is not', async () => {
    await setInUse(true);
    await cluster.kubectl(['create', 'secret', 'generic', 'other', '-n', NAMESPACE]);
    await cluster.kubectl(['delete', 'secret', 'other', '-n', NAMESPACE]);
  });

  test('scenario 64: helm uninstall fails and leaves what destroys machines', async () => {
    await setInUse(true);
    await untilRefused(
      () => cluster.kubectl(['delete', 'deployment', RELEASE, '-n', NAMESPACE, '--dry-run=server']),
      /still has rented machines/,
    );
    const uninstall = helm.run(['uninstall', RELEASE, '--namespace', NAMESPACE], cluster.kubeconfigPath);
    await expect(uninstall).rejects.toThrow(/failed to delete release: gpu-rental-operator/);
    const kept = ['deployment', 'serviceaccount', 'role', 'rolebinding'].map((kind) => `${kind}/${RELEASE}`);
    const shown = await cluster.kubectl([
      'get',
      ...kept,
      `secret/${IDENTITY_SECRET}`,
      '-n',
      NAMESPACE,
      '-o=name',
    ]);
    expect(shown.trim().split('\n')).toHaveLength(kept.length + 1);
    const roles = ['clusterrole', 'clusterrolebinding'].map((kind) => `${kind}/${RELEASE}`);
    const crds = definitions.map(({ names }) => `crd/${names.plural}.${names.group}`);
    const wide = await cluster.kubectl(['get', ...roles, ...crds, '-o=name']);
    expect(wide.trim().split('\n')).toHaveLength(roles.length + crds.length);
  });

  test('the break-glass group may', async () => {
    await setInUse(true);
    const args = ['delete', 'deployment', RELEASE, '-n', NAMESPACE, '--dry-run=server'];
    expect(await cluster.kubectl(args, { kubeconfigPath: breakGlassConfig })).toContain('deleted');
  });

  test('once none is rented the uninstall goes through and leaves the definitions', async () => {
    await setInUse(false);
    await until('the uninstall', async () =>
      helm.run(['uninstall', RELEASE, '--namespace', NAMESPACE], cluster.kubeconfigPath).then(
        () => true,
        () => false,
      ),
    );
    expect(await cluster.kubectl(['get', 'deployments', '-n', NAMESPACE, '-o=name'])).toBe('');
    await helm.run(['uninstall', 'definitions', '--namespace', NAMESPACE], cluster.kubeconfigPath);
    const crds = await cluster.kubectl(['get', 'crd', '-o=name']);
    for (const { names } of definitions) expect(crds).toContain(`${names.plural}.${names.group}`);
  });
});
