import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cluster, startCluster } from '../../../test/cluster/cluster.ts';
import { untilOurKindsAreServed } from '../../../test/crds/install.ts';
import { helmTransport } from '../charts.ts';
import type { Program } from '../programs.ts';
import type { ReleaseSettings } from '../settings.ts';

const NAMESPACE = 'gpu-rental-system';
const NAME = 'gpu-rental-operator';
const APPLY_ATTEMPTS = 30;
const APPLY_PAUSE_MS = 1000;

export interface Installation {
  readonly settings: ReleaseSettings;
  /** Of the image. */
  readonly digest: string;
  readonly repository: string;
  readonly helm: Program;
  readonly crane: Program;
}

/**
 * Installs what was released on a Kubernetes API: both charts from the registry, then the quick start with the
 * registry's image. Rejects unless the Deployments name the released image. Without a node no container runs.
 */
export async function installReleased(installation: Installation): Promise<string> {
  const cluster = await startCluster({ report: () => {} });
  try {
    await installCharts(cluster, installation);
    await applyQuickstart(cluster, installation);
    return `charts and quick start on ${cluster.source}, without a node`;
  } finally {
    await cluster.stop();
  }
}

async function installCharts(cluster: Cluster, { settings, digest, helm }: Installation): Promise<void> {
  const where = ['--namespace', NAMESPACE, '--kubeconfig', cluster.kubeconfigPath];
  const install = (chart: string, ...values: readonly string[]): Promise<string> => {
    const source = [`oci://${settings.charts}/${chart}`, '--version', settings.version];
    const transport = helmTransport(settings.host);
    return helm(['install', chart, ...source, ...transport, ...where, '--create-namespace', ...values]);
  };
  await install(`${NAME}-crds`);
  await untilOurKindsAreServed(cluster.admin);
  await install(NAME, '--set', 'crds.enabled=false');
  await requireImages(cluster, [`${settings.image}@${digest}`]);
  for (const release of [NAME, `${NAME}-crds`]) await helm(['uninstall', release, ...where]);
}

async function applyQuickstart(
  cluster: Cluster,
  { settings, digest, repository, crane }: Installation,
): Promise<void> {
  const tagged = `${settings.image}:${settings.version}`;
  const text = readFileSync(join(repository, 'deploy/quickstart.yaml'), 'utf8');
  const manifests = text.replaceAll(/(?<=^ *image: )ghcr\.io\/\S+$/gm, tagged);
  await applyUntilServed(cluster, manifests);
  await requireImages(cluster, [tagged, tagged]);
  const published = (await crane(['digest', tagged])).trim();
  if (published !== digest)
    throw new Error(`${tagged} of the quick start is ${published} instead of ${digest}`);
  await cluster.kubectl(['get', 'gpui/first', '--namespace', 'default']);
}

/** The first round brings the kinds and the second their objects, as the head of the file says. */
async function applyUntilServed(cluster: Cluster, manifests: string): Promise<void> {
  // The chart keeps the definitions, and Helm was their manager.
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

async function requireImages(cluster: Cluster, expected: readonly string[]): Promise<void> {
  const path = 'jsonpath={.spec.template.spec.containers[*].image}';
  const named = await cluster.kubectl(['get', 'deployment', NAME, '--namespace', NAMESPACE, '-o', path]);
  if (named !== expected.join(' '))
    throw new Error(`The installed Deployment runs ${named} instead of ${expected.join(' ')}`);
}
