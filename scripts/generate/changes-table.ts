import { parse } from 'yaml';
import type { EndpointGroup } from '../../src/api/v1alpha1/endpoint-group.ts';
import { endpointGroupSpec } from '../../src/api/v1alpha1/endpoint-group-spec.ts';
import { type GpuInstanceSpec, gpuInstanceSpec } from '../../src/api/v1alpha1/gpu-instance.ts';
import { driftOf, type MachineFacts, specHash } from '../../src/api/v1alpha1/machine-drift.ts';
import { API_VERSION, annotations } from '../../src/api/v1alpha1/names.ts';
import { type FactValue, OFFER_FIELD_ROWS, type OfferField } from '../../src/api/v1alpha1/offer-fields.ts';
import { linkOfGroup } from '../../src/api/v1alpha1/worker-link.ts';
import { isOutdated, templateHash } from '../../src/controllers/endpoint-group/public.ts';
import { fieldExample } from './field-examples.ts';
import { annotatedSchema, type JsonSchema } from './json-schema.ts';

/** Effect of a changed field of a spec on running machines. */
export type ChangeEffect =
  | 'is refused'
  | 'replaces the machine; its disk is lost'
  | 'replaces the machine if it does not satisfy it and no other alternative; its disk is lost'
  | 'keeps the machine'
  | 'replaces the workers whose machine differs; their disks are lost'
  | 'keeps the workers';

export interface FieldChange {
  readonly field: string;
  readonly effect: ChangeEffect;
  /** Further effects; empty without any. */
  readonly detail: string;
}

/** Fields whose change does more than to be followed from the next pass on. */
const INSTANCE_DETAILS: Readonly<Record<string, string>> = {
  powerState: 'stops or starts it; its disk stays and bills',
  paused: 'nothing is rented or replaced until the pause ends',
  replacement: 'used when the machine fails next',
  timeouts: 'used for the present machine too',
  maxLifetime: 'applies the deletion policy once it is reached',
  maxTotalCost: 'applies the deletion policy once it is reached',
  idle: 'an idle time that has begun counts; the warning comes before its end',
  onPriceAbove:
    'with `Replace` and a price above `maxPricePerHour`, replaces it once a cheaper one can be rented',
  onContractEnd: 'used when the rental contract has ended and the machine stands still',
  onVanish: 'used when the machine is gone from the marketplace without the operator',
  deletionPolicy: 'used when the object is deleted',
  readinessProbe: 'Ready follows the new probe',
  service: 'the Service is made or deleted',
  updateStrategy:
    'with `OnDelete` no change of this table replaces the machine: the next one is by the new spec',
  'offers[].maxPricePerHour':
    'used by the next rental; what happens to a machine that costs more is `onPriceAbove`',
  'offers[].bid': 'used by the next rental: a raised bid is not sent to the present machine',
  'offers[].allowUnknownPrice': 'used by the next rental',
  'offers[].order': 'used by the next rental',
};

const GROUP_DETAILS: Readonly<Record<string, string>> = {
  endpointName: 'the Service of that name is made, and the former one deleted if no other group has it',
  template:
    'by field as of a [GpuInstance](gpuinstance.md#what-a-change-does); other workers take the text over in place',
  gateway: 'only `enabled` and `link` change how workers are reached; all else is used at once',
  maxWorkers: 'workers above it leave',
  maxSpendPerHour: 'cuts new rentals and wakes, never running workers',
  replicas: 'hot workers are woken, rented, or drained until so many are there',
  updateStrategy:
    'with `OnDelete` no change of this table replaces a worker: new ones are by the new template',
  pause: 'while it lasts, a new template replaces no worker',
};

/** Returns every field of a GpuInstance with its effect, by the operator's own comparison. */
export function gpuInstanceChanges(): readonly FieldChange[] {
  const { properties = {} } = annotatedSchema(gpuInstanceSpec);
  return Object.entries(properties).flatMap(([field, schema]): readonly FieldChange[] => {
    const alternative = field === 'offers' ? schema.items?.properties : undefined;
    if (!alternative)
      return [{ field, effect: effectOn(field, schema), detail: INSTANCE_DETAILS[field] ?? '' }];
    return Object.entries(alternative).map(([name, inner]) => ({
      field: `offers[].${name}`,
      effect: effectOnOffers(name, inner),
      detail: INSTANCE_DETAILS[`offers[].${name}`] ?? '',
    }));
  });
}

/** Returns every field of an EndpointGroup with its effect. */
export function endpointGroupChanges(): readonly FieldChange[] {
  const { properties = {} } = annotatedSchema(endpointGroupSpec);
  return Object.entries(properties).map(([field, schema]) => ({
    field,
    effect: effectOnWorkers(field, schema),
    detail: GROUP_DETAILS[field] ?? '',
  }));
}

function isImmutable({ description, 'x-kubernetes-validations': rules = [] }: JsonSchema): boolean {
  return description?.endsWith('Immutable.') === true || rules.some(({ rule }) => rule === 'self == oldSelf');
}

function effectOn(field: string, schema: JsonSchema): ChangeEffect {
  if (isImmutable(schema)) return 'is refused';
  const before = specWith({});
  const machine = { specHash: specHash(before), facts: [] };
  const differs = valuesOf(`spec.${field}`, schema).some(
    (value) => driftOf(machine, specWith({ [field]: value })) !== undefined,
  );
  return differs ? 'replaces the machine; its disk is lost' : 'keeps the machine';
}

/**
 * Facts of a machine that satisfies every field of an alternative, each with a value that does not satisfy it. Throws
 * for a field whose values request nothing: the page would report that its change keeps the machine.
 */
function factsOfMachine(): Readonly<Record<string, readonly [string, string]>> {
  const alternative = annotatedSchema(gpuInstanceSpec).properties?.['offers']?.items?.properties ?? {};
  return Object.fromEntries(
    OFFER_FIELD_ROWS.filter(([, { asks }]) => asks).map(([name, row]) => {
      const schema = alternative[name];
      const values = schema ? valuesOf(`spec.offers[].${name}`, schema) : [];
      const ask = values.map((value) => row.asks?.(value, 0)).find((each) => each !== undefined);
      if (ask === undefined) throw new Error(`no value of spec.offers[].${name} requests anything`);
      const [wanted = null] = [ask.value].flat();
      return [row.fact, [String(wanted), String(lacking(row, wanted))]];
    }),
  );
}

/** Returns a value that does not satisfy a requested one. */
function lacking({ compares, type }: OfferField, wanted: FactValue): FactValue {
  if (type === 'text') return `not ${wanted}`;
  if (type === 'boolean') return wanted !== true;
  return compares === 'atMost' ? Number(wanted) + 1 : Number(wanted) - 1;
}

const FACTS = factsOfMachine();

function machines(filtered: string | undefined): readonly MachineFacts[] {
  const known = { ...FACTS, ...(filtered && { [filtered]: ['0', '1000000'] }) };
  const usual = Object.entries(known).map(([field, [value = '']]) => ({ field, value }));
  const others = Object.entries(known).map(([name, [, other = '']]) =>
    usual.map(({ field, value }) => ({ field, value: field === name ? other : value })),
  );
  return [usual, ...others];
}

/**
 * Returns the effect of an alternative's field: a replacement if some machine satisfies it with one value and not with
 * another.
 */
function effectOnOffers(name: string, schema: JsonSchema): ChangeEffect {
  const values = valuesOf(`spec.offers[].${name}`, schema);
  const [first] = Array.isArray(values[0]) ? values[0] : [];
  const filtered = name === 'filters' ? String(Object(first).field) : undefined;
  const isSatisfied = (facts: MachineFacts, value: unknown) => {
    const spec = specWith({ offers: [{ maxPricePerHour: '1', [name]: value }] });
    return driftOf({ specHash: specHash(spec), facts }, spec) === undefined;
  };
  const differs = machines(filtered).some(
    (facts) => new Set([undefined, ...values].map((value) => isSatisfied(facts, value))).size > 1,
  );
  return differs
    ? 'replaces the machine if it does not satisfy it and no other alternative; its disk is lost'
    : 'keeps the machine';
}

function effectOnWorkers(field: string, schema: JsonSchema): ChangeEffect {
  if (isImmutable(schema)) return 'is refused';
  const before = groupWith({});
  const worker = {
    templateHash: templateHash(before),
    object: {
      apiVersion: before.apiVersion,
      kind: 'GpuInstance' as const,
      metadata: { name: 'worker', annotations: { [annotations.link]: linkOfGroup(before) } },
      spec: before.spec.template.spec,
    },
  };
  const changes =
    field === 'template' ? [templateOf('registry.example/after:1')] : valuesOf(`spec.${field}`, schema);
  const differs = changes.some((value) => {
    const after = groupWith({ [field]: value });
    return isOutdated(worker, { templateHash: templateHash(after), spec: after.spec });
  });
  return differs ? 'replaces the workers whose machine differs; their disks are lost' : 'keeps the workers';
}

/** Values that a field takes: its example, each of its choices, and an object with each choice of its fields. */
function valuesOf(path: string, schema: JsonSchema): readonly unknown[] {
  const choices = choicesOf(schema);
  if (choices.length > 0) return choices;
  const example: unknown = parse(fieldExample({ kind: '', path, schema }));
  if (typeof example === 'number') return [example, example + 1];
  const around: unknown = schema.required ? example : {};
  const inner = Object.entries(schema.properties ?? {}).flatMap(([name, field]) =>
    choicesOf(field).map((choice) => ({ ...Object(around), [name]: choice })),
  );
  return [example, ...inner];
}

function choicesOf({ type, enum: choices = [] }: JsonSchema): readonly unknown[] {
  return type === 'boolean' ? [true, false] : choices;
}

function specWith(change: Readonly<Record<string, unknown>>): GpuInstanceSpec {
  return gpuInstanceSpec.parse({
    image: 'registry.example/before:1',
    offers: [{ maxPricePerHour: '1' }],
    ...change,
  });
}

function templateOf(image: string) {
  return { spec: { image, offers: [{ maxPricePerHour: '1' }] } };
}

function groupWith(change: Readonly<Record<string, unknown>>): EndpointGroup {
  return {
    apiVersion: API_VERSION,
    kind: 'EndpointGroup',
    metadata: { name: 'group' },
    spec: endpointGroupSpec.parse({ template: templateOf('registry.example/before:1'), ...change }),
  };
}

/** Returns the table for the page of GpuInstance. */
export function instanceChangesTable(): string {
  return table(
    'By the comparison that the operator decides with. `gpu-rent diff -f FILE` says it for a manifest and the machine that is there, and where the chart has its policies (`admissionPolicies.warnOfReplacement`) the API server warns as the edit is applied. A changed Secret is used at the next rental.',
    gpuInstanceChanges(),
  );
}

/** Returns the table for the page of EndpointGroup. */
export function groupChangesTable(): string {
  return table(
    'By the comparison that the operator decides with. Workers are replaced `updateStrategy.maxUnavailable` at a time, each after it is drained. `gpu-rent diff -f FILE` says which, and the API server warns as of a GpuInstance.',
    endpointGroupChanges(),
  );
}

function table(introduction: string, changes: readonly FieldChange[]): string {
  const rows = changes.map(({ field, effect, detail }) => `| \`${field}\` | ${effect} | ${detail || '–'} |`);
  return [
    ...['## What a change does', '', introduction, ''],
    ...['| Field of spec | A change | Besides |', '|---|---|---|', ...rows, ''],
  ].join('\n');
}
