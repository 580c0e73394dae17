import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { parseConfig } from '../../src/config.ts';

/* Who applies `deploy/` gets what who installs the chart gets, as its kept renderings show it. */

const deployments = z.object({
  kind: z.literal('Deployment'),
  spec: z.object({
    template: z.object({
      spec: z.object({
        securityContext: z.unknown(),
        automountServiceAccountToken: z.boolean(),
        enableServiceLinks: z.boolean(),
        nodeSelector: z.unknown(),
        terminationGracePeriodSeconds: z.number(),
        containers: z.tuple([z.looseObject({ args: z.array(z.string()) })]),
      }),
    }),
  }),
});

const networkPolicies = z.object({
  kind: z.literal('NetworkPolicy'),
  spec: z.object({
    podSelector: z.object({ matchLabels: z.record(z.string(), z.string()) }),
    policyTypes: z.array(z.string()),
    ingress: z.array(z.object({ ports: z.unknown() })),
    egress: z.array(z.unknown()),
  }),
});

const podTemplate = z.object({
  template: z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()) }) }),
});

/** Returns the first object of a file that has this form. */
function objectIn<T>(path: string, form: z.ZodType<T>): T {
  const texts = readFileSync(join(REPOSITORY, path), 'utf8').split(/^---$/m);
  const found = texts
    .filter((text) => !text.includes('\nkind: CustomResourceDefinition\n'))
    .map((text) => form.safeParse(parse(text)))
    .find(({ success }) => success);
  if (!found?.data) throw new Error(`${path} holds no such object`);
  return found.data;
}

function podOf(path: string) {
  const { template } = objectIn(path, deployments).spec;
  const { containers, ...pod } = template.spec;
  const [{ args, ...container }] = containers;
  return { args, container, pod };
}

test('deploy/base runs the operator within the bounds of the chart', () => {
  const base = podOf('deploy/base/deployment.yaml');
  const chart = podOf('test/golden/chart/default.golden.yaml');
  expect({ container: base.container, pod: base.pod }).toEqual({
    container: chart.container,
    pod: chart.pod,
  });
  expect([...base.args, '--log-level=info']).toEqual(chart.args);
});

const gatewayPods = z.object({
  kind: z.literal('Deployment'),
  metadata: z.looseObject({ name: z.string().regex(/-gateway$/) }),
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({
        initContainers: z.array(z.unknown()),
        containers: z.array(z.looseObject({ args: z.array(z.string()) })),
        terminationGracePeriodSeconds: z.number(),
      }),
    }),
  }),
});

test('deploy/components/gateway runs what the chart runs with gateway.enabled', () => {
  const podIn = (path: string, name: string) => {
    const { spec } = objectIn(path, gatewayPods);
    // In the chart names begin with that of the release.
    return JSON.parse(
      JSON.stringify(spec).replaceAll(name, 'NAME').replaceAll('operators', 'gpu-rental-system'),
    );
  };
  const component = podIn('deploy/components/gateway/deployment.yaml', 'gpu-rental-operator-gateway');
  const chart = podIn('test/golden/chart/gateway.golden.yaml', 'release-gpu-rental-operator-gateway');
  expect(component.strategy).toEqual(chart.strategy);
  const pod = component.template;
  expect(pod.spec.initContainers).toEqual(chart.template.spec.initContainers);
  expect(pod.spec.volumes).toEqual(chart.template.spec.volumes);
  expect(pod.spec.securityContext).toEqual(chart.template.spec.securityContext);
  const [{ args, ...picker }] = pod.spec.containers;
  const [{ args: chartArgs, ...chartPicker }] = chart.template.spec.containers;
  expect(picker).toEqual(chartPicker);
  const url = 'http://gpu-rental-operator-metrics.gpu-rental-system.svc:8080';
  expect(args).toEqual(
    chartArgs.map((flag: string) => (flag.startsWith('--operator-url=') ? `--operator-url=${url}` : flag)),
  );
});

test('a Pod of the gateway has more time to end than its picker takes', () => {
  const { terminationGracePeriodSeconds, containers } = objectIn(
    'test/golden/chart/gateway.golden.yaml',
    gatewayPods,
  ).spec.template.spec;
  const grace = containers[0]?.args.find((flag) => flag.startsWith('--shutdown-grace='));
  expect(terminationGracePeriodSeconds).toBeGreaterThan(Number.parseInt(grace?.split('=')[1] ?? '', 10));
});

test('a Pod has more time to end than the operator takes for it', () => {
  const { terminationGracePeriodSeconds } = podOf('test/golden/chart/default.golden.yaml').pod;
  expect(terminationGracePeriodSeconds * 1000).toBeGreaterThan(parseConfig({}, {}).shutdownGrace);
});

test('the network policy of deploy/ lets through what that of the chart does', () => {
  const component = objectIn('deploy/components/network-policy/network-policy.yaml', networkPolicies).spec;
  const chart = objectIn('test/golden/chart/high-availability.golden.yaml', networkPolicies).spec;
  const [names, kubernetes, , machines] = chart.egress;
  expect(component.policyTypes).toEqual(chart.policyTypes);
  // Marketplaces are reached by the way that leads to machines at any port.
  expect(component.egress).toEqual([names, kubernetes, machines]);
  expect(component.ingress.map(({ ports }) => ports)).toEqual(chart.ingress.map(({ ports }) => ports));
});

const gatewayPolicies = networkPolicies.extend({
  metadata: z.looseObject({ name: z.string().regex(/-gateway$/) }),
});

test('the network policy of deploy/ lets through to and from the gateway what that of the chart does', () => {
  const path = 'deploy/components/network-policy/network-policy.yaml';
  const component = objectIn(path, gatewayPolicies).spec;
  const chart = objectIn('test/golden/chart/gateway.golden.yaml', gatewayPolicies).spec;
  // By the labels of its release the chart selects its own Pods.
  const withoutRelease = JSON.parse(
    JSON.stringify(chart).replaceAll(',"app.kubernetes.io/instance":"release"', ''),
  );
  expect({ ...component, ingress: component.ingress.map(({ ports }) => ports) }).toEqual({
    ...withoutRelease,
    ingress: chart.ingress.map(({ ports }) => ports),
  });
});

test('the network policies of deploy/ select the Pods that there are', () => {
  const path = 'deploy/components/network-policy/network-policy.yaml';
  const selected = (form: typeof networkPolicies) => objectIn(path, form).spec.podSelector.matchLabels;
  const labelled = z.object({ kind: z.literal('Deployment'), spec: podTemplate });
  const labelsIn = (file: string) => objectIn(file, labelled).spec.template.metadata.labels;
  expect(labelsIn('deploy/base/deployment.yaml')).toMatchObject(selected(networkPolicies));
  expect(labelsIn('deploy/components/gateway/deployment.yaml')).toMatchObject(selected(gatewayPolicies));
});

test('the overlay for a whole cluster holds the admission policies that keep money safe', () => {
  const form = z.object({ kind: z.literal('Kustomization'), components: z.array(z.string()) });
  const { components } = objectIn('deploy/overlays/cluster-wide/kustomization.yaml', form);
  expect(components).toEqual(['../../components/admission-policies', '../../components/in-use-guard']);
});
