import type { TestProject } from 'vitest/node';
import { startCluster, whyNoNode } from '../cluster.ts';
import type {} from '../provided-context.ts';

/** One cluster that runs Pods for the whole node project; without one its tests are skipped, and one line says why. */
export default async function startSharedNode(project: TestProject): Promise<() => Promise<void>> {
  const why = await whyNoNode(process.env);
  if (why !== undefined) {
    process.stderr.write(`${why}\n`);
    project.provide('nodeCluster', null);
    return async () => {};
  }
  const cluster = await startCluster({ node: true });
  if (cluster.nodeTimes !== undefined) {
    const { nodeReadyMs, dnsReadyMs } = cluster.nodeTimes;
    const seconds = (ms: number): string => (ms / 1000).toFixed(1);
    process.stderr.write(`node ready after ${seconds(nodeReadyMs)} s, DNS after ${seconds(dnsReadyMs)} s\n`);
  }
  project.provide('nodeCluster', cluster.connection);
  return () => cluster.stop();
}
