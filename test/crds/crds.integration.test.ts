import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import {
  definitions,
  gpuInstanceDefinition,
  type KindDefinition,
} from '../../src/api/v1alpha1/definitions.ts';
import { API_VERSION } from '../../src/api/v1alpha1/names.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { installDefinitions } from './install.ts';
import { collection } from './submit.ts';

let cluster: ClusterAccess;
let namespace = '';

beforeAll(async () => {
  cluster = sharedCluster();
  await installDefinitions(cluster.admin);
  namespace = await cluster.createNamespace('crds');
});
afterAll(async () => {
  await cluster.admin.request({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` });
  await cluster.disconnect();
});

const APPLY = 'application/apply-patch+yaml';
const leastSpecs: Readonly<Record<string, unknown>> = {
  MarketplaceAccount: { apiKeySecretRef: { name: 'key' } },
  SpendBudget: { perHour: '5' },
  GpuInstance: { offers: [{}], image: 'registry.example/team/image:tag' },
  EndpointGroup: { template: { spec: { offers: [{}], image: 'registry.example/team/image:tag' } } },
};

const stored = z.looseObject({
  metadata: z.looseObject({ generation: z.number() }),
  spec: z.unknown(),
  status: z.looseObject({ observedGeneration: z.number() }),
});

interface Applied {
  readonly kind: KindDefinition;
  readonly name: string;
  readonly manager: string;
  readonly spec?: unknown;
  readonly status?: unknown;
}

async function apply({ kind, name, manager, spec, status }: Applied) {
  const path = `${collection({ kind, namespace })}/${name}${status === undefined ? '' : '/status'}?fieldManager=${manager}`;
  const body = {
    apiVersion: API_VERSION,
    kind: kind.names.kind,
    metadata: { name },
    ...(spec !== undefined && { spec }),
    ...(status !== undefined && { status }),
  };
  const reply = await cluster.admin.request({ method: 'PATCH', path, body, contentType: APPLY });
  return stored.parse(reply.body);
}

const condition = (type: string, message: string) => ({
  type,
  status: 'True',
  reason: 'Ready',
  message,
  lastTransitionTime: '2026-11-21T02:00:00Z',
  observedGeneration: 1,
});

const leastSpecOf = (kind: KindDefinition): unknown => leastSpecs[kind.names.kind];

describe.each(definitions)('$names.kind', (kind) => {
  test('has a CRD that two managers apply without a conflict', async () => {
    const file = join(REPOSITORY, `deploy/base/crds/${kind.names.group}_${kind.names.plural}.yaml`);
    for (const manager of ['argocd', 'kubectl'])
      await cluster.kubectl(['apply', '--server-side', `--field-manager=${manager}`, '-f', file]);
  });

  test('gets the defaults of its schema, and -1 until the operator has looked', async () => {
    const created = await apply({ kind, name: 'least', manager: 'person', spec: leastSpecOf(kind) });
    expect(created.spec).toEqual(kind.spec.parse(leastSpecOf(kind)));
    expect(created.status).toEqual({ observedGeneration: -1 });
    expect(created.metadata.generation).toBe(1);
  });

  test('keeps status and spec apart: a status write moves no generation', async () => {
    await apply({ kind, name: 'apart', manager: 'person', spec: leastSpecOf(kind) });
    const status = { observedGeneration: 1, conditions: [condition('Ready', 'All is well.')] };
    const written = await apply({ kind, name: 'apart', manager: 'operator', status });
    expect(written.status).toEqual(status);
    expect(written.metadata.generation).toBe(1);
    const respecified = await apply({ kind, name: 'apart', manager: 'person', spec: leastSpecOf(kind) });
    expect(respecified.status).toEqual(status);
  });

  test('keeps its status when another manager applies one', async () => {
    await apply({ kind, name: 'merged', manager: 'person', spec: leastSpecOf(kind) });
    const first = { observedGeneration: 1, conditions: [condition('Ready', 'Mine.')] };
    await apply({ kind, name: 'merged', manager: 'one', status: first });
    const other = { observedGeneration: 1, conditions: [condition('Other', 'Yours.')] };
    const applied = apply({ kind, name: 'merged', manager: 'two', status: other });
    await expect(applied).rejects.toThrow(/409 .*conflict with "one".*\.status/);
  });

  test('accepts a condition that another controller adds by a patch', async () => {
    await apply({ kind, name: 'patched', manager: 'person', spec: leastSpecOf(kind) });
    const first = [condition('Ready', 'Mine.')];
    await apply({
      kind,
      name: 'patched',
      manager: 'one',
      status: { observedGeneration: 1, conditions: first },
    });
    const second = condition('Other', 'Yours.');
    const reply = await cluster.admin.request({
      method: 'PATCH',
      path: `${collection({ kind, namespace })}/patched/status`,
      body: [{ op: 'add', path: '/status/conditions/-', value: second }],
      contentType: 'application/json-patch+json',
    });
    expect(stored.parse(reply.body).status['conditions']).toEqual([...first, second]);
  });

  test('is listed by its short names and by the category', async () => {
    for (const name of [...kind.names.shortNames, 'gpurental']) {
      const listed = await cluster.kubectl(['get', name, '-n', namespace, '-o', 'name']);
      expect(listed).toContain(`${kind.names.singular}.gpurental.dev/least`);
    }
  });

  test('shows its columns', async () => {
    const shown = await cluster.kubectl(['get', kind.names.plural, '-n', namespace, '-o', 'wide']);
    const heading = shown
      .split('\n')[0]
      ?.split(/\s{2,}/)
      .map((word) => word.trim());
    const inPlace = kind.columns.map((column) => column.name.toUpperCase());
    expect(heading?.filter((word) => word !== '')).toEqual(['NAME', ...inPlace]);
  });

  test('explains each field', async () => {
    for (const depth of [[], ['--recursive']]) {
      const text = await cluster.kubectl(['explain', `${kind.names.plural}.spec`, ...depth]);
      expect(text).toMatch(/^DESCRIPTION:\n +\S/m);
      expect(text).not.toContain('<empty>');
    }
  });
});

describe('lists that merge by key', () => {
  const kind = gpuInstanceDefinition;
  const offers = [{}];
  const image = 'registry.example/team/image:tag';
  const specShape = z.looseObject({ env: z.array(z.unknown()), ports: z.array(z.unknown()) });

  test('take an entry of each writer', async () => {
    const mine = {
      offers,
      image,
      env: [{ name: 'A', value: '1' }],
      ports: [{ containerPort: 80, protocol: 'TCP' }],
    };
    const yours = { env: [{ name: 'B', value: '2' }], ports: [{ containerPort: 80, protocol: 'UDP' }] };
    await apply({ kind, name: 'keys', manager: 'one', spec: mine });
    const { spec } = await apply({ kind, name: 'keys', manager: 'two', spec: yours });
    const { env, ports } = specShape.parse(spec);
    expect(env).toEqual([...mine.env, ...yours.env]);
    expect(ports).toEqual([...mine.ports, ...yours.ports]);
  });

  test('report a conflict to two writers of the same entry', async () => {
    const one = { offers, image, env: [{ name: 'A', value: '1' }] };
    await apply({ kind, name: 'conflict', manager: 'one', spec: one });
    const other = apply({
      kind,
      name: 'conflict',
      manager: 'two',
      spec: { env: [{ name: 'A', value: '2' }] },
    });
    await expect(other).rejects.toThrow(/409 .*conflict with "one": \.spec\.env\[name="A"\]\.value/);
  });
});

test('instances are chosen by phase and GPU', async () => {
  const kind = gpuInstanceDefinition;
  await apply({ kind, name: 'chosen', manager: 'person', spec: leastSpecOf(kind) });
  const status = { observedGeneration: 1, phase: 'Running', machine: { gpu: 'RTX 4090', gpuCount: 1 } };
  await apply({ kind, name: 'chosen', manager: 'operator', status });
  const selector = '--field-selector=status.phase=Running,status.machine.gpu=RTX 4090';
  const listed = await cluster.kubectl(['get', 'gpui', '-n', namespace, selector, '-o', 'name']);
  expect(listed.trim()).toBe('gpuinstance.gpurental.dev/chosen');
});

test('a group is scaled through its scale subresource, with a selector for autoscalers', async () => {
  const [, , kind] = definitions;
  if (kind === undefined) throw new Error('there is no third kind');
  await apply({ kind, name: 'scaled', manager: 'person', spec: leastSpecOf(kind) });
  const status = { replicas: 1, selector: 'gpurental.dev/endpoint-group=scaled' };
  await apply({ kind, name: 'scaled', manager: 'operator', status: { observedGeneration: 1, ...status } });
  await cluster.kubectl(['scale', 'epg/scaled', '-n', namespace, '--replicas=3']);
  const path = `${collection({ kind, namespace })}/scaled/scale`;
  const { body } = await cluster.admin.request({ method: 'GET', path });
  expect(body).toMatchObject({ spec: { replicas: 3 }, status });
});

const SAMPLES = join(REPOSITORY, 'deploy/samples');

test.each(readdirSync(SAMPLES).filter((name) => name.endsWith('.yaml')))(
  'the sample %s is taken as it is',
  async (name) => {
    const file = join(SAMPLES, name);
    const said = await cluster.kubectl([
      'apply',
      '-n',
      namespace,
      '--dry-run=server',
      '--validate=strict',
      '-f',
      file,
    ]);
    expect(said).toMatch(/created \(server dry run\)/);
    expect(said).not.toMatch(/warning/i);
  },
);
