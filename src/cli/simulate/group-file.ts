import * as z from 'zod';
import type { EndpointGroupSpec } from '../../api/v1alpha1/endpoint-group.ts';
import { endpointGroupSpec } from '../../api/v1alpha1/endpoint-group-spec.ts';
import { API_VERSION } from '../../api/v1alpha1/names.ts';
import type { CelRule } from '../../api/v1alpha1/schema.ts';
import { usageError } from '../failures/command-error.ts';
import { compileCel } from './cel.ts';
import {
  type Fault,
  faultError,
  unknownFields,
  type YamlPath,
  type YamlSource,
  yamlSources,
} from './yaml-source.ts';

/** The group that a manifest describes. */
interface GroupFile {
  readonly name: string;
  readonly spec: EndpointGroupSpec;
}

const EXAMPLE = `Give the manifest of one EndpointGroup (apiVersion: ${API_VERSION}), as kubectl apply takes it.`;
const AS_APPLIED = 'Write the fields as in docs/reference/endpointgroup.md.';

/**
 * The one EndpointGroup of a YAML text. What the API server refuses of a group is a usage error with its line; rules
 * that span fields of its workers' template are left to the API server.
 */
export function readGroup(text: string, file: string): GroupFile {
  const sources = yamlSources(text, file);
  const groups = sources.filter(({ value }) => isGroup(value));
  const [group, second] = groups;
  if (!group) throw noGroup(sources, file);
  if (second)
    throw usageError(
      `${file}:${second.lineOf([])}: a second EndpointGroup, after that on line ${group.lineOf([])}.`,
      'Give one group at a time.',
    );
  return { name: nameOf(group.value), spec: specOf(group) };
}

function isGroup(value: unknown): value is { readonly metadata?: unknown; readonly spec?: unknown } {
  if (typeof value !== 'object' || value === null || !('kind' in value) || !('apiVersion' in value))
    return false;
  const { kind, apiVersion } = value;
  return kind === 'EndpointGroup' && apiVersion === API_VERSION;
}

function noGroup(sources: readonly YamlSource[], file: string): Error {
  const [first] = sources;
  if (!first) return usageError(`${file}:1: the file is empty.`, EXAMPLE);
  const { value } = first;
  const text = (key: string) => {
    const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
    return found === undefined ? 'missing' : JSON.stringify(found);
  };
  const path = text('kind') === '"EndpointGroup"' ? 'apiVersion' : 'kind';
  const expected = path === 'kind' ? 'EndpointGroup' : API_VERSION;
  return faultError(first, [{ path: [path], message: `${text(path)} in place of ${expected}` }], EXAMPLE);
}

function nameOf(value: unknown): string {
  const metadata: unknown = isGroup(value) ? value.metadata : undefined;
  const name: unknown =
    typeof metadata === 'object' && metadata !== null ? Reflect.get(metadata, 'name') : undefined;
  return typeof name === 'string' && name !== '' ? name : 'unnamed';
}

function specOf(source: YamlSource): EndpointGroupSpec {
  const written: unknown = isGroup(source.value) ? source.value.spec : undefined;
  const parsed = endpointGroupSpec.safeParse(written);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => ({
      path: ['spec', ...issue.path],
      message: isUnquoted(issue) ? `${issue.message}: write it in quotes` : issue.message,
    }));
    throw faultError(source, faults, AS_APPLIED);
  }
  const { data } = parsed;
  const faults = [...unknownFields(written, data, ['spec']), ...groupFaults(data)];
  if (faults.length > 0) throw faultError(source, faults, AS_APPLIED);
  return parsed.data;
}

function isUnquoted({ code, message }: { readonly code: string; readonly message: string }): boolean {
  return code === 'invalid_type' && message.endsWith('expected string, received number');
}

/** What the rules need of a JSON schema. */
interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
}

/** The GpuInstance of a worker has rules of its own, with functions that only an API server has. */
const LEFT_TO_THE_API_SERVER = 'spec.template.spec';

/**
 * What the rules of the custom resource definition refuse of a group, which no cluster is asked about here. They are
 * read from the schema itself. Rules on a change (`oldSelf`) and those of the workers' own spec do not run.
 */
function groupFaults(spec: EndpointGroupSpec): readonly Fault[] {
  return faultsOf(z.toJSONSchema(endpointGroupSpec, { unrepresentable: 'any' }) as Schema, spec, ['spec']);
}

function faultsOf(schema: Schema, value: unknown, path: YamlPath): readonly Fault[] {
  if (value === undefined || path.join('.') === LEFT_TO_THE_API_SERVER) return [];
  const rules = schema['x-kubernetes-validations'] ?? [];
  const own = rules.filter((rule) => isBroken(rule, value)).map((rule) => faultOf(rule, value, path));
  const fields = Object.entries(schema.properties ?? {});
  const nested = fields.flatMap(([name, field]) =>
    faultsOf(field, Reflect.get(Object(value), name), [...path, name]),
  );
  return [...own, ...nested];
}

function isBroken({ rule }: CelRule, self: unknown): boolean {
  return !/\boldSelf\b/.test(rule) && compileCel(rule)({ self }) !== true;
}

function faultOf(
  { message, messageExpression, fieldPath = '' }: CelRule,
  self: unknown,
  path: YamlPath,
): Fault {
  const text = messageExpression === undefined ? message : compileCel(messageExpression)({ self });
  return { path: [...path, ...fieldPath.split('.').slice(1)], message: String(text) };
}
