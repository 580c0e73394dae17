import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { endpointGroupResource, gpuInstanceResource, OPERATOR_NAME } from '../../api/v1alpha1/names.ts';
import { isJsonObject, ownValue } from '../../lib/json.ts';
import type { Patch } from '../../runtime/kube/kube-client.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import { usageError } from '../command-error.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import type { Manifest, PlannedObject } from './manifests.ts';

/** An object as stored, undefined if there is none, and its state with the manifest. */
export interface Applied {
  readonly before: GpuInstance | EndpointGroup | undefined;
  readonly after: GpuInstance | EndpointGroup;
}

/** Answer of the API server to `kubectl apply`. */
export type ServerVerdict =
  | { readonly type: 'accepted'; readonly applied: Applied }
  | { readonly type: 'refused'; readonly why: string }
  /** The API server could not evaluate it. */
  | { readonly type: 'unasked'; readonly why: string };

const RESOURCES = { GpuInstance: gpuInstanceResource, EndpointGroup: endpointGroupResource } as const;
/** Kinds of answers to an invalid manifest; admission policies refuse as `forbidden`. */
const REFUSALS = new Set(['invalid', 'forbidden']);
const BAD_REQUEST = 400;

/**
 * Sends the request of `kubectl apply --dry-run=server`. The API server then evaluates rules across fields and
 * admission policies, and removes fields that the manifest no longer names. Nothing is stored. A KubeError becomes
 * the verdict; it rejects with any other error.
 */
export async function askServer(
  { kube, namespace: own }: ClusterSession,
  { manifest, namespace = own }: Pick<PlannedObject, 'manifest' | 'namespace'>,
): Promise<ServerVerdict> {
  const { kind, metadata: { name = '' } = {} } = manifest;
  if (name === '') return { type: 'unasked', why: 'it has no name' };
  const ref = { namespace, name };
  try {
    const before = await kube.get<GpuInstance>(RESOURCES[kind], ref);
    const patch = asApplied(manifest, { before, namespace });
    const after = await kube.patch<GpuInstance>(RESOURCES[kind], ref, { ...patch, dryRun: true });
    return { type: 'accepted', applied: { before, after } };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return { type: isAboutManifest(error) ? 'refused' : 'unasked', why: error.message };
  }
}

/** An object of a manifest, and the API server's verdict on it. */
export type Judged = readonly [PlannedObject, ServerVerdict];

/** Calls {@link askServer} for one object after another. */
export async function askForAll(
  cluster: ClusterSession,
  planned: readonly PlannedObject[],
): Promise<readonly Judged[]> {
  const judged: Judged[] = [];
  for (const object of planned) judged.push([object, await askServer(cluster, object)]);
  return judged;
}

/** Returns true if the error is about the manifest; a missing permission is not. */
function isAboutManifest({ kind, status, message }: KubeError): boolean {
  if (/ cannot (get|patch|create|update) resource /.test(message)) return false;
  return REFUSALS.has(kind) || status === BAD_REQUEST;
}

/** Throws a usage error if the API server would refuse one of them. */
export function refuseRefused(judged: readonly Judged[]): void {
  const refused = judged.flatMap(([{ object }, verdict]) =>
    verdict.type === 'refused' ? [`The API server would refuse ${object}: ${verdict.why}`] : [],
  );
  if (refused.length > 0) throw usageError(refused.join('\n'), 'Correct what is named; nothing was stored.');
}

/** Annotation in which `kubectl apply` keeps the last manifest. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

type Managed = KubeObject & {
  readonly metadata: {
    readonly managedFields?: readonly {
      readonly manager?: string;
      readonly operation?: string;
      readonly subresource?: string;
    }[];
  };
};

/**
 * Returns the request of the last applier: fields that it named then and no longer names are removed, as
 * `kubectl apply` (by its annotation) and server-side appliers (by their owned fields) do. An object without either
 * keeps the fields that the manifest does not name.
 */
function asApplied(
  manifest: Manifest,
  { before, namespace }: { readonly before: GpuInstance | undefined; readonly namespace: string },
): Patch {
  const { apiVersion, kind, metadata: { name, labels, annotations } = {}, spec } = manifest;
  const last = before?.metadata.annotations?.[LAST_APPLIED];
  const applied = last === undefined ? undefined : parsed(last);
  if (applied !== undefined) {
    const { metadata, spec: appliedSpec } = Object(applied) as Manifest;
    const body = {
      metadata: {
        labels: withRemovals(metadata?.labels, labels ?? {}),
        annotations: withRemovals(metadata?.annotations, annotations ?? {}),
      },
      spec: withRemovals(appliedSpec, spec ?? {}),
    };
    return { type: 'merge', body, fieldManager: 'kubectl-client-side-apply' };
  }
  const body = { apiVersion, kind, metadata: { name, namespace, labels, annotations }, spec };
  return { type: 'apply', body, fieldManager: applierOf(before) ?? 'gpu-rent', force: true };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Returns the server-side applier of the object: kubectl, Argo CD or Flux; never the operator. */
function applierOf(object: KubeObject | undefined): string | undefined {
  const { managedFields = [] } = (object as Managed | undefined)?.metadata ?? {};
  const appliers = managedFields.flatMap(({ manager, operation, subresource }) =>
    operation === 'Apply' && subresource === undefined && !manager?.startsWith(`${OPERATOR_NAME}/`)
      ? (manager ?? [])
      : [],
  );
  return appliers.find((manager) => manager === 'kubectl') ?? appliers[0];
}

/** Returns the merge patch that sets the desired fields, and removes applied ones that are no longer desired. */
function withRemovals(applied: unknown, desired: unknown): unknown {
  if (!isJsonObject(desired)) return desired;
  const before = isJsonObject(applied) ? applied : {};
  const gone = Object.keys(before).filter((key) => ownValue(desired, key) === undefined);
  return {
    ...Object.fromEntries(gone.map((key) => [key, null])),
    ...Object.fromEntries(
      Object.entries(desired).map(([key, value]) => [key, withRemovals(ownValue(before, key), value)]),
    ),
  };
}
