import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { reasonHelp } from '../../scripts/generate/reason-causes.ts';

/** Part of a CRD's schema that names its fields. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: unknown;
}

const PLURALS: Readonly<Record<string, string>> = {
  GpuInstance: 'gpuinstances',
  MarketplaceAccount: 'marketplaceaccounts',
  EndpointGroup: 'endpointgroups',
  SpendBudget: 'spendbudgets',
};

function schemaOf(kind: string): Schema {
  const text = readFileSync(join(REPOSITORY, `crds/gpurental.dev_${PLURALS[kind]}.yaml`), 'utf8');
  return parse(text).spec.versions[0].schema.openAPIV3Schema as Schema;
}

/** Paths of a value that its schema does not name. */
function unknownFields(value: unknown, schema: Schema, path: string): readonly string[] {
  if (Array.isArray(value))
    return value.flatMap((item, at) => unknownFields(item, schema.items ?? {}, `${path}[${at}]`));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => {
    const known = schema.properties?.[name];
    if (known) return unknownFields(inner, known, `${path}.${name}`);
    return schema.additionalProperties ? [] : [`${path}.${name}`];
  });
}

/** Returns one side of a diff as YAML. */
const side = (fix: string, mark: '+' | '-'): string =>
  fix
    .split('\n')
    .filter((line) => line.startsWith(' ') || line.startsWith(mark))
    .map((line) => line.slice(1))
    .join('\n');

const fixes = Object.entries(reasonHelp).flatMap(([reason, { fix }]) =>
  fix && !fix.includes('values.yaml') ? [[reason, fix] as const] : [],
);

describe('the fix of a reason', () => {
  test('is given for many of them', () => {
    expect(fixes.length).toBeGreaterThan(20);
  });

  test.for(fixes)('%s changes a manifest to one whose fields exist', ([, fix]) => {
    const fixed = parse(side(fix, '+')) as { readonly kind?: string; readonly spec?: unknown };
    expect(fixed).not.toEqual(parse(side(fix, '-')));
    const { spec } = schemaOf(fixed.kind ?? 'GpuInstance').properties ?? {};
    expect(unknownFields(fixed.spec ?? {}, spec ?? {}, 'spec')).toEqual([]);
  });
});
