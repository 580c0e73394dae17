import { GROUP, VERSION } from '../../api/v1alpha1/names.ts';
import { readBody } from '../../marketplace/http/read-body.ts';
import { parseJson } from '../../runtime/kube/json-stream.ts';
import type { ClusterSession } from '../sessions/cluster-session.ts';

const MOST_BYTES = 1_000_000;

export const GROUP_VERSION = `${GROUP}/${VERSION}`;

/** What to do where definitions are missing. */
export const INSTALL_DEFINITIONS =
  'Install the definitions: helm upgrade --install, or kubectl apply --server-side -f crds/.';

/** The plural names of our kinds that the cluster serves; none where it knows nothing of the group. */
export async function servedKinds({ get }: ClusterSession): Promise<readonly string[]> {
  const response = await get(`/apis/${GROUP_VERSION}`);
  const text = await readBody(response, MOST_BYTES);
  if (response.status === 404) return [];
  if (response.status !== 200) throw new Error(`/apis/${GROUP_VERSION} answers ${response.status}.`);
  return namesIn(parseJson(text));
}

function namesIn(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null || !('resources' in value)) return [];
  if (!Array.isArray(value.resources)) return [];
  const names = value.resources.map((resource: unknown): unknown => Object(resource).name);
  return names.filter((name) => typeof name === 'string');
}
