import { inject } from 'vitest';
import { type ClusterAccess, connectTo } from './connect.ts';
import type {} from './provided-context.ts';

/**
 * Returns access to the API server that all integration suites share. Each suite creates its own namespaces; a suite
 * that stops or resets the API starts its own with `startCluster`.
 */
export function sharedCluster(): ClusterAccess {
  return connectTo(inject('cluster'));
}
