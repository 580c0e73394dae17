import { definitions, type KindDefinition } from '../../src/api/v1alpha1/definitions.ts';
import type { EndpointGroupSpec } from '../../src/api/v1alpha1/endpoint-group.ts';
import {
  API_VERSION,
  annotationMeanings,
  endpointGroupResource,
  gpuInstanceResource,
} from '../../src/api/v1alpha1/names.ts';
import { statusForms } from '../../src/api/v1alpha1/status-codec.ts';
import { ownValue } from '../../src/lib/json.ts';
import type { Artifact } from './artifact.ts';
import { groupChangesTable, instanceChangesTable } from './changes-table.ts';
import { fieldExample, flow } from './field-examples.ts';
import { annotatedSchema, type JsonSchema } from './json-schema.ts';

/** An option of the marketplace's own endpoint groups, and the corresponding field. */
interface EndpointOption {
  readonly option: string;
  readonly field: keyof EndpointGroupSpec;
  readonly difference: string;
}

/** The options of specification 4.9 under Kubernetes rules. */
const endpointOptions: readonly EndpointOption[] = [
  { option: '--min_load', field: 'minLoad', difference: 'a decimal in quotes' },
  { option: '--min_cold_load', field: 'minColdLoad', difference: 'a decimal in quotes' },
  { option: '--target_util', field: 'targetUtilizationPercent', difference: '90 instead of 0.9' },
  { option: '--cold_mult', field: 'coldMultiplier', difference: 'a decimal in quotes' },
  { option: '--cold_workers', field: 'coldWorkers', difference: 'none' },
  { option: '--max_workers', field: 'maxWorkers', difference: 'none' },
  {
    option: '--endpoint_name',
    field: 'endpointName',
    difference: "the object's name when left out; names a Service",
  },
  { option: '--max_queue_time', field: 'maxQueueTime', difference: 'a duration, 30s instead of 30.0' },
  { option: '--target_queue_time', field: 'targetQueueTime', difference: 'a duration, 10s instead of 10.0' },
  {
    option: '--inactivity_timeout',
    field: 'inactivityTimeout',
    difference: 'a duration; a negative number becomes scaleToZero: Never',
  },
];

/** Schemas that another page explains, with that page. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'EndpointGroup spec.template.spec':
    'the fields of a [GpuInstance spec](gpuinstance.md#spec); `service.enabled` is false here unless set',
};

interface Section {
  readonly path: string;
  readonly schema: JsonSchema;
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const code = (text: string): string => `\`${text}\``;

function typeOf(schema: JsonSchema): string {
  if (schema['x-kubernetes-int-or-string']) return 'int or string';
  if (schema.enum) return schema.enum.map((word) => code(String(word))).join(' ');
  if (schema.type === 'array') return `list of ${schema.items ? typeOf(schema.items) : 'values'}`;
  if (schema.additionalProperties) return 'map of strings';
  if (schema.format === 'date-time') return 'time';
  if (schema['x-form']) return schema['x-form'];
  return schema.type ?? 'object';
}

function bounds(schema: JsonSchema): readonly string[] {
  const between = (name: string, low: number | undefined, high: number | undefined): string[] => {
    if (low !== undefined && high !== undefined) return [`${name} ${low} to ${high}`];
    if (low !== undefined) return [`${name} at least ${low}`];
    return high === undefined ? [] : [`${name} at most ${high}`];
  };
  const shortest = schema.minLength === 1 ? undefined : schema.minLength;
  return [
    ...between('value', schema.minimum, schema.maximum),
    ...between('length', shortest, schema.maxLength),
    ...between('items', undefined, schema.maxItems),
  ];
}

function rulesOf(schema: JsonSchema): readonly string[] {
  const own = (schema['x-kubernetes-validations'] ?? []).map((rule) => rule.message);
  const ofItems = (schema.items?.['x-kubernetes-validations'] ?? []).map((rule) => `each: ${rule.message}`);
  const merge = schema['x-kubernetes-list-map-keys']
    ? [`one entry for each ${schema['x-kubernetes-list-map-keys'].join(' and ')}`]
    : [];
  return [...bounds(schema), ...merge, ...own, ...(schema.items?.properties ? [] : ofItems)];
}

/** Shown for a field without a default. */
const NONE = '–';

function defaultOf(schema: JsonSchema): string {
  return schema.default === undefined ? NONE : code(cell(flow(schema.default)));
}

interface Row {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly required: boolean;
  readonly example: string;
}

function row({ name, schema, required, example }: Row): string {
  const rules = [...(required ? ['required'] : []), ...rulesOf(schema)];
  const cells = [
    code(name),
    typeOf(schema),
    defaultOf(schema),
    rules.length > 0 ? cell(rules.join('; ')) : NONE,
    code(cell(example)),
    cell(schema.description ?? ''),
  ];
  return `| ${cells.join(' | ')} |`;
}

/** Returns the objects inside a schema, outermost first, each with its path. */
function sections(kind: string, path: string, schema: JsonSchema): readonly Section[] {
  if (ELSEWHERE[`${kind} ${path}`] !== undefined) return [];
  const children = Object.entries(schema.properties ?? {}).flatMap(([name, child]) => {
    const item = child.type === 'array' ? child.items : child;
    const childPath = `${path}.${name}${child.type === 'array' ? '[]' : ''}`;
    return item?.properties ? sections(kind, childPath, item) : [];
  });
  return [{ path, schema }, ...children];
}

function section(kind: string, { path, schema }: Section): string {
  const required = new Set(schema.required ?? []);
  const rows = Object.entries(schema.properties ?? {}).map(([name, child]) => {
    const elsewhere = ELSEWHERE[`${kind} ${path}.${name}`];
    if (elsewhere !== undefined)
      return `| ${code(name)} | object | ${NONE} | as there | as there | ${elsewhere} |`;
    const example = fieldExample({ kind, path: `${path}.${name}`, schema: child });
    return row({ name, schema: child, required: required.has(name), example });
  });
  const rules = (schema['x-kubernetes-validations'] ?? []).map((rule) => `- ${rule.message}`);
  return [
    `## ${path}`,
    '',
    ...(schema.description ? [schema.description, ''] : []),
    ...(rules.length > 0 ? ['Rules of the whole:', '', ...rules, ''] : []),
    '| Field | Type | Default | Rules | Example | Meaning |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

/** Keys of the record. */
function recordTable({ names }: KindDefinition): readonly string[] {
  const form = ownValue(statusForms, names.kind);
  if (!form) return [];
  const rows = Object.entries(annotatedSchema(form.record).properties ?? {}).map(
    ([name, schema]) => `| ${code(name)} | ${typeOf(schema)} | ${cell(schema.description ?? '')} |`,
  );
  return [
    '## status.record',
    '',
    'Version 1, beside `v`.',
    '',
    '| Key | Type | Meaning |',
    '|---|---|---|',
    ...rows,
    '',
  ];
}

function columnsTable(kind: KindDefinition): string {
  const rows = kind.columns.map(
    (column) =>
      `| ${column.name} | ${column.priority ? 'wide' : 'always'} | ${code(cell(column.jsonPath))} | ${column.description} |`,
  );
  return [
    '## Columns of kubectl get',
    '',
    '| Column | Shown | From | Meaning |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function optionsTable(): string {
  const rows = endpointOptions.map(
    ({ option, field, difference }) => `| ${code(option)} | ${code(`spec.${field}`)} | ${difference} |`,
  );
  return [
    "## The marketplace's options",
    '',
    "The options of the marketplace's own endpoint groups, and the fields that stand for them.",
    '',
    '| Option | Field | Difference |',
    '|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function annotationsTable(): string {
  const rows = Object.entries(annotationMeanings).map(([name, meaning]) => `| ${code(name)} | ${meaning} |`);
  return ['## Annotations', '', '| Annotation | Meaning |', '|---|---|', ...rows, ''].join('\n');
}

function page(kind: KindDefinition): Artifact {
  const { names } = kind;
  const blocks = [
    `# ${names.kind}`,
    '',
    `${code(API_VERSION)}, short name ${names.shortNames.map(code).join(', ')}. ${kind.description}`,
    '',
    ...(kind.rules.length > 0
      ? ['Rules of the object:', '', ...kind.rules.map((rule) => `- ${rule.message}`), '']
      : []),
    ...sections(names.kind, 'spec', annotatedSchema(kind.spec)).map((part) => section(names.kind, part)),
    ...sections(names.kind, 'status', annotatedSchema(kind.status)).map((part) => section(names.kind, part)),
    ...(names.kind === gpuInstanceResource.kind ? [instanceChangesTable()] : []),
    ...(names.kind === endpointGroupResource.kind ? [groupChangesTable()] : []),
    ...recordTable(kind),
    columnsTable(kind),
    ...(names.kind === endpointGroupResource.kind ? [optionsTable()] : []),
    annotationsTable(),
  ];
  return { path: `docs/reference/${names.singular}.md`, content: `${GENERATED_PAGE}${blocks.join('\n')}` };
}

const GENERATED_PAGE =
  '<!-- Generated by scripts/generate.ts from src/api. Do not edit: run `make generate`. -->\n\n';

/** Returns one page for each kind: every field with type, default, rules and example. */
export function kindPages(): readonly Artifact[] {
  return definitions.map(page);
}
