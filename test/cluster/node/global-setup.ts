import type { TestProject } from 'vitest/node';
import { GROUP } from '../../../src/api/v1alpha1/names.ts';
import { type NodeCluster, startCluster, whyNoNode } from '../cluster.ts';
import type {} from '../provided-context.ts';

/** Throws if the operator is already installed: these tests install and uninstall it, and delete all its objects. */
async function refuseInstalled({ admin, disposable }: NodeCluster): Promise<void> {
  if (disposable) return;
  const { status } = await admin.request({ method: 'GET', path: `/apis/${GROUP}`, accept: [404] });
  if (status !== 404)
    throw new Error(
      `The existing cluster has kinds of ${GROUP}, and these tests would delete their objects: use a cluster without the operator, or remove its CRDs with kubectl delete -f crds/.`,
    );
}

/**
 * Starts one cluster with Pods for the whole node project. Without one, its tests are skipped and one line reports
 * why.
 */
export default async function startSharedNode(project: TestProject): Promise<() => Promise<void>> {
  const why = await whyNoNode(process.env);
  if (why !== undefined) {
    process.stderr.write(`${why}\n`);
    project.provide('nodeCluster', null);
    return async () => {};
  }
  const cluster = await startCluster({ node: true });
  await refuseInstalled(cluster).catch(async (error) => {
    await cluster.stop();
    throw error;
  });
  if (cluster.nodeTimes !== undefined) {
    const { nodeReadyMs, dnsReadyMs } = cluster.nodeTimes;
    const seconds = (ms: number): string => (ms / 1000).toFixed(1);
    process.stderr.write(`node ready after ${seconds(nodeReadyMs)} s, DNS after ${seconds(dnsReadyMs)} s\n`);
  }
  project.provide('nodeCluster', cluster.connection);
  return () => cluster.stop();
}
