import { endpointGroupResource, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';
import type { PlannedObject } from './manifests.ts';

/** What the API server would say to `kubectl apply`. */
export type ServerVerdict =
  | { readonly type: 'accepted' }
  | { readonly type: 'refused'; readonly why: string }
  /** It could not judge. */
  | { readonly type: 'unasked'; readonly why: string };

const RESOURCES = { GpuInstance: gpuInstanceResource, EndpointGroup: endpointGroupResource } as const;
/** What it answers to a manifest that is wrong; admission policies refuse as `forbidden`. */
const REFUSALS = new Set(['invalid', 'forbidden']);
const BAD_REQUEST = 400;

/**
 * Asks as `kubectl apply --server-side --dry-run=server` does, so that rules that span fields and admission policies
 * are evaluated by the API server itself. Nothing is stored. Rejects only with what is not a KubeError: those become
 * the verdict.
 */
export async function askServer(
  { kube, namespace: own }: ClusterSession,
  { manifest, namespace = own }: Pick<PlannedObject, 'manifest' | 'namespace'>,
): Promise<ServerVerdict> {
  const { apiVersion, kind, metadata: { name = '', labels, annotations } = {}, spec } = manifest;
  if (name === '') return { type: 'unasked', why: 'it has no name' };
  const body = { apiVersion, kind, metadata: { name, namespace, labels, annotations }, spec };
  try {
    await kube.patch(
      RESOURCES[kind],
      { namespace, name },
      {
        type: 'apply',
        body,
        fieldManager: 'gpu-rent',
        force: true,
        dryRun: true,
      },
    );
    return { type: 'accepted' };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    return { type: isAboutManifest(error) ? 'refused' : 'unasked', why: error.message };
  }
}

/** A right that is missing says nothing about the manifest. */
function isAboutManifest({ kind, status, message }: KubeError): boolean {
  if (/ cannot (patch|create|update) resource /.test(message)) return false;
  return REFUSALS.has(kind) || status === BAD_REQUEST;
}
