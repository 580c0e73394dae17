import { borrowCluster } from './borrowed-cluster.ts';
import type { Way } from './way.ts';

/** A cluster that somebody else owns, and only where they say so: the variable is envtest's. */
export const existingCluster: Way = {
  source: 'existing-cluster',
  needs: 'USE_EXISTING_CLUSTER=true and a kubeconfig whose current context is an administrator',
  async check({ USE_EXISTING_CLUSTER: asked }) {
    if (asked === 'true') return { type: 'asked' };
    return { type: 'unusable', why: 'USE_EXISTING_CLUSTER is not true' };
  },
  async prepare() {},
  async start({ env }) {
    const { KubeConfig } = await import('@kubernetes/client-node');
    const { targetOf } = await import('./kubeconfig-target.ts');
    const kubeconfig = new KubeConfig();
    kubeconfig.loadFromDefault();
    const { connection, giveBack } = await borrowCluster({
      source: 'existing-cluster',
      target: await targetOf(kubeconfig),
      disposable: false,
      env,
    });
    return { connection, apiServer: undefined, processIds: () => ({}), stop: giveBack };
  },
};
