import { afterAll, beforeAll, describe, inject } from 'vitest';
import { type ClusterAccess, connectTo } from '../connect.ts';
import type {} from '../provided-context.ts';
import type { NodeAccess } from './access.ts';

/** Access to a cluster that runs Pods. */
export interface NodeClusterAccess extends ClusterAccess {
  readonly node: NodeAccess;
}

/**
 * Declares tests on the shared cluster of the node project; they are skipped if there is none. `body` receives a
 * function that returns the cluster while tests and their hooks run.
 */
export function describeWithNode(title: string, body: (cluster: () => NodeClusterAccess) => void): void {
  const connection = inject('nodeCluster');
  describe.skipIf(connection === null)(title, () => {
    let access: NodeClusterAccess | undefined;
    beforeAll(() => {
      if (connection === null) return;
      const { node, ...rest } = connectTo(connection);
      if (node === undefined) throw new Error('The shared cluster was started without a node.');
      access = { ...rest, node };
    });
    afterAll(() => access?.disconnect());
    body(() => {
      if (access === undefined) throw new Error('The cluster is there while tests and hooks run.');
      return access;
    });
  });
}
