import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { borrowCluster } from './borrowed-cluster.ts';
import type { Way } from './way.ts';

const IMAGE = 'rancher/k3s:v1.36.3-k3s1';
/** Nothing runs there but the API and its controllers. */
const COMMAND = ['server', '--disable=traefik,metrics-server,servicelb,local-storage,coredns'];
const ENGINE_ANSWERS_WITHIN_MS = 10_000;

/** The whole of Kubernetes in one container; it goes with the process, which testcontainers sees to. */
export const k3s: Way = {
  source: 'k3s',
  needs: 'a Docker engine that `docker info` reaches: K3s runs in a container',
  async check(env) {
    try {
      const options = { env, timeout: ENGINE_ANSWERS_WITHIN_MS };
      await promisify(execFile)('docker', ['info', '--format={{.ServerVersion}}'], options);
      return { type: 'found' };
    } catch (error) {
      const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      return { type: 'unusable', why: isMissing ? 'docker is not on PATH' : 'no Docker engine answers' };
    }
  },
  async prepare({ env, report }) {
    report(`Pulling ${IMAGE}.`);
    await promisify(execFile)('docker', ['pull', '--quiet', IMAGE], { env });
  },
  async start({ env }) {
    const { K3sContainer } = await import('@testcontainers/k3s');
    const { KubeConfig } = await import('@kubernetes/client-node');
    const { targetOf } = await import('./kubeconfig-target.ts');
    const container = await new K3sContainer(IMAGE).withCommand(COMMAND).start();
    const kubeconfig = new KubeConfig();
    kubeconfig.loadFromString(container.getKubeConfig());
    const { connection, giveBack } = await borrowCluster({
      source: 'k3s',
      target: await targetOf(kubeconfig),
      disposable: true,
      env,
    });
    return {
      connection,
      apiServer: undefined,
      processIds: () => ({}),
      async stop() {
        await giveBack();
        await container.stop();
      },
    };
  },
};
