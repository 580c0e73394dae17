import type * as z from 'zod';
import type { GpuInstanceSpec } from '../../api/v1alpha1/gpu-instance.ts';
import { API_VERSION, GROUP, marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import { accountKey, accountRefOf } from '../../instance/account-ref.ts';
import { KUBECTL_YAML } from '../../lib/kubectl-yaml.ts';
import type { CommandContext, CommandInput } from '../command.ts';
import { CommandError, usageError } from '../command-error.ts';
import { kindNamed } from '../objects/kind-spelling.ts';
import type { ObjectName } from '../objects/object-name.ts';
import { listOption } from '../option-values.ts';
import { readTextFile } from '../secrets/secret-input.ts';

/** A machine that a manifest requests; a group requests as many as its load needs. */
export interface PlannedObject {
  /** e.g. `gpui/trainer`. */
  readonly object: string;
  readonly namespace: string | undefined;
  readonly spec: GpuInstanceSpec;
  /** True if its group creates no worker (`spec.pause.scaleUp`). */
  readonly isHeld: boolean;
  /** True if its account is applied together with it. */
  readonly bringsAccount: boolean;
  /** The manifest in the file. */
  readonly manifest: Manifest;
}

/** The option of commands that read manifests. */
export const FILE_OPTION = {
  flags: '-f, --filename <file>',
  description: 'A manifest; - is stdin; repeatable.',
  repeatable: true,
} as const;

/** Returns the machines that the files of {@link FILE_OPTION} request. Throws a usage error without a file. */
export async function plannedIn(
  { options }: CommandInput,
  context: CommandContext,
): Promise<readonly PlannedObject[]> {
  const files = listOption(options, '--filename');
  if (files.length === 0) throw usageError('No manifest was given.', 'Give -f file.yaml, or -f - for stdin.');
  const texts = await Promise.all(
    files.map(async (file) => ({ file, text: await readTextFile(file, '-f', context) })),
  );
  return plannedObjects(texts);
}

/** A manifest that was read. */
interface ManifestText {
  readonly text: string;
  readonly file: string;
}

/** Returns the machines that YAML texts request together. Throws a usage error that names an invalid field. */
export async function plannedObjects(texts: readonly ManifestText[]): Promise<readonly PlannedObject[]> {
  const values = (await Promise.all(texts.map(manifestValues))).flat();
  const accounts = new Set(values.flatMap(({ value }) => accountIn(value)));
  const planned: PlannedObject[] = [];
  const faults: CommandError[] = [];
  for (const { value, file } of values)
    if (isPlannable(value))
      await plannedOf(value, { file, accounts }).then((one) => planned.push(one), collectIn(faults));
  const [fault] = faults;
  if (fault) throw usageError(faults.map(({ message }) => message).join('\n'), fault.remedy);
  if (planned.length > 0) return planned;
  const files = texts.map(({ file }) => file).join(', ');
  throw usageError(`${files} holds no GpuInstance and no EndpointGroup.`);
}

async function manifestValues({ text, file }: ManifestText) {
  return (await valuesIn(text, file)).map((value) => ({ value, file }));
}

/**
 * Returns the namespace and name of a MarketplaceAccount in the form of {@link accountKey}; empty for any other object.
 */
function accountIn(value: unknown): readonly string[] {
  const { kind, metadata } = Object(value) as Pick<Manifest, 'metadata'> & { readonly kind?: unknown };
  if (kind !== marketplaceAccountResource.kind) return [];
  return [accountKey({ namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' })];
}

/**
 * Throws a usage error that names every field for which an API server with these CRDs would refuse one of the objects.
 */
export async function refuseBroken(planned: readonly PlannedObject[]): Promise<void> {
  if (planned.length === 0) return;
  const [{ brokenRules }, definitions] = await Promise.all([
    import('../manifests/admission-rules.ts'),
    import('../../api/v1alpha1/definitions.ts'),
  ]);
  const faults = planned.flatMap(({ object, manifest }) => {
    const { kind, metadata, spec } = manifest;
    const definition =
      kind === 'EndpointGroup' ? definitions.endpointGroupDefinition : definitions.gpuInstanceDefinition;
    const broken = brokenRules(definition, { metadata, spec: definition.spec.parse(spec) });
    const issues = broken.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`);
    return issues.length === 0 ? [] : [invalidManifest(object, kind, issues)];
  });
  const [fault] = faults;
  if (fault) throw usageError(faults.map(({ message }) => message).join('\n'), fault.remedy);
}

/**
 * Returns the objects of the operator's kinds that a YAML text names, whatever their specs contain. Throws a usage
 * error if there are none.
 */
export async function objectsNamedIn(text: string, file: string): Promise<readonly ObjectName[]> {
  const named = (await valuesIn(text, file)).flatMap((value): readonly ObjectName[] => {
    const { kind, apiVersion, metadata } = Object(value) as Partial<Record<string, unknown>>;
    const isOfGroup = typeof apiVersion === 'string' && apiVersion.startsWith(`${GROUP}/`);
    const resource = isOfGroup && typeof kind === 'string' ? kindNamed(kind) : undefined;
    const { name, namespace } = Object(metadata) as Partial<Record<string, unknown>>;
    if (!resource || typeof name !== 'string') return [];
    return [{ resource, name, namespace: typeof namespace === 'string' ? namespace : undefined }];
  });
  if (named.length > 0) return named;
  throw usageError(`${file} names no GpuInstance, EndpointGroup, MarketplaceAccount or SpendBudget.`);
}

/** Returns every object of every document. */
async function valuesIn(text: string, file: string): Promise<readonly unknown[]> {
  const { parseAllDocuments } = await import('yaml');
  return parseAllDocuments(text, KUBECTL_YAML).flatMap((document) => {
    const [problem] = 'errors' in document ? document.errors : [];
    if (problem) throw usageError(`${file}: ${problem.message}`);
    return objectsIn(plainValue(document, file));
  });
}

/** Collects faults: an invalid object does not hide the faults of the next. */
function collectIn(faults: CommandError[]): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof CommandError)) throw error;
    faults.push(error);
  };
}

/** Resolves aliases. The parser reports aliases without a target, or without an end, only here. */
function plainValue(document: { toJS(): unknown }, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw usageError(`${file}: ${message}.`, 'Write the values out in place of aliases.');
  }
}

/** Returns the items of a list of objects, as kubectl prints and accepts it. */
function objectsIn(value: unknown): readonly unknown[] {
  const isList = typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'List';
  return isList && 'items' in value && Array.isArray(value.items) ? value.items : [value];
}

/** An object of the operator's kinds in a file: the parts in use. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: 'GpuInstance' | 'EndpointGroup';
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
}

function isPlannable(value: unknown): value is Manifest {
  if (typeof value !== 'object' || value === null || !('kind' in value) || !('apiVersion' in value))
    return false;
  const { kind, apiVersion } = value;
  const isOfGroup = typeof apiVersion === 'string' && apiVersion.startsWith(`${GROUP}/`);
  return isOfGroup && (kind === 'GpuInstance' || kind === 'EndpointGroup');
}

async function plannedOf(
  manifest: Manifest,
  { file, accounts }: { readonly file: string; readonly accounts: ReadonlySet<string> },
): Promise<PlannedObject> {
  const { apiVersion, kind, metadata, spec } = manifest;
  const isGroup = kind === 'EndpointGroup';
  const object = `${isGroup ? 'epg' : 'gpui'}/${metadata?.name ?? 'unnamed'}`;
  const fault = (issues: readonly string[]) => invalidManifest(`${file}: ${object}`, kind, issues);
  if (apiVersion !== API_VERSION) throw fault([`apiVersion: ${apiVersion} in place of ${API_VERSION}`]);
  const found = isGroup ? await templateOf(spec, fault) : await machineOf(spec, fault);
  const namespace = metadata?.namespace;
  const ref = accountRefOf({ spec: found.spec, metadata: { namespace } });
  return { object, namespace, manifest, bringsAccount: accounts.has(accountKey(ref)), ...found };
}

type Fault = (issues: readonly string[]) => Error;

type MachinePart = Pick<PlannedObject, 'spec' | 'isHeld'>;

async function machineOf(value: unknown, fault: Fault): Promise<MachinePart> {
  const { gpuInstanceSpec } = await import('../../api/v1alpha1/gpu-instance.ts');
  const spec = await asDefined(gpuInstanceSpec, value, fault);
  return { spec, isHeld: false };
}

async function templateOf(value: unknown, fault: Fault): Promise<MachinePart> {
  const { endpointGroupSpec } = await import('../../api/v1alpha1/endpoint-group-spec.ts');
  const { template, pause } = await asDefined(endpointGroupSpec, value, fault);
  return { spec: template.spec, isHeld: pause?.scaleUp === true };
}

/** Returns the value if its schema allows every field. Throws `fault` otherwise. */
async function asDefined<T>(schema: z.ZodType<T>, value: unknown, fault: Fault): Promise<T> {
  const { unknownFields } = await import('./unknown-fields.ts');
  const parsed = schema.safeParse(value);
  const wrong = parsed.success
    ? []
    : await Promise.all(parsed.error.issues.map((issue) => issueText(issue, schema, value)));
  const unknown = unknownFields(schema, value, ['spec']);
  const issues = [...wrong, ...unknown.map(({ path, message }) => `${path.join('.')}: ${message}`)];
  if (!parsed.success || issues.length > 0) throw fault(issues);
  return parsed.data;
}

/** Amounts are text, so that they are never rounded: YAML parses one without quotes as a number. */
async function issueText(
  { path, message, ...issue }: z.core.$ZodIssue,
  schema: z.ZodType,
  spec: unknown,
): Promise<string> {
  const given = path.reduce<unknown>((value, key) => Object(value)[key], spec);
  const expected = 'expected' in issue ? issue.expected : undefined;
  const hint =
    expected === 'string'
      ? await quoteHint(given, { path, schema, spec })
      : expected === 'boolean' || expected === 'number'
        ? bareHint(given, expected)
        : given === '' && issue.code === 'too_small'
          ? 'the text is empty: write a value, or leave the field out'
          : undefined;
  return `spec.${path.join('.')}: ${hint ?? message}`;
}

/** Returns the text to write for a quoted value that must not be text; undefined if there is none. */
function bareHint(given: unknown, expected: string): string | undefined {
  if (typeof given !== 'string') return undefined;
  if (expected === 'boolean') return `write true or false without quotes, in place of "${given}"`;
  return given.trim() !== '' && Number.isFinite(Number(given))
    ? `write it without quotes: ${given}`
    : undefined;
}

/** Returns the text to write for a value that YAML parsed as another type; undefined if there is none. */
async function quoteHint(
  given: unknown,
  {
    path,
    schema,
    spec,
  }: { readonly path: readonly PropertyKey[]; readonly schema: z.ZodType; readonly spec: unknown },
): Promise<string | undefined> {
  if (typeof given === 'boolean')
    return `write it in quotes: YAML reads a bare ${given ? 'yes, on or true as true' : 'NO, off or false as false'}`;
  if (typeof given !== 'number') return undefined;
  const quoted = withValue(spec, path, String(given));
  const isHere = (issue: { readonly path: readonly PropertyKey[] }) =>
    issue.path.join('.') === path.join('.');
  const still =
    schema.safeParse(quoted).error?.issues.find(isHere) ?? (await ruleBroken(quoted, { path, schema }));
  // Quotes alone do not turn 60 into a time, 32 into a size, or 010 into a country.
  return still ? `this is text: ${still.message}` : `write it in quotes: "${given}"`;
}

/** Returns the rule of the resource definition that the field breaks; undefined if there is none. */
async function ruleBroken(
  spec: unknown,
  { path, schema }: { readonly path: readonly PropertyKey[]; readonly schema: z.ZodType },
): Promise<{ readonly message: string } | undefined> {
  const { brokenRules } = await import('../manifests/admission-rules.ts');
  const [top] = path;
  // Checked alone, so that faults of other fields do not matter.
  const alone = { [String(top)]: Object(spec)[String(top)] };
  return brokenRules({ spec: schema, rules: [] }, { spec: alone }).find(
    (rule) => rule.path.slice(1).map(String).join('.') === path.map(String).join('.'),
  );
}

function withValue(of: unknown, [key, ...path]: readonly PropertyKey[], value: unknown): unknown {
  if (key === undefined) return value;
  const inner = withValue(Object(of)[key], path, value);
  return Array.isArray(of) ? of.with(Number(key), inner) : { ...Object(of), [key]: inner };
}

const MAX_ISSUES = 20;

function invalidManifest(what: string, kind: string, issues: readonly string[]): CommandError {
  const shown = issues.slice(0, MAX_ISSUES).map((issue) => `  ${issue}`);
  return usageError(
    `${what} is invalid:\n${shown.join('\n')}`,
    `kubectl explain ${kind.toLowerCase()}.spec shows every field.`,
  );
}
