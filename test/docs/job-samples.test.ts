import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { gpuInstanceDefinition } from '../../src/api/v1alpha1/definitions.ts';
import { brokenRules } from '../../src/cli/manifests/admission-rules.ts';
import { commandLine } from '../cli/command-line.ts';

const FOLDER = join(REPOSITORY, 'examples/jobs');
const files = readdirSync(FOLDER);
const cli = commandLine();
afterAll(() => cli.leave());

/** Returns every value in a document, at any depth. */
function valuesIn(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [value];
  return [value, ...Object.values(value).flatMap(valuesIn)];
}

const valuesOf = (file: string): readonly unknown[] =>
  parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8')).flatMap((document) =>
    valuesIn(document.toJS()),
  );

const isText = (value: unknown): value is string => typeof value === 'string';
const linesOf = (file: string): readonly (readonly string[])[] =>
  valuesOf(file).flatMap((value) =>
    Array.isArray(value) && value.every(isText) && value[0] === 'job' ? [value] : [],
  );
/** GpuInstances that are text in another object. */
const instancesOf = (file: string): readonly { readonly spec: unknown }[] =>
  valuesOf(file).flatMap((value) =>
    isText(value) && value.includes('kind: GpuInstance') ? [parse(value)] : [],
  );

describe('samples of Jobs', () => {
  test.each(files)('%s begins with a sentence', (file) => {
    expect(readFileSync(join(FOLDER, file), 'utf8')).toMatch(/^# [A-Z].*\n/);
  });

  test.each(files.filter((file) => linesOf(file).length > 0))(
    '%s has a command line that the relay accepts',
    async (file) => {
      for (const line of linesOf(file)) {
        // Values of Tekton's parameters, and a file that only the Pod has.
        const words = line.map((word) =>
          word.replace(/\$\(params\.max-[a-z]+\)/, '1').replace(/\$\(.*\)/, 'a'),
        );
        if (words.some((word) => word.startsWith('--filename='))) continue;
        const { stderr } = await cli.run(words);
        // All that is missing here is a cluster.
        expect(stderr).toContain('No Kubernetes API');
      }
    },
  );

  test.each(files.filter((file) => instancesOf(file).length > 0))('%s has a valid GpuInstance', (file) => {
    for (const { spec } of instancesOf(file)) {
      const parsed = gpuInstanceDefinition.spec.parse(spec);
      expect(brokenRules(gpuInstanceDefinition, { spec: parsed })).toEqual([]);
    }
  });

  test('cover relays and plain GpuInstances', () => {
    expect(files.flatMap(linesOf).length).toBeGreaterThanOrEqual(5);
    expect(files.flatMap(instancesOf)).toHaveLength(2);
  });
});
