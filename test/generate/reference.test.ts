import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { fieldExample } from '../../scripts/generate/field-examples.ts';
import { annotatedSchema, type JsonSchema } from '../../scripts/generate/json-schema.ts';
import { statusExamples } from '../../scripts/generate/status-examples.ts';
import { definitions } from '../../src/api/v1alpha1/definitions.ts';

interface Field {
  readonly path: string;
  readonly name: string;
  readonly schema: JsonSchema;
}

function fieldsOf(path: string, schema: JsonSchema): readonly Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
    const inner = child.items ?? child;
    const innerPath = `${path}.${name}${child.items ? '[]' : ''}`;
    return [{ path, name, schema: child }, ...fieldsOf(innerPath, inner)];
  });
}

const ELSEWHERE = '.template.spec.';

describe.each(definitions)('the reference of $names.kind', ({ names, spec, status }) => {
  const kind = names.kind;
  const fields = [
    ...fieldsOf('spec', annotatedSchema(spec)),
    ...fieldsOf('status', annotatedSchema(status)),
  ].filter(({ path }) => !`${path}.`.includes(ELSEWHERE));
  const page = readFileSync(join(REPOSITORY, `docs/reference/${names.singular}.md`), 'utf8');
  const sections = new Map(
    page.split(/^## /m).map((section) => [section.slice(0, section.indexOf('\n')), section] as const),
  );

  test('has type, default, rules, example and meaning of every field', () => {
    const missing = fields.filter(({ path, name }) => {
      const row = sections.get(path)?.match(new RegExp(`^\\| \`${name}\` \\|.*\\|$`, 'm'))?.[0] ?? '';
      const cells = row.split(/(?<!\\)\|/).slice(1, -1);
      return cells.length !== 6 || cells.some((cell) => cell.trim() === '');
    });
    expect(missing.map(({ path, name }) => `${path}.${name}`)).toEqual([]);
  });

  test('shows examples that the schema of the field takes', () => {
    const wrong = fields.filter(({ path, name, schema }) => {
      const example: unknown = parse(fieldExample({ kind, path: `${path}.${name}`, schema }));
      const known = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
      return !known.safeParse(example).success;
    });
    expect(wrong.map(({ path, name }) => `${path}.${name}`)).toEqual([]);
  });

  test('shows a status that the kind itself takes', () => {
    expect(status.safeParse(statusExamples[kind])).toMatchObject({ success: true });
  });
});
