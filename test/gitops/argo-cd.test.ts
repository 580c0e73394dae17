import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { definitions } from '../../src/api/v1alpha1/definitions.ts';
import { progressOf } from '../../src/cli/objects/kstatus.ts';
import { runLua } from './lua.ts';

const FOLDER = join(REPOSITORY, 'deploy/gitops/argo-cd/resource_customizations/gpurental.dev');
const text = (...path: readonly string[]) => readFileSync(join(FOLDER, ...path), 'utf8');
const yamlFile = (...path: readonly string[]): unknown => parse(text(...path));

const healthTests = z.object({
  tests: z.array(
    z.object({ inputPath: z.string(), healthStatus: z.object({ status: z.string(), message: z.string() }) }),
  ),
});
const actionTests = z.object({
  discoveryTests: z.array(
    z.object({
      inputPath: z.string(),
      result: z.array(z.object({ name: z.string(), disabled: z.boolean() })),
    }),
  ),
  actionTests: z.array(
    z.object({ action: z.string(), inputPath: z.string(), expectedOutputPath: z.string() }),
  ),
});

/** Possible results of kstatus for each health status of Argo CD. */
const AGREES: Readonly<Record<string, readonly string[]>> = {
  Healthy: ['Current'],
  Suspended: ['Current'],
  Progressing: ['InProgress'],
  Degraded: ['Failed'],
};

describe.each(definitions.map(({ names }) => names.kind))('Argo CD and %s', (kind) => {
  const { tests } = healthTests.parse(yamlFile(kind, 'health_test.yaml'));

  test.each(tests)('is $healthStatus.status for $inputPath', ({ inputPath, healthStatus }) => {
    const object = yamlFile(kind, inputPath);
    expect(runLua(text(kind, 'health.lua'), object)).toEqual(healthStatus);
    expect(AGREES[healthStatus.status]).toContain(progressOf(object as never).state);
  });

  if (!existsSync(join(FOLDER, kind, 'actions'))) return;
  const actions = actionTests.parse(yamlFile(kind, 'actions', 'action_test.yaml'));

  test.each(actions.discoveryTests)('offers what makes sense for $inputPath', ({ inputPath, result }) => {
    const offered = runLua(text(kind, 'actions', 'discovery.lua'), yamlFile(kind, 'actions', inputPath));
    const expected = Object.fromEntries(result.map(({ name, disabled }) => [name, { disabled }]));
    expect(offered).toEqual(expected);
  });

  test.each(actions.actionTests)('$action', ({ action, inputPath, expectedOutputPath }) => {
    const changed = runLua(text(kind, 'actions', action, 'action.lua'), yamlFile(kind, 'actions', inputPath));
    expect(changed).toEqual(yamlFile(kind, 'actions', expectedOutputPath));
  });
});

test.each([
  ['retry', 'gpurental.dev/requested-at'],
  ['replace', 'gpurental.dev/replace-at'],
])('the action %s annotates the object with a time', (action, annotation) => {
  const object = yamlFile('GpuInstance', 'actions/testdata/running.yaml');
  const changed = runLua(text('GpuInstance', 'actions', action, 'action.lua'), object) as {
    metadata: { annotations: Record<string, string> };
  };
  // fengari leaves the "!" that asks for UTC in the text; Argo CD's Lua takes it.
  expect(changed.metadata.annotations[annotation]).toMatch(/^!?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
});

const recording = z.array(
  z.object({
    kstatus: z.string(),
    object: z.looseObject({
      kind: z.string(),
      metadata: z.looseObject({ name: z.string(), deletionTimestamp: z.string().optional() }),
    }),
  }),
);
const RECORDED = join(REPOSITORY, 'test/status-contract/recorded.json');
const recorded = recording.parse(JSON.parse(readFileSync(RECORDED, 'utf8')));
const health = z.object({ status: z.string(), message: z.string() });

describe('objects recorded on a real API server', () => {
  // Argo CD itself calls what is being deleted Progressing, whatever a script says.
  const judged = recorded.filter(({ object }) => object.metadata.deletionTimestamp === undefined);

  test.each(judged.map((one, index) => ({ ...one, index })))(
    '$index: $object.kind $object.metadata.name, which kstatus calls $kstatus, means the same to Argo CD',
    ({ object, kstatus }) => {
      const { status, message } = health.parse(
        runLua(text(object.kind, 'health.lua'), { spec: {}, ...object }),
      );
      expect(AGREES[status]).toContain(kstatus);
      expect(message).not.toBe('');
    },
  );
});
