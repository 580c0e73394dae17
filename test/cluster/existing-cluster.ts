import { borrowCluster } from './borrowed-cluster.ts';
import type { NodeConnection } from './connection.ts';
import type { StartedCluster, StartOptions, Usability, Way } from './way.ts';

async function checkAsked({ USE_EXISTING_CLUSTER: asked }: NodeJS.ProcessEnv): Promise<Usability> {
  if (asked === 'true') return { type: 'asked' };
  return { type: 'unusable', why: 'USE_EXISTING_CLUSTER is not true' };
}

async function borrow({ env }: StartOptions, node?: NodeConnection): Promise<StartedCluster> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const { targetOf } = await import('./kubeconfig-target.ts');
  const kubeconfig = new KubeConfig();
  kubeconfig.loadFromDefault();
  const { connection, giveBack } = await borrowCluster({
    source: 'existing-cluster',
    target: await targetOf(kubeconfig),
    disposable: false,
    env,
    node,
  });
  return { connection, apiServer: undefined, processIds: () => ({}), stop: giveBack };
}

/** Existing cluster of others, used only on request: the variable is envtest's. */
export const existingCluster: Way = {
  source: 'existing-cluster',
  needs: 'USE_EXISTING_CLUSTER=true and a kubeconfig whose current context is an administrator',
  check: checkAsked,
  async prepare() {},
  start: (options) => borrow(options),
};

/** Returns the command that imports images and the address at which Pods reach this machine; no API reports either. */
function nodeOf({ IMPORT_IMAGE, HOST_ADDRESS }: NodeJS.ProcessEnv): NodeConnection | undefined {
  if (!IMPORT_IMAGE || !HOST_ADDRESS) return undefined;
  const importCommand = IMPORT_IMAGE.trim().split(/\s+/);
  return { hostAddress: HOST_ADDRESS, importCommand, sharesProcesses: false };
}

/** The same for tests that run Pods. */
export const existingNode: Way = {
  ...existingCluster,
  needs: `${existingCluster.needs}, IMPORT_IMAGE="kind load image-archive" or what else takes an archive, and HOST_ADDRESS=<this machine, as Pods see it>`,
  async check(env) {
    const asked = await checkAsked(env);
    if (asked.type !== 'asked' || nodeOf(env) !== undefined) return asked;
    return { type: 'unusable', why: 'IMPORT_IMAGE or HOST_ADDRESS is not set' };
  },
  start: (options) => borrow(options, nodeOf(options.env)),
};
