import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';

/* What the schemas of the charts refuse, because it would be rendered into something else. */

const group = z.object({ pattern: z.string() });
const operator = z.object({
  properties: z.object({
    admissionPolicies: z.object({ properties: z.object({ breakGlassGroup: group }) }),
  }),
});
const definitions = z.object({
  properties: z.object({ inUseGuard: z.object({ properties: z.object({ breakGlassGroup: group }) }) }),
});

const schemaOf = (chart: string): unknown =>
  JSON.parse(readFileSync(join(REPOSITORY, 'charts', chart, 'values.schema.json'), 'utf8'));

const patterns = [
  operator.parse(schemaOf('gpu-rental-operator')).properties.admissionPolicies.properties,
  definitions.parse(schemaOf('gpu-rental-operator-crds')).properties.inUseGuard.properties,
].map(({ breakGlassGroup }) => new RegExp(breakGlassGroup.pattern, 'u'));

describe('the break-glass group', () => {
  test.each(['gpurental.dev:break-glass', 'system:masters', 'oidc:/Platform Team', 'Wächter'])(
    'may be %s',
    (name) => {
      expect(patterns.every((pattern) => pattern.test(name))).toBe(true);
    },
  );

  test.each(['', ' ', "o'connor", 'CORP\\breakglass', 'say "no"', 'a: b', 'a #b', 'a\nb', '{{ x }}'])(
    'is not %j, which the policies would spell in another way and never let through',
    (name) => {
      expect(patterns.some((pattern) => pattern.test(name))).toBe(false);
    },
  );
});

describe('a key with nothing behind it, which Helm takes as "without the default"', () => {
  const needed = z.object({ required: z.array(z.string()).default([]) });
  const section = (...path: readonly string[]): readonly string[] => {
    let found = schemaOf('gpu-rental-operator');
    for (const name of path)
      found = z.object({ properties: z.record(z.string(), z.unknown()) }).parse(found).properties[name];
    return needed.parse(found).required;
  };

  test('is refused where templates would render no port, no name, no way out of an emergency', () => {
    expect(section()).toEqual(expect.arrayContaining(['metrics', 'health', 'logLevel', 'replicas']));
    expect(section('metrics')).toContain('port');
    expect(section('image')).toContain('repository');
    expect(section('admissionPolicies')).toContain('breakGlassGroup');
    expect(section('inUseGuard')).toContain('enabled');
    expect(section('networkPolicy', 'marketplace')).toContain('ports');
  });

  test('is taken where the default says nothing either, and where people take a default away', () => {
    expect(section()).not.toEqual(expect.arrayContaining(['priorityClassName']));
    for (const name of ['resources', 'nodeSelector', 'hostUsers', 'affinity'])
      expect(section()).not.toContain(name);
    expect(section('workerReports')).not.toContain('enabled');
  });
});
