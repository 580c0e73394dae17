import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { editorSchemas, SCHEMA_LINE } from '../../scripts/generate/editor-schemas.ts';
import { definitions } from '../../src/api/v1alpha1/definitions.ts';
import { API_VERSION } from '../../src/api/v1alpha1/names.ts';

const FOLDER = join(REPOSITORY, 'deploy/samples');
const files = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'));
const manifest = z.strictObject({
  apiVersion: z.literal(API_VERSION),
  kind: z.string(),
  metadata: z.strictObject({ name: z.string() }),
  spec: z.unknown(),
});

describe('samples', () => {
  test('show at least fifteen ways of use', () => {
    expect(files.length).toBeGreaterThanOrEqual(15);
  });

  test.each(files)('%s begins with a sentence and holds objects that parse', (file) => {
    const text = readFileSync(join(FOLDER, file), 'utf8');
    expect(text.replace(SCHEMA_LINE, '')).toMatch(/^# [A-Z].*\n/);
    for (const document of parseAllDocuments(text)) {
      const { kind, spec } = manifest.parse(document.toJS());
      const definition = definitions.find(({ names }) => names.kind === kind);
      expect(definition?.spec.safeParse(spec).error, kind).toBeUndefined();
    }
  });
});

describe('schemas for editors', () => {
  const ajv = new Ajv({
    allErrors: true,
    allowUnionTypes: true,
    formats: { int32: true, int64: true, 'date-time': true },
  });
  const validators = new Map(
    editorSchemas().map(({ path, content }) => [path, ajv.compile(JSON.parse(content))] as const),
  );
  const pathOf = (kind: string) => `deploy/schemas/${kind.toLowerCase()}_v1alpha1.json`;

  test.each(files)('accept %s, whose first line names the schema of its kind', (file) => {
    const text = readFileSync(join(FOLDER, file), 'utf8');
    const url = SCHEMA_LINE.exec(text)?.[1];
    for (const document of parseAllDocuments(text)) {
      const object = document.toJS() as { readonly kind: string };
      expect(url).toMatch(new RegExp(`^https://.*/main/${pathOf(object.kind)}$`));
      const validate = validators.get(pathOf(object.kind));
      expect(validate?.(object) ? [] : validate?.errors).toEqual([]);
    }
  });

  test.each(files)('refuse a field of %s that is misspelled', (file) => {
    const text = readFileSync(join(FOLDER, file), 'utf8');
    for (const document of parseAllDocuments(text)) {
      const { spec, ...rest } = document.toJS() as { readonly kind: string; readonly spec: object };
      const validate = validators.get(pathOf(rest.kind));
      expect(validate?.({ ...rest, spec: { ...spec, imagee: 'x' } })).toBe(false);
    }
  });
});
