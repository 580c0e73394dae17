import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { type Cluster, startCluster } from '../cluster/cluster.ts';

/** Dedicated cluster: the overlays name their namespace, and their policies affect all of it. */
let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ only: 'go-toolchain', report: () => {} });
  await cluster.kubectl(['create', 'namespace', 'gpu-rental-system']);
});
afterAll(() => cluster?.stop());

describe('what `deploy/` holds', () => {
  const strict = [
    'apply',
    '--server-side',
    '--force-conflicts',
    '--dry-run=server',
    '--validate=strict',
    '-f',
    '-',
  ];

  test.each([
    ['cluster-wide', 'validatingadmissionpolicy.admissionregistration.k8s.io/gpu-rental-in-use'],
    ['one-namespace', 'role.rbac.authorization.k8s.io/gpu-rental-operator-watched'],
    ['high-availability', 'poddisruptionbudget.policy/gpu-rental-operator'],
  ])('the overlay %s is taken with strict validation', async (overlay, expected) => {
    const rendered = await cluster.kubectl(['kustomize', join(REPOSITORY, 'deploy/overlays', overlay)]);
    expect(await cluster.kubectl(strict, { stdin: rendered })).toContain(`${expected} serverside-applied`);
  });

  test('an overlay takes the components for Prometheus and for the network', async () => {
    const policy = join(REPOSITORY, 'deploy/components/network-policy/network-policy.yaml');
    const said = await cluster.kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', policy]);
    expect(said).toContain('networkpolicy.networking.k8s.io/gpu-rental-operator created');
    const folder = mkdtempSync(join(tmpdir(), 'overlay-'));
    const from = (path: string) => relative(folder, join(REPOSITORY, 'deploy', path));
    const components = ['components/network-policy', 'components/monitoring'].map(from);
    const kustomization = { resources: [from('overlays/cluster-wide')], components };
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
    const rendered = await cluster.kubectl(['kustomize', folder]);
    rmSync(folder, { recursive: true });
    for (const kind of ['NetworkPolicy', 'PrometheusRule', 'ServiceMonitor'])
      expect(rendered).toContain(`kind: ${kind}\n`);
  });

  test('an overlay takes reports of workers: a flag, a port, a Service and a way through the network policy', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'overlay-'));
    const from = (path: string) => relative(folder, join(REPOSITORY, 'deploy', path));
    const components = ['components/network-policy', 'components/worker-reports'].map(from);
    const kustomization = { resources: [from('overlays/cluster-wide')], components };
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
    const rendered = await cluster.kubectl(['kustomize', folder]);
    rmSync(folder, { recursive: true });
    const said = await cluster.kubectl(strict, { stdin: rendered });
    expect(said).toContain('service/gpu-rental-operator-reports serverside-applied');
    const objects = parseAllDocuments(rendered).map((document) => document.toJS());
    const only = (kind: string, name: string) =>
      objects.find((one) => one.kind === kind && one.metadata.name === name).spec;
    const [container] = only('Deployment', 'gpu-rental-operator').template.spec.containers;
    expect(container.args).toContain('--worker-report-bind-address=:8082');
    expect(container.ports).toContainEqual({ name: 'reports', containerPort: 8082 });
    expect(only('Service', 'gpu-rental-operator-reports').ports[0].targetPort).toBe('reports');
    expect(only('NetworkPolicy', 'gpu-rental-operator').ingress).toContainEqual({
      ports: [{ port: 'reports', protocol: 'TCP' }],
    });
  });

  test('an overlay serves logs: flags, a port, a certificate, a Service, roles and a rule of the network policy', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'overlay-'));
    const from = (path: string) => relative(folder, join(REPOSITORY, 'deploy', path));
    const components = ['components/network-policy', 'components/logs'].map(from);
    const kustomization = { resources: [from('overlays/cluster-wide')], components };
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
    const rendered = await cluster.kubectl(['kustomize', folder]);
    rmSync(folder, { recursive: true });
    const said = await cluster.kubectl(strict, { stdin: rendered });
    expect(said).toContain('service/gpu-rental-operator-logs serverside-applied');
    expect(said).toContain('clusterrole.rbac.authorization.k8s.io/gpu-rental-operator-log-reader ');
    const objects = parseAllDocuments(rendered).map((document) => document.toJS());
    const only = (kind: string, name: string) =>
      objects.find((one) => one.kind === kind && one.metadata.name === name).spec;
    const pod = only('Deployment', 'gpu-rental-operator').template.spec;
    const [container] = pod.containers;
    expect(container.args).toEqual(
      expect.arrayContaining(['--log-bind-address=:8083', '--log-tls-directory=/etc/gpu-rental/logs']),
    );
    expect(container.ports).toContainEqual({ name: 'logs', containerPort: 8083 });
    expect(container.volumeMounts).toContainEqual({
      ...{ name: 'log-tls', mountPath: '/etc/gpu-rental/logs', readOnly: true },
    });
    expect(pod.volumes).toContainEqual({
      ...{ name: 'log-tls', secret: { secretName: 'gpu-rental-operator-logs-tls' } },
    });
    expect(only('NetworkPolicy', 'gpu-rental-operator').ingress).toContainEqual({
      ports: [{ port: 'logs', protocol: 'TCP' }],
    });
  });

  test('an overlay authenticates readers of the metrics: a flag, roles and the token of Prometheus', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'overlay-'));
    const from = (path: string) => relative(folder, join(REPOSITORY, 'deploy', path));
    const render = async (...components: readonly string[]) => {
      const kustomization = { resources: [from('overlays/cluster-wide')], components: components.map(from) };
      writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
      return cluster.kubectl(['kustomize', folder]);
    };
    const said = await cluster.kubectl(strict, { stdin: await render('components/metrics-authentication') });
    expect(said).toContain(
      'clusterrole.rbac.authorization.k8s.io/gpu-rental-operator-metrics-reader serverside-applied',
    );
    const both = await render('components/monitoring', 'components/metrics-authentication');
    rmSync(folder, { recursive: true });
    const objects = parseAllDocuments(both).map((document) => document.toJS());
    const only = (kind: string) =>
      objects.find((one) => one.kind === kind && one.metadata.name === 'gpu-rental-operator').spec;
    expect(only('Deployment').template.spec.containers[0].args).toContain(
      '--metrics-authentication=kubernetes',
    );
    expect(only('ServiceMonitor').endpoints[0].bearerTokenFile).toBe(
      '/var/run/secrets/kubernetes.io/serviceaccount/token',
    );
  });

  test('an overlay takes reports of pickers, beside readers of the metrics: both roles and both flags', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'overlay-'));
    const from = (path: string) => relative(folder, join(REPOSITORY, 'deploy', path));
    const components = ['components/gateway-reports', 'components/metrics-authentication'].map(from);
    const kustomization = { resources: [from('overlays/cluster-wide')], components };
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
    const rendered = await cluster.kubectl(['kustomize', folder]);
    rmSync(folder, { recursive: true });
    const said = await cluster.kubectl(strict, { stdin: rendered });
    for (const role of ['gateway-reporter', 'gateway-auth', 'metrics-reader'])
      expect(said).toContain(
        `clusterrole.rbac.authorization.k8s.io/gpu-rental-operator-${role} serverside-applied`,
      );
    const deployment = parseAllDocuments(rendered)
      .map((document) => document.toJS())
      .find(({ kind }) => kind === 'Deployment');
    expect(deployment.spec.template.spec.containers[0].args).toEqual(
      expect.arrayContaining(['--gateway-reports=kubernetes', '--metrics-authentication=kubernetes']),
    );
  });

  test('an overlay takes the gateway: pickers with Envoy, a Service, their rights, their network policy and the flags of the operator', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'overlay-'));
    const from = (path: string) => relative(folder, join(REPOSITORY, 'deploy', path));
    const components = ['components/gateway', 'components/network-policy'].map(from);
    const kustomization = { resources: [from('overlays/cluster-wide')], components };
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
    const rendered = await cluster.kubectl(['kustomize', folder]);
    rmSync(folder, { recursive: true });
    const said = await cluster.kubectl(strict, { stdin: rendered });
    const policy = 'networkpolicy.networking.k8s.io';
    for (const object of [
      'deployment.apps',
      'service',
      'serviceaccount',
      'poddisruptionbudget.policy',
      policy,
    ])
      expect(said).toContain(`${object}/gpu-rental-operator-gateway serverside-applied`);
    const objects = parseAllDocuments(rendered).map((document) => document.toJS());
    const podOf = (name: string) =>
      objects.find((one) => one.kind === 'Deployment' && one.metadata.name === name).spec.template.spec;
    expect(podOf('gpu-rental-operator').containers[0].args).toEqual(
      expect.arrayContaining([
        '--gateway-reports=kubernetes',
        '--gateway-url=http://gpu-rental-operator-gateway.gpu-rental-system.svc',
      ]),
    );
    const { volumes } = podOf('gpu-rental-operator-gateway');
    const configMaps = objects
      .filter(({ kind }) => kind === 'ConfigMap')
      .map(({ metadata }) => metadata.name);
    expect(configMaps).toContain(volumes[0].configMap.name);
  });

  test('the overlay for one namespace needs no ClusterRole', async () => {
    const rendered = await cluster.kubectl(['kustomize', join(REPOSITORY, 'deploy/overlays/one-namespace')]);
    expect(rendered).not.toMatch(/^kind: ClusterRole/m);
    expect(rendered).not.toMatch(/^kind: CustomResourceDefinition/m);
  });

  test('the HorizontalPodAutoscaler is one', async () => {
    const file = join(REPOSITORY, 'deploy/autoscaling/horizontal-pod-autoscaler.yaml');
    const said = await cluster.kubectl([
      'apply',
      '--dry-run=server',
      '--validate=strict',
      '-n',
      'default',
      '-f',
      file,
    ]);
    expect(said).toContain('horizontalpodautoscaler.autoscaling/llm created');
  });
});
