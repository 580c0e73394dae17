import { expect, test } from 'vitest';
import { gpuInstanceChanges } from '../../scripts/generate/changes-table.ts';
import { annotatedSchema } from '../../scripts/generate/json-schema.ts';
import { gpuInstanceSpec } from '../../src/api/v1alpha1/gpu-instance.ts';

const fieldsThat = (effect: string): readonly string[] =>
  gpuInstanceChanges()
    .filter((change) => change.effect === effect)
    .map(({ field }) => field)
    .toSorted();

test('every field says what its change does', () => {
  const fields = Object.keys(annotatedSchema(gpuInstanceSpec).properties ?? {});
  expect(gpuInstanceChanges().map(({ field }) => field)).toEqual(fields);
});

test('what a rental sends replaces the machine, and nothing else does', () => {
  expect(fieldsThat('replaces the machine; its disk is lost')).toEqual(
    ['disk', 'env', 'image', 'imagePullSecretRef', 'onStart', 'onStartFrom', 'ports', 'ssh'].toSorted(),
  );
});

test('what the CRD refuses to change is named so', () => {
  expect(fieldsThat('is refused')).toEqual(['accountRef', 'adopt']);
});
