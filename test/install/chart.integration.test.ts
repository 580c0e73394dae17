import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { customResourceDefinition } from '../../scripts/generate/custom-resource-definition.ts';
import { alerts } from '../../scripts/generate/monitoring/alerts.ts';
import { clusterGrants, type Grant, ownGrants, watchedGrants } from '../../src/api/access.ts';
import { definitions } from '../../src/api/v1alpha1/definitions.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { findOnPath } from '../cluster/kubectl.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { goToolPath, HELM } from '../tools/go-tool.ts';
import { CHART, type Helm, type Manifest, openHelm } from './helm.ts';

const canRun = existsSync(goToolPath(HELM, process.env)) || findOnPath('go', process.env.PATH) !== undefined;
if (!canRun) process.stderr.write('The chart is not tested: Helm is built with Go, and go is not on PATH.\n');

/** A build of Helm takes minutes; in a cache it takes none. */
const BUILD_TIMEOUT_MS = 15 * 60_000;

const rolesOf = (objects: readonly Manifest[], kind: string) =>
  objects.filter((object) => object.kind === kind);
const rulesOf = (grants: readonly Grant[]) =>
  grants.map(({ group, resources, names, verbs }) => ({
    apiGroups: [group],
    resources,
    ...(names && { resourceNames: names }),
    verbs,
  }));
const deploymentShape = z.looseObject({
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({
        containers: z.array(z.looseObject({ args: z.array(z.string()), image: z.string() })),
      }),
    }),
  }),
});

function containerOf(objects: readonly Manifest[]) {
  const [deployment] = rolesOf(objects, 'Deployment');
  const [container] = deploymentShape.parse(deployment).spec.template.spec.containers;
  if (container === undefined) throw new Error('the Deployment has no container');
  return container;
}

describe.skipIf(!canRun)('the chart', () => {
  let helm: Helm;
  let cluster: ClusterAccess;
  let namespace = '';
  let home = '';

  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'helm-'));
    helm = await openHelm(home);
    cluster = sharedCluster();
    namespace = await cluster.createNamespace('chart');
  }, BUILD_TIMEOUT_MS);
  afterAll(async () => {
    rmSync(home, { recursive: true, force: true });
    await cluster.kubectl(['delete', 'namespace', namespace, '--wait=false']);
    await cluster.disconnect();
  });

  test('passes the strict linter', async () => {
    expect(await helm.run(['lint', '--strict', CHART])).toContain('0 chart(s) failed');
  });

  test('scenario 64: brings the definitions that the sources say, kept at uninstall', async () => {
    const rendered = rolesOf(await helm.template([]), 'CustomResourceDefinition');
    const byName = new Map(rendered.map((object) => [object.metadata.name, object]));
    for (const kind of definitions) {
      const wanted = customResourceDefinition(kind);
      const found = byName.get(wanted.metadata.name);
      expect(found?.spec).toEqual(JSON.parse(JSON.stringify(wanted.spec)));
      expect(found?.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
      expect(found?.metadata.labels).toMatchObject(kind.labels ?? {});
    }
    expect(byName.size).toBe(definitions.length);
  });

  test('leaves the CRDs out, or unkept, when its values say so', async () => {
    expect(rolesOf(await helm.template(['--set=crds.enabled=false']), 'CustomResourceDefinition')).toEqual(
      [],
    );
    const unkept = rolesOf(await helm.template(['--set=crds.keep=false']), 'CustomResourceDefinition');
    expect(unkept.map(({ metadata }) => metadata.annotations)).toEqual(unkept.map(() => undefined));
  });

  test('grants exactly the rights that deploy/ grants', async () => {
    const objects = await helm.template([]);
    const [clusterRole] = rolesOf(objects, 'ClusterRole');
    const [role] = rolesOf(objects, 'Role');
    expect(clusterRole?.rules).toEqual(rulesOf([...watchedGrants, ...clusterGrants]));
    expect(role?.rules).toEqual(rulesOf(ownGrants));
  });

  test('needs Roles only where namespaces are named', async () => {
    const objects = await helm.template(['--set=watchNamespaces={team-a,team-b}']);
    expect(objects.filter(({ kind }) => kind.startsWith('ClusterRole'))).toEqual([]);
    const watched = rolesOf(objects, 'Role').filter(({ metadata }) => metadata.name.endsWith('-watched'));
    expect(watched.map(({ metadata }) => metadata.namespace)).toEqual(['team-a', 'team-b']);
    for (const role of watched) expect(role.rules).toEqual(rulesOf(watchedGrants));
    expect(containerOf(objects).args).toEqual(
      expect.arrayContaining(['--watch-namespace=team-a', '--watch-namespace=team-b']),
    );
  });

  test('hands marketplaces and more flags to the operator', async () => {
    const urls = '--set=marketplace.urls={https://one.example,https://two.example}';
    const { args } = containerOf(await helm.template([urls, '--set=extraArgs={--late-call=90s}']));
    expect(args.filter((flag) => flag.startsWith('--marketplace-url'))).toEqual([
      '--marketplace-url=https://one.example',
      '--marketplace-url=https://two.example',
    ]);
    expect(args).toContain('--late-call=90s');
  });

  test('names the image by digest before tag', async () => {
    const digest = `sha256:${'0'.repeat(64)}`;
    const { image } = containerOf(await helm.template(['--set=image.tag=x', `--set=image.digest=${digest}`]));
    expect(image).toBe(`ghcr.io/gpu-rental-operator/gpu-rental-operator@${digest}`);
  });

  test('keeps a replica through disruptions only where there is more than one', async () => {
    expect(rolesOf(await helm.template([]), 'PodDisruptionBudget')).toEqual([]);
    expect(rolesOf(await helm.template(['--set=replicas=2']), 'PodDisruptionBudget')).toHaveLength(1);
  });

  /** Returns the notes that an installation prints. */
  async function notes(values: readonly string[]): Promise<string> {
    const args = ['install', 'release', CHART, '--namespace', namespace, '--dry-run=client', ...values];
    const said = await helm.run(args);
    return said.slice(said.indexOf('NOTES:'));
  }

  test('F14: notes of a default installation warn of nothing, and say when the operator runs', async () => {
    const said = await notes([]);
    expect(said).not.toMatch(/WARNING|NOT CREATED/);
    expect(said).toContain(`kubectl rollout status -n ${namespace} deployment/release-gpu-rental-operator`);
  });

  describe.each([
    ['ServiceMonitor', 'metrics.serviceMonitor'],
    ['PodMonitor', 'metrics.podMonitor'],
    ['PrometheusRule', 'prometheusRule'],
  ])('%s', (kind, path) => {
    const SERVED = '--api-versions=monitoring.coreos.com/v1';
    const rendered = async (mode: string, ...more: readonly string[]) => {
      const values = [`--set=${path}.enabled=true`, `--set=${path}.renderMode=${mode}`, ...more];
      return rolesOf(await helm.template(values), kind).length;
    };

    test('is left out, demanded or rendered all the same where its kind is missing', async () => {
      expect(await rendered('skipIfMissing')).toBe(0);
      expect(await rendered('alwaysRender')).toBe(1);
      const words = `${path} was asked for, but this cluster does not serve monitoring.coreos.com/v1`;
      await expect(rendered('failIfMissing')).rejects.toThrow(words);
    });

    test('F14: is named in the notes where it is left out, with what to do', async () => {
      const said = await notes([`--set=${path}.enabled=true`]);
      expect(said).toContain(`does not serve monitoring.coreos.com/v1: ${kind}.`);
      expect(said).toContain('Install the Prometheus operator');
      expect(
        await notes([`--set=${path}.enabled=true`, `--set=${path}.renderMode=alwaysRender`]),
      ).not.toContain('NOT CREATED');
    });

    test.each(['skipIfMissing', 'failIfMissing', 'alwaysRender'])(
      'is rendered where its kind is served: %s',
      async (mode) => {
        expect(await rendered(mode, SERVED)).toBe(1);
      },
    );
  });

  test.each([
    ['a typing error', '--set=replcas=2', /replcas/],
    ['a marketplace with a path', '--set=marketplace.urls={https://one.example/api}', /urls/],
    ['a digest that is none', '--set=image.digest=latest', /digest/],
    ['a flag without dashes', '--set=extraArgs={late-call=90s}', /extraArgs/],
    ['no marketplace', '--set-json=marketplace.urls=[]', /urls/],
    ['a marketplace by plain http', '--set=marketplace.urls={http://plain.example}', /urls/],
    ['an alert that is none', '--set=prometheusRule.disabled.GpuRentalNoSuch=true', /GpuRentalNoSuch/],
    ['a name with upper case', '--set=fullnameOverride=UPPER_CASE', /fullnameOverride/],
    ['half a name with upper case', '--set=nameOverride=Operator', /nameOverride/],
    [
      'an Ingress for reports that has no name',
      '--set-json=workerReports={"enabled":true,"ingress":{"enabled":true}}',
      /workerReports\.ingress\.host is required/,
    ],
    ['logs without TLS', '--set=logs.enabled=true', /logs\.tls\.secretName is required/],
    ['a port with nothing behind its key', '--set=metrics.port=null', /missing property 'port'/],
    ['a section with nothing in it', '--set=metrics=null', /missing property 'metrics'/],
    [
      'an open way for want of ports',
      '--set=networkPolicy.marketplace.ports=null',
      /missing property 'ports'/,
    ],
    [
      'two listeners on one port',
      '--set=metrics.port=8081',
      /metrics\.port and health\.port are both 8081; give each a port of its own/,
    ],
    ['an account without a name', '--set=serviceAccount.create=false', /serviceAccount\.name is required/],
  ])('refuses %s', async (_given, value, message) => {
    await expect(helm.template([value])).rejects.toThrow(message);
  });

  test('takes a key with nothing behind it where nothing is what may stand there', async () => {
    const nothing = ['resources', 'nodeSelector', 'priorityClassName', 'metrics.serviceMonitor.interval'];
    const objects = await helm.template(nothing.map((path) => `--set=${path}=null`));
    expect(objects.length).toBeGreaterThan(20);
  });

  test('takes every alert that there is, and marketplaces on loopback by plain http', async () => {
    const disabled = Object.fromEntries(alerts.map(({ alert }) => [alert, true]));
    const values = [`--set-json=prometheusRule={"enabled":true,"renderMode":"alwaysRender"}`];
    values.push(`--set-json=prometheusRule.disabled=${JSON.stringify(disabled)}`);
    values.push('--set=marketplace.urls={http://127.0.0.1:8080,http://localhost,http://[::1]:80}');
    const [rule] = rolesOf(await helm.template(values), 'PrometheusRule');
    expect(JSON.stringify(rule)).not.toContain('"alert"');
  });

  test.each([
    ['as it comes', []],
    ['with two replicas', ['--set=replicas=2', '--set=commonLabels.team=a', '--set=priorityClassName=high']],
    ['for one namespace', ['--set-string=watchNamespaces={default}', '--set=rbac.create=true']],
    [
      'with reports of workers',
      [
        '--set=workerReports.enabled=true',
        '--set=workerReports.service.type=LoadBalancer',
        '--set=workerReports.ingress.enabled=true',
        '--set=workerReports.ingress.host=reports.example.com',
        '--set=workerReports.ingress.tlsSecretName=reports-tls',
        '--set=networkPolicy.enabled=true',
      ],
    ],
    [
      'with logs',
      ['--set=logs.enabled=true', '--set=logs.tls.secretName=logs-tls', '--set=networkPolicy.enabled=true'],
    ],
    ['with a gateway', ['--set=gateway.enabled=true', '--set=networkPolicy.enabled=true']],
    [
      'with a picker for an Envoy that exists',
      [
        '--set=gateway.enabled=true',
        '--set=gateway.existingGateway=true',
        '--set=networkPolicy.enabled=true',
      ],
    ],
    [
      'without what a cluster brings itself',
      ['--set=crds.enabled=false', '--set=metrics.service.enabled=false', '--set=extraEnv[0].name=TZ'],
    ],
  ])('renders objects that strict validation takes: %s', async (_given, values) => {
    const text = await helm.run(['template', 'release', CHART, '--namespace', namespace, ...values]);
    const args = [
      'apply',
      '--server-side',
      '--force-conflicts',
      '--dry-run=server',
      '--validate=strict',
      '-f',
      '-',
    ];
    const said = await cluster.kubectl(args, { stdin: text });
    expect(said).toContain('deployment.apps/release-gpu-rental-operator serverside-applied (server dry run)');
  });

  test('is installed, upgraded and taken away again, and leaves the definitions', async () => {
    // Policies act on the whole cluster, which other suites share: test/install/installed has one of its own.
    const policies = ['--set=admissionPolicies.render=never', '--set=inUseGuard.enabled=false'];
    const common = ['operator', CHART, '--namespace', namespace, '--take-ownership', '--force-conflicts'];
    common.push(...policies);
    await helm.run(['install', ...common], cluster.kubeconfigPath);
    await helm.run(
      ['upgrade', ...common, '--set=replicas=2', '--set=logLevel=debug'],
      cluster.kubeconfigPath,
    );
    const shown = await cluster.kubectl(['get', 'deployments,pdb', '-n', namespace, '-o', 'name']);
    expect(shown).toContain('deployment.apps/operator-gpu-rental-operator');
    expect(shown).toContain('poddisruptionbudget.policy/operator-gpu-rental-operator');
    await helm.run(['uninstall', 'operator', '--namespace', namespace], cluster.kubeconfigPath);
    expect(await cluster.kubectl(['get', 'deployments', '-n', namespace, '-o', 'name'])).toBe('');
    const crds = await cluster.kubectl(['get', 'customresourcedefinitions', '-o', 'name']);
    for (const { names } of definitions) expect(crds).toContain(`${names.plural}.${names.group}`);
  });
});
