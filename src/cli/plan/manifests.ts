import type { GpuInstanceSpec } from '../../api/v1alpha1/gpu-instance.ts';
import { GROUP } from '../../api/v1alpha1/names.ts';
import { usageError } from '../failures/command-error.ts';

/** A machine that a manifest asks for; a group asks for as many as its load needs. */
export interface PlannedObject {
  /** e.g. `gpui/trainer`. */
  readonly object: string;
  readonly namespace: string | undefined;
  readonly spec: GpuInstanceSpec;
}

/** The machines that a YAML text asks for. A field that is wrong is a usage error that names it. */
export async function plannedObjects(text: string, file: string): Promise<readonly PlannedObject[]> {
  const { parseAllDocuments } = await import('yaml');
  const planned: PlannedObject[] = [];
  for (const document of parseAllDocuments(text)) {
    const [problem] = 'errors' in document ? document.errors : [];
    if (problem) throw usageError(`${file}: ${problem.message}`);
    const value: unknown = document.toJS();
    if (isOurs(value)) planned.push(await plannedOf(value, file));
  }
  if (planned.length > 0) return planned;
  throw usageError(`${file} holds no GpuInstance and no EndpointGroup.`);
}

interface Manifest {
  readonly kind: string;
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
  readonly spec?: unknown;
}

function isOurs(value: unknown): value is Manifest {
  if (typeof value !== 'object' || value === null || !('kind' in value) || !('apiVersion' in value))
    return false;
  const { kind, apiVersion } = value;
  return String(apiVersion).startsWith(`${GROUP}/`) && (kind === 'GpuInstance' || kind === 'EndpointGroup');
}

async function plannedOf({ kind, metadata, spec }: Manifest, file: string): Promise<PlannedObject> {
  const name = metadata?.name ?? 'unnamed';
  const [{ gpuInstanceSpec }, { endpointGroupSpec }, { unknownFields }] = await Promise.all([
    import('../../api/v1alpha1/gpu-instance.ts'),
    import('../../api/v1alpha1/endpoint-group-spec.ts'),
    import('./unknown-fields.ts'),
  ]);
  const isGroup = kind === 'EndpointGroup';
  const object = `${isGroup ? 'epg' : 'gpui'}/${name}`;
  const parsed = isGroup ? endpointGroupSpec.safeParse(spec) : gpuInstanceSpec.safeParse(spec);
  const issues = parsed.success
    ? unknownFields(isGroup ? endpointGroupSpec : gpuInstanceSpec, spec)
    : parsed.error.issues.map(({ path, message }) => `spec.${path.join('.')}: ${message}`);
  if (!parsed.success || issues.length > 0) throw notAsDefined(`${object} in ${file}`, kind, issues);
  const found = 'template' in parsed.data ? parsed.data.template.spec : parsed.data;
  return { object, namespace: metadata?.namespace, spec: found };
}

const MOST_ISSUES = 5;

function notAsDefined(what: string, kind: string, issues: readonly string[]): Error {
  const shown = issues.slice(0, MOST_ISSUES).map((issue) => `  ${issue}`);
  return usageError(
    `${what} is not as its definition wants it:\n${shown.join('\n')}`,
    `kubectl explain ${kind.toLowerCase()}.spec shows every field.`,
  );
}
