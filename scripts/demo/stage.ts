import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { statusCodec } from '../../src/api/v1alpha1/status-codec.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { Secret } from '../../src/lib/secret.ts';
import { secretResource } from '../../src/runtime/kube/core-resources.ts';
import { tokenCredentials } from '../../src/runtime/kube/credentials.ts';
import { createKubeClient, type KubeClient } from '../../src/runtime/kube/kube-client.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import { createTransport } from '../../src/runtime/kube/undici-transport.ts';
import { type Cluster, prepareCluster, startCluster } from '../../test/cluster/cluster.ts';
import { untilInterrupted } from './ending.ts';
import { type LogListener, type RunningProcess, startGpuRent } from './processes.ts';
import { type Marketplace, openSimulator } from './simulator.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');

/** The short durations of a demo; each is a flag of the operator. */
export const DEMO_DURATIONS: Readonly<Record<string, string>> = {
  '--late-call': '5s',
  '--list-lag': '2s',
  '--gone-spacing': '1s',
  '--orphan-age': '5s',
  '--min-poll-interval': '1s',
};

const SYSTEM_NAMESPACE = 'gpu-rental-system';
const OPERATOR_ACCOUNT = 'gpu-rental-operator';
/** Namespace of the demo's objects. */
export const DEMO_NAMESPACE = 'default';

/** Parts of the demo: a real API server, a simulated marketplace, the operator. */
export interface Stage {
  readonly cluster: Cluster;
  readonly client: KubeClient;
  readonly controlUrl: string;
  /** URL of the simulated marketplace, and its key. */
  readonly marketplace: { readonly url: string; readonly apiKey: string };
  readonly logFolder: string;
  /** Returns the end of the operator as a sentence; undefined while it runs, and after {@link killOperator}. */
  operatorEnd(): string | undefined;
  /** Ends the operator by SIGKILL. Resolves when it has ended. */
  killOperator(): Promise<void>;
  /** Starts an operator after {@link killOperator}. */
  startOperator(): Promise<void>;
  /** Ends the operator, the simulator, then the API server. */
  dismantle(): Promise<void>;
}

function clientOf(cluster: Cluster): { client: KubeClient; close: () => Promise<void> } {
  const transport = createTransport({ ca: cluster.caPem, connections: 4 });
  const client = createKubeClient({
    transport,
    origin: cluster.url,
    credentials: tokenCredentials(new Secret(cluster.adminToken)),
    codec: statusCodec,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
  });
  return { client, close: () => transport.close() };
}

/** Creates the Secret with the simulator's key, as a user would. */
async function createKeySecret(client: KubeClient, apiKey: string): Promise<void> {
  const secret: KubeObject & { stringData: Record<string, string> } = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'marketplace-key', namespace: DEMO_NAMESPACE },
    stringData: { 'api-key': apiKey },
  };
  await client.create(secretResource, secret);
}

/** Returns the short path of a sample in the repository. */
export const samplePath = (name: string): string => join('deploy', 'samples', name);

/** Returns the full path of a sample, for a command that works from every folder. */
export const sampleFile = (name: string): string => join(REPOSITORY, samplePath(name));

/** Durations that a demo shortens in a sample, to end within a minute. */
export type Shortening = Readonly<Record<string, unknown>>;

/** Applies a sample to the demo's namespace, with the shorter durations merged into its spec. */
export async function applySample(cluster: Cluster, name: string, spec: Shortening = {}): Promise<void> {
  const file = sampleFile(name);
  const patch = JSON.stringify({ spec });
  const manifest = await cluster.kubectl([
    ...['patch', '--local', '--filename', file],
    ...['--type', 'merge', '--patch', patch, '--output', 'yaml'],
  ]);
  const apply = ['apply', '--server-side', '--namespace', DEMO_NAMESPACE, '--filename', '-'];
  await cluster.kubectl(apply, { stdin: manifest });
}

/** Parts that only some demos need. */
export interface StagePlan {
  /** Prints one line about the progress. */
  readonly tell: (line: string) => void;
  /** Ends the set-up after the step that is under way; a build it leaves to the end of the process. */
  readonly signal: AbortSignal;
  /** Asks for a cluster that runs Pods; without it nothing does. */
  readonly node?: boolean;
  /** Asks for an API server of this computer, which may be killed. */
  readonly own?: boolean;
  /** A `gpu-rent simulator` process unless given. */
  readonly openMarketplace?: (logFolder: string) => Promise<Marketplace>;
  readonly operatorFlags?: readonly string[];
  /** Returns the environment of the operator, and a module to load before it, once the marketplace is open. */
  readonly operatorProcess?: () => Pick<Parameters<typeof startGpuRent>[0], 'env' | 'preload'>;
  /** Installs the admission policies, too. */
  readonly policies?: boolean;
  /** Hears what the operator logs. */
  readonly onLog?: LogListener | undefined;
}

interface OperatorPlan extends Pick<StagePlan, 'onLog' | 'operatorFlags' | 'operatorProcess'> {
  readonly cluster: Cluster;
  readonly url: string;
  readonly logFolder: string;
}

async function startOperator(plan: OperatorPlan, name: string): Promise<RunningProcess> {
  const { cluster, url, logFolder, onLog, operatorFlags = [] } = plan;
  const { kubeconfigPath } = await cluster.kubeconfigFor({
    serviceAccount: { namespace: SYSTEM_NAMESPACE, name: OPERATOR_ACCOUNT },
  });
  return startGpuRent({
    ...{ name, logFolder, onLog, ...plan.operatorProcess?.() },
    args: [
      'operator',
      ...['--kubeconfig', kubeconfigPath, '--namespace', SYSTEM_NAMESPACE],
      ...['--marketplace-url', url, '--address-map', '203.0.113.0/24=127.0.0.1'],
      ...['--metrics-bind-address', '0', '--health-probe-bind-address', '0'],
      ...Object.entries(DEMO_DURATIONS).flat(),
      ...operatorFlags,
    ],
  });
}

/** Sets everything up; what was begun is taken down again where a later step fails. */
export async function setStage(plan: StagePlan): Promise<Stage> {
  const undo: (() => Promise<void>)[] = [];
  const dismantle = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    return { ...(await build(plan, undo)), dismantle };
  } catch (error) {
    await dismantle();
    throw error;
  }
}

/** Builds the stage. Each step adds its clean-up to `undo`. */
async function build(plan: StagePlan, undo: (() => Promise<void>)[]): Promise<Omit<Stage, 'dismantle'>> {
  const { tell, signal, node = false, own = false } = plan;
  const report = tell;
  await Promise.race([prepareCluster({ report, node, own }), untilInterrupted(signal)]);
  const cluster = await startCluster({ report, node, own });
  undo.push(() => cluster.stop());
  signal.throwIfAborted();
  tell(`Kubernetes API ready (${cluster.source}).`);
  const { client, close } = clientOf(cluster);
  undo.push(close);
  const logFolder = join(cluster.folder, 'logs');
  mkdirSync(logFolder, { recursive: true });
  const marketplace = await (plan.openMarketplace ?? openUnlimited)(logFolder);
  undo.push(() => marketplace.stop());
  signal.throwIfAborted();
  const { url, apiKey, controlUrl } = marketplace;
  tell(`Simulated marketplace at ${url}.`);
  await install(cluster, plan);
  await createKeySecret(client, apiKey);
  signal.throwIfAborted();
  const operator = new OperatorSwitch({ ...plan, cluster, url, logFolder });
  await operator.start();
  undo.push(() => operator.stop());
  return {
    ...{ cluster, client, controlUrl, marketplace: { url, apiKey }, logFolder },
    operatorEnd: () => operator.end,
    killOperator: () => operator.kill(),
    startOperator: () => operator.start(),
  };
}

/** The operator of a stage: one process after the other. */
class OperatorSwitch {
  /** Sentence about an unexpected end. */
  end: string | undefined;
  readonly #plan: OperatorPlan;
  #process: RunningProcess | undefined;
  #starts = 0;

  constructor(plan: OperatorPlan) {
    this.#plan = plan;
  }

  async start(): Promise<void> {
    this.#starts += 1;
    // Each process has a log of its own.
    const name = this.#starts === 1 ? 'operator' : `operator-${this.#starts}`;
    const started = await startOperator(this.#plan, name);
    this.#process = started;
    void started.ended.then((why) => {
      if (this.#process === started) this.end = why;
    });
  }

  async kill(): Promise<void> {
    const killed = this.#process;
    this.#process = undefined;
    if (killed?.pid === undefined) return;
    process.kill(killed.pid, 'SIGKILL');
    await killed.ended;
  }

  async stop(): Promise<void> {
    const stopped = this.#process;
    this.#process = undefined;
    await stopped?.stop();
  }
}

/** Installs the operator's objects in the cluster; the operator runs as a process beside it. */
async function install(cluster: Cluster, { policies = false }: StagePlan): Promise<void> {
  const base = ['crds', 'namespace.yaml', 'service-account.yaml', 'rbac.yaml'].map((part) =>
    join('base', part),
  );
  const guards = ['admission-policies/policies.yaml', 'in-use-guard/guard.yaml'].map((file) =>
    join('components', file),
  );
  const parts = policies ? [...base, ...guards] : base;
  for (const part of parts) {
    await cluster.kubectl(['apply', '--server-side', '-f', join(REPOSITORY, 'deploy', part)]);
  }
}

/**
 * Opens a marketplace without rate limits: polled each second, the service would refuse every other call of a user with
 * the same key.
 */
const openUnlimited = (logFolder: string): Promise<Marketplace> =>
  openSimulator(logFolder, '--no-rate-limits');
