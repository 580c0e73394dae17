import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { customResourceDefinition } from '../../scripts/generate/custom-resource-definition.ts';
import { definitions } from '../../src/api/v1alpha1/definitions.ts';
import { findOnPath } from '../cluster/kubectl.ts';
import { untilOurKindsAreServed } from '../crds/install.ts';
import { goToolPath, HELM } from '../tools/go-tool.ts';
import { CHART } from './helm.ts';
import { NAMESPACE, openReleaseBench, RELEASE, type ReleaseBench } from './release-bench.ts';

const canRun = existsSync(goToolPath(HELM, process.env)) || findOnPath('go', process.env.PATH) !== undefined;
const PREVIOUS = join(import.meta.dirname, 'previous/gpu-rental-operator-0.0.1.tgz');
const CRD_CHART = join(REPOSITORY, 'charts/gpu-rental-operator-crds');
/** Kinds of the previous chart. */
const KINDS = ['marketplaceaccounts', 'gpuinstances', 'endpointgroups'];

const offers = [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.80' }];
const template = { spec: { image: 'registry.example/worker:1', offers } };
const object = (kind: string, name: string, spec: object) => ({
  apiVersion: 'gpurental.dev/v1alpha1',
  kind,
  metadata: { name, namespace: 'default' },
  spec,
});

let bench: ReleaseBench;
let before = '';
let oldDefinitions: ReadonlyMap<string, unknown>;

const definitionList = z.object({
  items: z.array(z.looseObject({ metadata: z.looseObject({ name: z.string() }), spec: z.unknown() })),
});

async function definitionsInForce(): Promise<ReadonlyMap<string, unknown>> {
  const { items } = definitionList.parse(JSON.parse(await bench.kubectl('get', 'crd', '-o=json')));
  return new Map(items.map(({ metadata, spec }) => [metadata.name, spec]));
}

interface Structural {
  readonly properties?: Readonly<Record<string, Structural>>;
  readonly items?: Structural;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
}

const versions = z.looseObject({
  versions: z.array(z.looseObject({ schema: z.looseObject({ openAPIV3Schema: z.custom<Structural>() }) })),
});

function fieldPaths(definition: unknown): readonly string[] {
  return schemasOf(definition).map(({ path }) => path);
}

/** Objects that keep what their schema does not name. */
function keepingPaths(definition: unknown): readonly string[] {
  const keeps = ({ schema }: { readonly schema: Structural }) =>
    schema['x-kubernetes-preserve-unknown-fields'] === true;
  return schemasOf(definition)
    .filter(keeps)
    .map(({ path }) => path);
}

const isBelow = (path: string, parent: string) => path.startsWith(`${parent}.`);

function schemasOf(definition: unknown) {
  type Entry = { readonly path: string; readonly schema: Structural };
  const walk = (schema: Structural, path: string): readonly Entry[] => [
    { path, schema },
    ...Object.entries(schema.properties ?? {}).flatMap(([name, child]) => walk(child, `${path}.${name}`)),
    ...(schema.items ? walk(schema.items, `${path}[]`) : []),
  ];
  return versions.parse(definition).versions.flatMap(({ schema }) => walk(schema.openAPIV3Schema, ''));
}

/** Returns what an upgrade must not change: the existing objects and their specs. */
const state = () =>
  bench.kubectl(
    ...['get', KINDS.join(), '-A', '-o=jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid} '],
  );

beforeAll(async () => {
  if (!canRun) return;
  bench = await openReleaseBench(HELM);
  await bench.helm('install', RELEASE, PREVIOUS, '--create-namespace', '--set=logLevel=debug');
  await untilOurKindsAreServed(bench.cluster.admin, KINDS);
  await bench.apply(object('MarketplaceAccount', 'default', { apiKeySecretRef: { name: 'key' } }));
  await bench.apply(object('GpuInstance', 'trainer', { image: 'ubuntu:24.04', offers, disk: '32G' }));
  await bench.apply(
    object('EndpointGroup', 'llm', { template, load: { type: 'Static', static: { load: '3' } } }),
  );
  before = await state();
  oldDefinitions = await definitionsInForce();
}, 15 * 60_000);
afterAll(() => bench?.close());

describe.skipIf(!canRun)('an upgrade from the previous chart', () => {
  test('needs no manual step', async () => {
    const guard = () => bench.kubectl('get', 'validatingadmissionpolicies', '-o=name');
    expect(await guard()).toBe('');
    await bench.helm('upgrade', RELEASE, CHART, '--reset-then-reuse-values');
    expect(await guard()).toContain('gpu-rental-in-use');
    expect(await bench.kubectl('get', 'deployment', RELEASE, '-n', NAMESPACE, '-o=yaml')).toContain(
      '--log-level=debug',
    );
  });

  test('keeps every object, and each can still be changed', async () => {
    expect(await state()).toBe(before);
    for (const target of ['gpuacct/default', 'gpui/trainer', 'epg/llm'])
      await bench.kubectl('annotate', target, `gpurental.dev/requested-at=after`);
  });

  test('brings the definitions of today', async () => {
    const after = await definitionsInForce();
    for (const kind of definitions) {
      const wanted = customResourceDefinition(kind);
      expect(after.get(wanted.metadata.name)).toMatchObject(JSON.parse(JSON.stringify(wanted.spec)));
    }
    expect(after).not.toEqual(oldDefinitions);
  });

  test('takes no field away: what is stored can still be read', async () => {
    const after = await definitionsInForce();
    const gone = [...oldDefinitions].flatMap(([name, spec]) => {
      const now = new Set(fieldPaths(after.get(name)));
      const keeping = keepingPaths(after.get(name));
      return fieldPaths(spec).filter(
        (path) => !now.has(path) && !keeping.some((kept) => isBelow(path, kept)),
      );
    });
    expect(gone).toEqual([]);
  });

  test('deletes nothing that machines need, while some are rented', async () => {
    await bench.setInUse(true);
    await bench.helm('upgrade', RELEASE, CHART, '--set=replicas=2');
    await bench.helm('rollback', RELEASE);
    await bench.setInUse(false);
  });

  test('hands the definitions over to the chart of their own, and keeps every object', async () => {
    await bench.helm('upgrade', RELEASE, CHART, '--reset-then-reuse-values', '--set=crds.enabled=false');
    await bench.helm('install', 'definitions', CRD_CHART, '--take-ownership');
    expect(await state()).toBe(before);
    await bench.setInUse(true);
    await bench.setInUse(false);
    await bench.helm('uninstall', 'definitions');
    expect(await state()).toBe(before);
  });

  test('can be taken back', async () => {
    await bench.helm('rollback', RELEASE, '1');
    expect(await state()).toBe(before);
    const shown = await bench.kubectl('get', 'deployment', RELEASE, '-n', NAMESPACE, '-o=yaml');
    expect(shown).toContain('gpu-rental-operator:0.0.1');
  });
});
