import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { annotatedSchema, type JsonSchema } from '../../scripts/generate/json-schema.ts';
import {
  endpointGroupDefinition,
  gpuInstanceDefinition,
  type KindDefinition,
  marketplaceAccountDefinition,
  spendBudgetDefinition,
} from '../../src/api/v1alpha1/definitions.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { brokenBounds } from './bounds.ts';
import { installDefinitions } from './install.ts';
import type { Refused } from './refused.ts';
import { refusedAccounts } from './refused-accounts.ts';
import { refusedBudgets } from './refused-budgets.ts';
import { refusedGroups } from './refused-groups.ts';
import { refusedInstances } from './refused-instances.ts';
import { change, collection, type Refusals, submit } from './submit.ts';

let cluster: ClusterAccess;
let namespace = '';
/** Refusals of this run by kind: the last test checks that every rule occurred. */
const heard = new Map<string, string[]>();

beforeAll(async () => {
  cluster = sharedCluster();
  await installDefinitions(cluster.admin);
  namespace = await cluster.createNamespace('refusals');
});
afterAll(async () => {
  await cluster.admin.request({ method: 'DELETE', path: `/api/v1/namespaces/${namespace}` });
  await cluster.disconnect();
});

/** The same workers are described by the kind GpuInstance, and tested there. */
const WORKER = 'spec.template.spec';

const kinds: readonly { kind: KindDefinition; rows: readonly Refused[] }[] = [
  { kind: marketplaceAccountDefinition, rows: refusedAccounts },
  { kind: spendBudgetDefinition, rows: refusedBudgets },
  { kind: gpuInstanceDefinition, rows: refusedInstances },
  { kind: endpointGroupDefinition, rows: refusedGroups },
];

function remember(kind: KindDefinition, lines: Refusals, covers?: string): void {
  const before = heard.get(kind.names.kind) ?? [];
  heard.set(kind.names.kind, [
    ...before,
    ...lines,
    ...(covers && lines.length > 0 ? [`${lines[0]} ${covers}`] : []),
  ]);
}

async function refusalByStrictness(kind: KindDefinition, spec: unknown): Promise<string> {
  const path = `${collection({ kind, namespace })}?dryRun=All&fieldValidation=Strict`;
  const body = {
    apiVersion: 'gpurental.dev/v1alpha1',
    kind: kind.names.kind,
    metadata: { name: 'row' },
    spec,
  };
  const reply = await cluster.admin.request({ method: 'POST', path, body, accept: [400] });
  return JSON.stringify(reply.body);
}

/** Returns true if a field has a single value, so that the schema refuses others before any rule runs. */
function hasOneValue(spec: JsonSchema, path: string): boolean {
  const field = path.startsWith('spec.') ? spec.properties?.[path.slice('spec.'.length)] : undefined;
  return field?.enum?.length === 1;
}

interface Rule {
  readonly path: string;
  readonly message: string;
}

function rulesOf(path: string, schema: JsonSchema): readonly Rule[] {
  if (path === WORKER) return [];
  const own = (schema['x-kubernetes-validations'] ?? []).map((rule) => ({
    path: `${path}${rule.fieldPath ?? ''}`,
    message: rule.message,
  }));
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, child]) =>
    rulesOf(`${path}.${name}`, child),
  );
  const items = schema.items ? rulesOf(`${path}[0]`, schema.items) : [];
  return [...own, ...fields, ...items];
}

describe.each(kinds)('$kind.names.kind', ({ kind, rows }) => {
  const refused = rows.filter((row) => row.refusals.length > 0 || row.strict !== undefined);
  const taken = rows.filter((row) => row.refusals.length === 0 && row.strict === undefined);

  test.each(refused)('refuses $given', async ({ name, was, spec, refusals, strict, covers }) => {
    if (strict !== undefined) {
      expect(await refusalByStrictness(kind, spec)).toContain(JSON.stringify(strict).slice(1, -1));
      return;
    }
    const submission = { kind, namespace, spec, ...(name && { name }) };
    const lines =
      was === undefined
        ? await submit(cluster.admin, submission)
        : await change(cluster.admin, { ...submission, spec: was }, spec);
    remember(kind, lines, covers);
    // The API server walks a map, so several lines come in any order.
    expect(lines.toSorted()).toEqual(refusals.toSorted());
  });

  test.each(taken)('takes $given', async ({ name, was, spec }) => {
    const submission = { kind, namespace, spec, ...(name && { name }) };
    const lines =
      was === undefined
        ? await submit(cluster.admin, submission)
        : await change(cluster.admin, { ...submission, spec: was }, spec);
    expect(lines).toEqual([]);
  });

  const bounds = brokenBounds(annotatedSchema(kind.spec), WORKER);
  test.each(bounds)('$path refuses $given', async ({ path, spec, refusal }) => {
    const lines = await submit(cluster.admin, { kind, namespace, spec });
    remember(kind, lines);
    const here = lines.filter((line) => line.startsWith(`${path}: `));
    if (refusal !== undefined) expect(here).toContain(`${path}: ${refusal}`);
    else expect(here).not.toEqual([]);
  });

  test('has spoken every one of its rules', () => {
    const lines = heard.get(kind.names.kind) ?? [];
    const own = kind.rules.map((rule) => ({ path: rule.fieldPath?.slice(1) ?? '', message: rule.message }));
    const spec = annotatedSchema(kind.spec);
    const silent = [...own, ...rulesOf('spec', spec)].filter(
      ({ path, message }) =>
        !hasOneValue(spec, path) &&
        !lines.some((line) => line.startsWith(`${path}: `) && line.includes(message)),
    );
    expect(silent).toEqual([]);
  });
});
