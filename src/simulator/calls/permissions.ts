import type { ApiKey } from '../tables/api-keys.ts';
import { scopeAllows } from './key-scope.ts';
import { pathId } from './path-id.ts';
import { isObject } from './request-body.ts';
import type { Call } from './routed-call.ts';

/**
 * Whether a key may make a call (specification section 5). A full key may; a scoped one needs the
 * category of the route under `api`; the restricted key of an instance passes only where
 * {@link permitsInstance} lets it.
 */
export function permits(key: ApiKey, call: Call): boolean {
  if (key.instanceId !== null) return permitsInstance(key.instanceId, call);
  if (key.permissions === null) return true;
  const api = key.permissions.api;
  if (call.route.category === null) return true;
  const scope = isObject(api) ? api[call.route.category] : undefined;
  return isObject(scope) && scopeAllows(scope, call, key.keyParams);
}

/** Inside a container of a deployment the restricted key of its instance also fetches the code. */
const CODE_OF_DEPLOYMENT = '/api/v0/deployment/:id/download_url';

/**
 * The restricted key starts, stops or destroys its own instance and nothing else (specification 5.5), but
 * for the file of a deployment, which is asked for inside the container.
 */
function permitsInstance(instanceId: number, call: Call): boolean {
  if (call.route.path === CODE_OF_DEPLOYMENT) return true;
  if (call.route.path !== '/api/v0/instances/:id') return false;
  if (pathId(call.params.id) !== instanceId) return false;
  if (call.route.method === 'DELETE') return true;
  // A label on the way would be more than starting or stopping.
  const { state, label } = call.body;
  return call.route.method === 'PUT' && typeof state === 'string' && (label ?? null) === null;
}
