import { describe, expect, test } from 'vitest';
import { customResourceDefinition } from '../../scripts/generate/custom-resource-definition.ts';
import { annotatedSchema, type JsonSchema } from '../../scripts/generate/json-schema.ts';
import { definitions } from '../../src/api/v1alpha1/definitions.ts';
import { MAX_MESSAGE_BYTES } from '../../src/runtime/conditions.ts';

interface Field {
  readonly path: string;
  readonly schema: JsonSchema;
}

function fields(path: string, schema: JsonSchema): readonly Field[] {
  const children = Object.entries(schema.properties ?? {}).flatMap(([name, child]) =>
    fields(`${path}.${name}`, child),
  );
  const items = schema.items ? fields(`${path}[]`, schema.items) : [];
  return [{ path, schema }, ...children, ...items];
}

const all = definitions.flatMap(({ names, spec, status }) => [
  ...fields(`${names.kind}.spec`, annotatedSchema(spec)),
  ...fields(`${names.kind}.status`, annotatedSchema(status)),
]);

const paths = (chosen: readonly Field[]): readonly string[] => chosen.map((field) => field.path);

describe('every schema', () => {
  test('is structural: no union, reference or key of another dialect survives', () => {
    const text = JSON.stringify(definitions.map(customResourceDefinition));
    for (const key of [
      'anyOf',
      'oneOf',
      'allOf',
      '$ref',
      'propertyNames',
      'additionalProperties":false',
      'x-example',
    ]) {
      expect(text).not.toContain(`"${key}`);
    }
  });

  test('has no empty list, which the API server drops: a second manager would always conflict', () => {
    const empty: string[] = [];
    const visit = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return;
      if (Array.isArray(value) && value.length === 0) empty.push(path);
      for (const [key, child] of Object.entries(value)) visit(child, `${path}.${key}`);
    };
    for (const kind of definitions) visit(customResourceDefinition(kind), kind.names.kind);
    expect(empty).toEqual([]);
  });

  test('describes each field', () => {
    const silent = all.filter(({ path, schema }) => !path.endsWith('[]') && !schema.description);
    expect(paths(silent)).toEqual([]);
  });

  test('shows each field of a spec by an example, a default or its words', () => {
    const unclear = all.filter(({ path, schema }) => {
      const isLeaf = !schema.properties && !path.endsWith('[]') && /^[A-Za-z]+[.]spec[.]/.test(path);
      const shown =
        schema['x-example'] !== undefined || schema.default !== undefined || schema.enum !== undefined;
      return isLeaf && !shown && !path.includes('.template.spec.');
    });
    expect(paths(unclear)).toEqual([]);
  });

  test('bounds each list and says how it merges', () => {
    const open = all.filter(
      ({ schema }) => schema.type === 'array' && !(schema.maxItems && schema['x-kubernetes-list-type']),
    );
    expect(paths(open)).toEqual([]);
  });

  test('bounds each string', () => {
    const open = all.filter(
      ({ schema }) => schema.type === 'string' && !schema.maxLength && !schema.enum && !schema.format,
    );
    expect(paths(open)).toEqual([]);
  });

  test('has no float', () => {
    expect(paths(all.filter(({ schema }) => schema.type === 'number'))).toEqual([]);
  });

  test('says in each rule what to write, in one line', () => {
    for (const { schema } of all) {
      for (const { message } of schema['x-kubernetes-validations'] ?? []) {
        expect(message).not.toMatch(/\n|\.$/);
      }
    }
  });

  test('shows nothing of a new object but -1, so that no tool takes it for done', () => {
    for (const kind of definitions) {
      const schema = customResourceDefinition(kind).spec.versions[0]?.schema.openAPIV3Schema;
      expect(schema?.properties.status.default).toEqual({ observedGeneration: -1 });
    }
  });

  test('takes the longest message that is ever written', () => {
    const messages = all.filter(({ path }) => path.endsWith('.status.conditions[].message'));
    expect(messages.map(({ schema }) => schema.maxLength)).toEqual(definitions.map(() => MAX_MESSAGE_BYTES));
  });

  test('keeps conditions apart by type', () => {
    const conditions = all.filter(({ path }) => path.endsWith('.status.conditions'));
    expect(conditions).toHaveLength(definitions.length);
    for (const { schema } of conditions) {
      expect(schema['x-kubernetes-list-type']).toBe('map');
      expect(schema['x-kubernetes-list-map-keys']).toEqual(['type']);
    }
  });
});

describe('every kind', () => {
  test('ends its plain columns with Age', () => {
    for (const { columns } of definitions) {
      expect(columns.filter((column) => column.priority === undefined).at(-1)?.name).toBe('Age');
    }
  });

  test('selects and scales by fields that exist', () => {
    const known = new Set(paths(all));
    for (const { names, selectableFields, scale } of definitions) {
      const wanted = [...selectableFields, ...Object.values(scale ?? {})];
      for (const path of wanted) expect(known).toContain(`${names.kind}${path}`);
    }
  });

  test('shows columns of fields that exist', () => {
    const known = new Set(paths(all));
    for (const { names, columns } of definitions) {
      const plain = columns.filter(
        ({ jsonPath }) => !jsonPath.includes('[') && !jsonPath.startsWith('.metadata'),
      );
      for (const { jsonPath } of plain) expect(known).toContain(`${names.kind}${jsonPath}`);
    }
  });
});
