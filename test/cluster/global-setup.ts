import type { TestProject } from 'vitest/node';
import { startCluster } from './cluster.ts';
import type {} from './provided-context.ts';

/** Starts one cluster for the whole integration project, with an audit log if possible. */
export default async function startSharedCluster(project: TestProject): Promise<() => Promise<void>> {
  const cluster = await startCluster({ audit: {} });
  project.provide('cluster', cluster.connection);
  return () => cluster.stop();
}
