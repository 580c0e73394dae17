import { inject } from 'vitest';
import { type ClusterAccess, connectTo } from './connect.ts';
import type {} from './provided-context.ts';

/**
 * The API server that all integration suites share. Each makes namespaces of its own in it; a suite that takes the
 * API away or resets starts its own with `startCluster`.
 */
export function sharedCluster(): ClusterAccess {
  return connectTo(inject('cluster'));
}
