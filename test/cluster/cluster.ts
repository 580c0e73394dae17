import { type ClusterAccess, connectTo } from './connect.ts';
import type { ClusterConnection, ClusterSource } from './connection.ts';
import { existingCluster, existingNode } from './existing-cluster.ts';
import { goToolchain } from './go-toolchain.ts';
import { k3s, k3sNode } from './k3s.ts';
import { kubebuilderAssets } from './kubebuilder-assets.ts';
import type { NodeAccess } from './node/access.ts';
import { ownNode } from './node/own-node.ts';
import type { NodeTimes } from './node/ready.ts';
import type { AuditOptions } from './site.ts';
import type { ApiServerSwitch, StartedCluster, StartOptions, Usability, Way } from './way.ts';

/** Ways to a cluster in order: explicitly requested ones before detected ones, fast ones before slow ones. */
const WAYS: readonly Way[] = [existingCluster, kubebuilderAssets, k3s, goToolchain];
/** Ways to a control plane that is processes of this computer, with its data in the folder of the cluster. */
const OWN_WAYS: readonly Way[] = [kubebuilderAssets, goToolchain];
/** Ways to a cluster that runs Pods. */
const NODE_WAYS: readonly Way[] = [existingNode, ownNode, k3sNode];

export interface ClusterOptions {
  /** Default: this process's. */
  readonly env?: NodeJS.ProcessEnv;
  /** Asks for an audit log; `auditLogPath` says whether there is one. */
  readonly audit?: AuditOptions;
  /** Asks for a cluster that runs Pods; without it nothing does. */
  readonly node?: boolean;
  /** Asks for a control plane of processes and files of this computer, which may be killed and deleted. */
  readonly own?: boolean;
  /** Only this way. Default: the first that works. */
  readonly only?: ClusterSource;
  /** Receives lines about what is going on. Default: stderr. */
  readonly report?: (line: string) => void;
}

/** A running cluster and the means to end it. */
export interface Cluster extends ClusterAccess {
  /** Connection that another process passes to `connectTo`. */
  readonly connection: ClusterConnection;
  /** Milliseconds from the start of the API server, if the node is of this machine. */
  readonly nodeTimes: NodeTimes | undefined;
  /** Switch of the API server; undefined if it belongs to others, as in an existing cluster and in K3s. */
  readonly apiServer: ApiServerSwitch | undefined;
  processIds(): Readonly<Record<string, number>>;
  /** Stops the API server, then etcd. Leaves nothing behind, on this machine or in an existing cluster. */
  stop(): Promise<void>;
}

/** A cluster that runs Pods. */
export interface NodeCluster extends Cluster {
  readonly node: NodeAccess;
}

interface Refusal {
  readonly way: Way;
  readonly why: string;
}

function noWay(refusals: readonly Refusal[], node: boolean): Error {
  const lines = refusals.map(({ way, why }, index) => `  ${index + 1}. ${way.needs}\n     now: ${why}`);
  const what = node ? 'No Kubernetes node' : 'No Kubernetes API';
  return new Error(`${what} can be had here. Provide one of these:\n${lines.join('\n')}`);
}

/** Returns the usability of a way, after it has obtained what it downloads. */
async function checkWay(way: Way, options: StartOptions): Promise<Usability> {
  const usability = await way.check(options.env);
  if (usability.type === 'unusable') return usability;
  try {
    await way.obtain?.(options);
    return usability;
  } catch (error) {
    return { type: 'unusable', why: error instanceof Error ? error.message : String(error) };
  }
}

/** Goes the first way that can be gone, to the end of `go`. */
async function takeFirstWay<Result>(
  ways: readonly Way[],
  options: StartOptions,
  go: (way: Way) => Promise<Result>,
): Promise<Result> {
  const refusals: Refusal[] = [];
  for (const [at, way] of ways.entries()) {
    const usability = await checkWay(way, options);
    if (usability.type === 'unusable') {
      refusals.push({ way, why: usability.why });
      continue;
    }
    if (usability.type === 'asked') return go(way);
    try {
      return await go(way);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (at < ways.length - 1) options.report(`${way.source} did not work: ${why}`);
      refusals.push({ way, why });
    }
  }
  throw noWay(
    refusals,
    ways.every((way) => NODE_WAYS.includes(way)),
  );
}

function complete({ env, audit, report, only, node = false, own = false }: ClusterOptions): {
  ways: readonly Way[];
  options: StartOptions;
} {
  return {
    ways: (node ? NODE_WAYS : own ? OWN_WAYS : WAYS).filter(
      (way) => only === undefined || way.source === only,
    ),
    options: {
      env: env ?? process.env,
      audit,
      report: report ?? ((line) => process.stderr.write(`${line}\n`)),
    },
  };
}

function hold(started: StartedCluster): Cluster {
  const { connection, apiServer, processIds, nodeTimes } = started;
  const access = connectTo(connection);
  return {
    ...access,
    connection,
    nodeTimes,
    apiServer,
    processIds,
    async stop() {
      await access.disconnect();
      await started.stop();
    },
  };
}

/**
 * Starts a Kubernetes API for tests or the demo. Tries in order: an existing cluster and KUBEBUILDER_ASSETS if the
 * environment requests them, K3s if a Docker engine answers, a build from Go modules. If none works, one error names
 * all four. With a node: an existing cluster that accepts images, a node on this machine, or K3s.
 */
export async function startCluster(given: ClusterOptions & { readonly node: true }): Promise<NodeCluster>;
export async function startCluster(given?: ClusterOptions): Promise<Cluster>;
export async function startCluster(given: ClusterOptions = {}): Promise<Cluster> {
  const { ways, options } = complete(given);
  return hold(await takeFirstWay(ways, options, (way) => way.start(options)));
}

/** Completes slow one-time work, such as the build, for the way that {@link startCluster} will choose. */
export async function prepareCluster(given: ClusterOptions = {}): Promise<ClusterSource> {
  const { ways, options } = complete(given);
  return takeFirstWay(ways, options, async (way) => {
    await way.prepare(options);
    return way.source;
  });
}

/**
 * Returns true if the environment names a cluster, which is then used as it is. Rejects if that cluster is unusable.
 */
export async function isClusterNamed(env: NodeJS.ProcessEnv): Promise<boolean> {
  const found = await Promise.all([existingCluster, kubebuilderAssets].map((way) => way.check(env)));
  return found.some(({ type }) => type === 'asked');
}

/** Returns one line with the reason why no Pod can run here and how to change that; undefined if a way can be tried. */
export async function whyNoNode(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { options } = complete({ env });
  const reasons: string[] = [];
  for (const way of NODE_WAYS) {
    const usability = await checkWay(way, options);
    if (usability.type !== 'unusable') return undefined;
    if (way !== existingNode) reasons.push(usability.why);
  }
  return `Tests that run Pods are skipped (${reasons.join('; ')}): they need ${ownNode.needs}; or ${k3sNode.needs}; or ${existingNode.needs}.`;
}

/**
 * Returns true if a node can start immediately: the way that {@link startCluster} will choose has nothing left to
 * build.
 */
export async function isNodePrepared(env: NodeJS.ProcessEnv): Promise<boolean> {
  const { options } = complete({ env });
  for (const way of NODE_WAYS) {
    const usability = await checkWay(way, options);
    if (usability.type !== 'unusable') return way.isPrepared?.(env) ?? true;
  }
  return false;
}
