import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { structuralSchema } from '../../scripts/generate/json-schema.ts';
import { definitions } from '../../src/api/v1alpha1/definitions.ts';

const path = z.array(z.string());
const labels = z.record(z.string(), path).default({});
const family = z.strictObject({
  path: path.default([]),
  labelsFromPath: labels,
  valueFrom: path.default([]),
  nilIsZero: z.boolean().optional(),
});
const configuration = z.strictObject({
  kind: z.literal('CustomResourceStateMetrics'),
  spec: z.strictObject({
    resources: z.array(
      z.strictObject({
        groupVersionKind: z.strictObject({ group: z.string(), version: z.string(), kind: z.string() }),
        metricNamePrefix: z.string(),
        labelsFromPath: labels,
        metrics: z.array(
          z.strictObject({
            name: z.string(),
            help: z.string(),
            each: z.strictObject({
              type: z.enum(['Gauge', 'Info']),
              gauge: family.optional(),
              info: family.optional(),
            }),
          }),
        ),
      }),
    ),
  }),
});

const FILE = join(REPOSITORY, 'deploy/components/monitoring/kube-state-metrics.yaml');
const { resources } = configuration.parse(parse(readFileSync(FILE, 'utf8'))).spec;

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

/** Returns the schema at a path, through the items of lists; undefined if the path does not exist. */
function follow(schema: Schema | undefined, [name, ...rest]: readonly string[]): Schema | undefined {
  if (name === undefined) return schema;
  const whole = schema?.items ?? schema;
  return follow(whole?.properties?.[name], rest);
}

describe.each(resources)('kube-state-metrics and $groupVersionKind.kind', ({ groupVersionKind, metrics }) => {
  const definition = definitions.find(({ names }) => names.kind === groupVersionKind.kind);
  const root: Schema = { properties: { status: structuralSchema(definition?.status ?? z.object({})) } };

  test.each(metrics)('$name reads fields that exist', ({ each }) => {
    const { path: base, labelsFromPath, valueFrom } = each.gauge ?? each.info ?? family.parse({});
    const at = follow(root, base);
    expect(at).toBeDefined();
    for (const inner of [valueFrom, ...Object.values(labelsFromPath)])
      expect(follow(at, inner)).toBeDefined();
  });
});

test('every kind is there', () => {
  expect(resources.map(({ groupVersionKind }) => groupVersionKind.kind).toSorted()).toEqual(
    definitions.map(({ names }) => names.kind).toSorted(),
  );
});
