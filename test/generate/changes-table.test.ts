import { describe, expect, test } from 'vitest';
import {
  type ChangeEffect,
  endpointGroupChanges,
  type FieldChange,
  gpuInstanceChanges,
} from '../../scripts/generate/changes-table.ts';
import { annotatedSchema } from '../../scripts/generate/json-schema.ts';
import { endpointGroupSpec } from '../../src/api/v1alpha1/endpoint-group-spec.ts';
import { gpuInstanceSpec } from '../../src/api/v1alpha1/gpu-instance.ts';
import { OFFER_FIELD_ROWS } from '../../src/api/v1alpha1/offer-fields.ts';

const fieldsThat = (effect: ChangeEffect, changes: readonly FieldChange[] = gpuInstanceChanges()) =>
  changes
    .filter((change) => change.effect === effect)
    .map(({ field }) => field)
    .toSorted();

test.each([
  ['GpuInstance', gpuInstanceSpec, gpuInstanceChanges()],
  ['EndpointGroup', endpointGroupSpec, endpointGroupChanges()],
] as const)('every field of a %s says what its change does', (_, schema, changes) => {
  const fields = Object.keys(annotatedSchema(schema).properties ?? {});
  expect([...new Set(changes.map(({ field }) => field.split('[]')[0]))]).toEqual(fields);
});

describe('of a GpuInstance', () => {
  test('what a rental sends replaces the machine, and nothing else does', () => {
    expect(fieldsThat('replaces the machine; its disk is lost')).toEqual(
      [
        'args',
        'command',
        'disk',
        'entrypoint',
        'env',
        'image',
        'imagePullSecretRef',
        'onStart',
        'onStartFrom',
        'ports',
        'ssh',
      ].toSorted(),
    );
  });

  test('what an alternative requires of the machine replaces it if it is not so; prices and order do not', () => {
    const requirements = fieldsThat(
      'replaces the machine if it does not satisfy it and no other alternative; its disk is lost',
    );
    const fields = OFFER_FIELD_ROWS.flatMap(([name, { asks }]) => (asks ? [name] : []));
    expect(fields.length).toBeGreaterThan(7);
    expect(requirements).toEqual([...fields, 'filters'].map((field) => `offers[].${field}`).toSorted());
  });

  test('what the CRD refuses to change is named so', () => {
    expect(fieldsThat('is refused')).toEqual(['accountRef', 'adopt', 'completion']);
  });
});

test('of an EndpointGroup, the template and the link of the gateway replace workers', () => {
  const effect = 'replaces the workers whose machine differs; their disks are lost';
  expect(fieldsThat(effect, endpointGroupChanges())).toEqual(['gateway', 'template']);
});
