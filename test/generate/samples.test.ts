import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
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
    expect(text).toMatch(/^# [A-Z].*\n/);
    for (const document of parseAllDocuments(text)) {
      const { kind, spec } = manifest.parse(document.toJS());
      const definition = definitions.find(({ names }) => names.kind === kind);
      expect(definition?.spec.safeParse(spec).error, kind).toBeUndefined();
    }
  });
});
