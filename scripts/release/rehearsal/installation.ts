import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cluster, startCluster } from '../../../test/cluster/cluster.ts';
import { ownNode } from '../../../test/cluster/node/own-node.ts';
import { untilOurKindsAreServed } from '../../../test/crds/install.ts';
import { helmTransport } from '../charts.ts';
import type { Program } from '../programs.ts';
import type { ReleaseSettings } from '../settings.ts';
import { openNodeRegistry } from './node-registry.ts';

const NAMESPACE = 'gpu-rental-system';
const NAME = 'gpu-rental-operator';
const APPLY_ATTEMPTS = 30;
const APPLY_PAUSE_MS = 1000;

export interface Installation {
  readonly settings: ReleaseSettings;
  /** Digest of the image. */
  readonly digest: string;
  readonly repository: string;
  readonly helm: Program;
  readonly crane: Program;
}

/**
 * Installs the release: both charts from the registry, then the quick start with the registry's image. On a node, if
 * this machine can be one, the image is pulled from the registry, and a machine becomes ready; elsewhere it is
 * installed on an API server alone, which runs no container. Rejects unless the Deployments name the released image,
 * and on the node unless the containers run it.
 */
export async function installReleased(installation: Installation): Promise<string> {
  const usability = await ownNode.check(process.env);
  if (usability.type !== 'unusable') return installOnNode(installation);
  const cluster = await startCluster({ report: () => {} });
  try {
    await installCharts(cluster, installation);
    await applyQuickstart(cluster, installation);
    await cluster.kubectl(['get', 'gpui/first', '--namespace', 'default']);
    return `charts and quick start on ${cluster.source}, where no container runs (${usability.why}; a node needs ${ownNode.needs})`;
  } finally {
    await cluster.stop();
  }
}

async function installOnNode(installation: Installation): Promise<string> {
  const cluster = await startCluster({ node: true, only: ownNode.source, report: () => {} });
  try {
    const registry = await openNodeRegistry(cluster.node, installation.settings.host);
    try {
      await installCharts(cluster, installation, async () => requirePulled(cluster, installation));
      const startedAt = performance.now();
      const manifests = await applyQuickstart(cluster, installation);
      await cluster.kubectl(['wait', 'gpui/first', '--for=condition=Ready', '--timeout=2m']);
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      await requirePulled(cluster, installation);
      await endQuickstart(cluster, manifests);
      return `charts and quick start on a node that pulled the image, first machine ready after ${seconds} s`;
    } finally {
      await registry.close();
    }
  } finally {
    await cluster.stop();
  }
}

/** `whenReady` makes Helm wait for the Pods, and runs while they do. */
async function installCharts(
  cluster: Cluster,
  { settings, digest, helm }: Installation,
  whenReady?: () => Promise<void>,
): Promise<void> {
  const where = ['--namespace', NAMESPACE, '--kubeconfig', cluster.kubeconfigPath];
  const wait = whenReady === undefined ? [] : ['--wait', '--timeout=120s'];
  const install = (chart: string, ...values: readonly string[]): Promise<string> => {
    const source = [`oci://${settings.charts}/${chart}`, '--version', settings.version];
    const transport = helmTransport(settings.host);
    return helm(['install', chart, ...source, ...transport, ...where, '--create-namespace', ...values]);
  };
  await install(`${NAME}-crds`);
  await untilOurKindsAreServed(cluster.admin);
  await install(NAME, '--set', 'crds.enabled=false', ...wait);
  await requireImages(cluster, [`${settings.image}@${digest}`]);
  await whenReady?.();
  for (const release of [NAME, `${NAME}-crds`]) await helm(['uninstall', release, ...where, ...wait]);
}

/** Resolves with what was applied. */
async function applyQuickstart(
  cluster: Cluster,
  { settings, digest, repository, crane }: Installation,
): Promise<string> {
  const tagged = `${settings.image}:${settings.version}`;
  const text = readFileSync(join(repository, 'deploy/quickstart.yaml'), 'utf8');
  const manifests = text.replaceAll(/(?<=^ *image: )ghcr\.io\/\S+$/gm, tagged);
  await applyUntilServed(cluster, manifests);
  await requireImages(cluster, [tagged, tagged]);
  const published = (await crane(['digest', tagged])).trim();
  if (published !== digest)
    throw new Error(`${tagged} of the quick start is ${published} instead of ${digest}`);
  return manifests;
}

/** Applies twice: the first round creates the kinds and the second their objects, as the head of the file describes. */
async function applyUntilServed(cluster: Cluster, manifests: string): Promise<void> {
  // The chart keeps the CRDs, and Helm was their manager.
  const args = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
  for (let attempt = 1; ; attempt += 1) {
    try {
      await cluster.kubectl(args, { stdin: manifests });
      return;
    } catch (error) {
      if (attempt === APPLY_ATTEMPTS) throw error;
      await sleep(APPLY_PAUSE_MS);
    }
  }
}

/** Ends the quick start as the head of the file describes. Rejects if a Pod remains. */
async function endQuickstart(cluster: Cluster, manifests: string): Promise<void> {
  await cluster.kubectl(['delete', 'gpui/first', 'gpuacct/default', '--timeout=60s']);
  const everything = ['delete', '-f', '-', '--ignore-not-found', '--timeout=60s'];
  await cluster.kubectl(everything, { stdin: manifests });
  const left = await cluster.kubectl(['get', 'pods', '--namespace', NAMESPACE, '-o', 'name']);
  if (left !== '') throw new Error(`The quick start left ${left.trim()}`);
}

async function requireImages(cluster: Cluster, expected: readonly string[]): Promise<void> {
  const path = 'jsonpath={.spec.template.spec.containers[*].image}';
  const named = await cluster.kubectl(['get', 'deployment', NAME, '--namespace', NAMESPACE, '-o', path]);
  if (named !== expected.join(' '))
    throw new Error(`The installed Deployment runs ${named} instead of ${expected.join(' ')}`);
}

/** Rejects for an image that was imported instead of pulled: it has no digest of a registry. */
async function requirePulled(cluster: Cluster, { settings, digest }: Installation): Promise<void> {
  const path = 'jsonpath={.items[*].status.containerStatuses[*].imageID}';
  const run = (await cluster.kubectl(['get', 'pods', '--namespace', NAMESPACE, '-o', path])).split(' ');
  const expected = `${settings.image}@${digest}`;
  const other = run.find((image) => image !== expected);
  if (other !== undefined) throw new Error(`A container runs ${other || 'nothing'} instead of ${expected}`);
}
