import { endpointGroupDefinition } from '../../api/v1alpha1/definitions.ts';
import type { EndpointGroupSpec } from '../../api/v1alpha1/endpoint-group.ts';
import { endpointGroupSpec } from '../../api/v1alpha1/endpoint-group-spec.ts';
import { API_VERSION } from '../../api/v1alpha1/names.ts';
import { usageError } from '../command-error.ts';
import { brokenRules } from '../manifests/admission-rules.ts';
import { unknownFields } from '../plan/unknown-fields.ts';
import { faultError, type YamlSource, yamlSources } from './yaml-source.ts';

/** The group that a manifest describes. */
interface GroupFile {
  readonly name: string;
  readonly spec: EndpointGroupSpec;
}

const EXAMPLE = `Give the manifest of one EndpointGroup (apiVersion: ${API_VERSION}), as kubectl apply takes it.`;
const AS_APPLIED = 'Write the fields as in docs/reference/endpointgroup.md.';

/**
 * Returns the one EndpointGroup of a YAML text. Throws a usage error with the line for a text that the API server
 * would refuse.
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
  const faults = [
    ...unknownFields(endpointGroupSpec, written, ['spec']),
    ...brokenRules(endpointGroupDefinition, { spec: data }),
  ];
  if (faults.length > 0) throw faultError(source, faults, AS_APPLIED);
  return parsed.data;
}

function isUnquoted({ code, message }: { readonly code: string; readonly message: string }): boolean {
  return code === 'invalid_type' && message.endsWith('expected string, received number');
}
