import { parse } from 'yaml';
import { type GpuInstanceSpec, gpuInstanceSpec } from '../../src/api/v1alpha1/gpu-instance.ts';
import { driftOf, specHash } from '../../src/api/v1alpha1/machine-drift.ts';
import { fieldExample } from './field-examples.ts';
import { annotatedSchema, type JsonSchema } from './json-schema.ts';

/** What a change of a field of a GpuInstance spec does to the machine that runs. */
export type ChangeEffect =
  | 'is refused'
  | 'replaces the machine; its disk is lost'
  | 'replaces the machine if it satisfies no alternative any more; its disk is lost'
  | 'keeps the machine';

export interface FieldChange {
  readonly field: string;
  readonly effect: ChangeEffect;
  /** What follows beside that; empty where nothing does. */
  readonly detail: string;
}

/** Fields whose change does more than to be followed from the next pass on. */
const DETAILS: Readonly<Record<string, string>> = {
  powerState: 'stops or starts it; its disk stays and bills',
  paused: 'nothing is rented or replaced until the pause ends',
  replacement: 'used when the machine fails next',
  timeouts: 'used for the present machine too',
  maxLifetime: 'applies the deletion policy once it is reached',
  maxTotalCost: 'applies the deletion policy once it is reached',
  readinessProbe: 'Ready follows the new probe',
  service: 'the Service is made or deleted',
  updateStrategy:
    'with `OnDelete` no change of this table replaces the machine: the next one is by the new spec',
  offers: 'prices, their order and further alternatives never replace it',
};

/** Every field, by the comparison that the operator decides with. */
export function gpuInstanceChanges(): readonly FieldChange[] {
  const { properties = {} } = annotatedSchema(gpuInstanceSpec);
  return Object.entries(properties).map(([field, schema]) => ({
    field,
    effect: effectOf(field, schema),
    detail: DETAILS[field] ?? '',
  }));
}

function effectOf(field: string, schema: JsonSchema): ChangeEffect {
  if (schema.description?.endsWith('Immutable.')) return 'is refused';
  if (field === 'offers')
    return 'replaces the machine if it satisfies no alternative any more; its disk is lost';
  const before = specWith({});
  const changed = specWith({
    [field]: parse(fieldExample({ kind: 'GpuInstance', path: `spec.${field}`, schema })),
  });
  const drift = driftOf({ specHash: specHash(before), facts: [] }, changed);
  return drift === undefined ? 'keeps the machine' : 'replaces the machine; its disk is lost';
}

function specWith(change: Readonly<Record<string, unknown>>): GpuInstanceSpec {
  return gpuInstanceSpec.parse({
    image: 'registry.example/before:1',
    offers: [{ maxPricePerHour: '1' }],
    ...change,
  });
}

/** For the page of the kind. */
export function changesTable(): string {
  const rows = gpuInstanceChanges().map(
    ({ field, effect, detail }) => `| \`${field}\` | ${effect} | ${detail || '–'} |`,
  );
  return [
    '## What a change does',
    '',
    'By the comparison that the operator decides with. `gpu-rent plan -f FILE` says it for a manifest and the machine that is there, and where the chart has its policies (`admissionPolicies.warnOfReplacement`) the API server warns as the edit is applied. A changed Secret is used at the next rental. In an EndpointGroup the same fields of the template decide which workers are drained and replaced (`updateStrategy`).',
    '',
    '| Field of spec | A change | Besides |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
