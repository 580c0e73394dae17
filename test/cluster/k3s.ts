import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { EngineSession } from '../containers/engine.ts';
import { borrowCluster } from './borrowed-cluster.ts';
import type { NodeConnection } from './connection.ts';
import type { StartedCluster, StartOptions, Way } from './way.ts';

const IMAGE = 'rancher/k3s:v1.36.3-k3s1';
const UNUSED = ['traefik', 'metrics-server', 'servicelb', 'local-storage'];
const ENGINE_ANSWERS_WITHIN_MS = 10_000;
/** Imports what it reads. */
const IMPORT = 'docker exec --interactive "$0" ctr --namespace k8s.io images import - <"$1"';

interface K3sOptions extends StartOptions {
  readonly disable: readonly string[];
  readonly node: boolean;
}

async function startK3s(options: K3sOptions): Promise<StartedCluster> {
  const { findEngine, openEngineSession } = await import('../containers/engine.ts');
  const engine = await findEngine();
  if (engine === undefined) throw new Error('testcontainers finds no Docker engine: set DOCKER_HOST');
  const session = await openEngineSession(engine);
  try {
    return await startIn(session, options);
  } catch (error) {
    await session.close();
    throw error;
  }
}

async function startIn(session: EngineSession, { env, disable, node }: K3sOptions): Promise<StartedCluster> {
  const { K3sContainer } = await import('@testcontainers/k3s');
  const { KubeConfig } = await import('@kubernetes/client-node');
  const { targetOf } = await import('./kubeconfig-target.ts');
  const command = ['server', `--disable=${disable.join(',')}`];
  const container = await session.own(new K3sContainer(IMAGE)).withCommand(command).start();
  const kubeconfig = new KubeConfig();
  kubeconfig.loadFromString(container.getKubeConfig());
  const { connection, giveBack } = await borrowCluster({
    source: 'k3s',
    target: await targetOf(kubeconfig),
    disposable: true,
    env,
    node: node ? await nodeOf(container.getId(), env) : undefined,
  });
  return {
    connection,
    apiServer: undefined,
    processIds: () => ({}),
    async stop() {
      await giveBack();
      await session.close();
    },
  };
}

/** Returns the node connection: Pods reach this machine through the gateway of the engine's network. */
async function nodeOf(id: string, env: NodeJS.ProcessEnv): Promise<NodeConnection> {
  const format = '{{range .NetworkSettings.Networks}}{{.Gateway}} {{end}}';
  const { stdout } = await promisify(execFile)('docker', ['inspect', `--format=${format}`, id], { env });
  return {
    hostAddress: stdout.trim().split(' ')[0] ?? '',
    importCommand: ['sh', '-c', IMPORT, id],
    sharesProcesses: process.platform === 'linux' && process.getuid?.() === 0,
  };
}

/** Resolves when the engine has the image. */
async function obtainImage({ env, report }: StartOptions): Promise<void> {
  const run = promisify(execFile);
  const isThere = await run('docker', ['image', 'inspect', IMAGE], { env }).then(
    () => true,
    () => false,
  );
  if (isThere) return;
  report(`Pulling ${IMAGE}.`);
  await run('docker', ['pull', '--quiet', IMAGE], { env }).catch((error: Error & { stderr?: string }) => {
    const why = (error.stderr?.trim() || error.message).split('\n').at(-1);
    throw new Error(
      `${IMAGE} cannot be pulled (${why}): let the Docker engine reach docker.io, or docker load an archive of that image`,
    );
  });
}

/** The whole of Kubernetes in one container; it goes with the process, which its session sees to. */
export const k3s: Way = {
  source: 'k3s',
  needs: `a Docker engine that \`docker info\` reaches, with ${IMAGE} or a way to pull it (K3s runs in a container)`,
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
  obtain: obtainImage,
  async prepare() {},
  // Nothing runs there but the API and its controllers.
  start: (options) => startK3s({ ...options, disable: [...UNUSED, 'coredns'], node: false }),
};

/** The same with its node. */
export const k3sNode: Way = {
  ...k3s,
  start: (options) => startK3s({ ...options, disable: UNUSED, node: true }),
};
