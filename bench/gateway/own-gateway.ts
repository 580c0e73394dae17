import { join } from 'node:path';
import { NODE_FLAGS } from '../../scripts/image/root-files.ts';
import { until } from '../../test/builders/until.ts';
import { findFreePort } from '../../test/cluster/free-port.ts';
import { imageEnvironment } from '../operator/image-environment.ts';
import { type Child, startChild } from './child.ts';
import { type Envoy, startEnvoy, steeredConfig } from './envoys.ts';
import { type GatewayKube, MAPPED, NAMESPACE } from './gateway-kube.ts';
import type { Target } from './load.ts';

/** `gpu-rent endpoint-picker` as it ships, and its Envoy. */
export interface OwnGateway {
  readonly picker: Child;
  readonly envoy: Envoy;
  targetOf(group: string): Target;
  /** Returns the sum of a metric of the picker over its label values. */
  metric(name: string, labels?: string): Promise<number>;
  stop(): Promise<void>;
}

/** Bundle that ships; `npm run build` creates it. */
export const BUNDLE = join(import.meta.dirname, '..', '..', 'dist', 'gpu-rent.mjs');

export interface OwnGatewayOptions {
  readonly kube: Pick<GatewayKube, 'kubeconfig'>;
  readonly folder: string;
  /** Path of the picker's CPU profile, written when it ends. */
  readonly profile?: string | undefined;
  /** URL at which the operator accepts reports. */
  readonly operatorUrl?: string | undefined;
}

/** Resolves when Envoy has its clusters. */
export async function startOwnGateway(options: OwnGatewayOptions): Promise<OwnGateway> {
  const { kube, folder, profile, operatorUrl } = options;
  const [grpcPort, pagesPort] = [await findFreePort(), await findFreePort()];
  const picker = startChild({
    name: 'picker',
    command: process.execPath,
    args: [
      ...(profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profile]),
      // Not what it imports there.
      ...NODE_FLAGS.filter((flag) => flag.startsWith('--max-')),
      ...[BUNDLE, 'endpoint-picker', '--kubeconfig', kube.kubeconfig, '--address-map', MAPPED],
      ...['--bind-address', `127.0.0.1:${grpcPort}`, '--metrics-bind-address', `127.0.0.1:${pagesPort}`],
      ...['--log-level', 'warn', '--shutdown-grace', '0s'],
      ...(operatorUrl === undefined ? [] : ['--operator-url', operatorUrl]),
    ],
    env: imageEnvironment(),
    logFolder: folder,
  });
  const envoy = await startEnvoy('envoy-of-picker', folder, (port) => steeredConfig(port, grpcPort));
  await until('the picker is ready', async () => {
    picker.check();
    const page = await fetch(`http://127.0.0.1:${pagesPort}/readyz`).catch(() => undefined);
    return page?.ok === true;
  });
  return {
    ...{ picker, envoy },
    targetOf: (group) => ({ origin: envoy.origin, prefix: `/${NAMESPACE}/${group}` }),
    async metric(name, labels = '') {
      const page = await pageOf(`http://127.0.0.1:${pagesPort}/metrics`);
      const lines = page.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(labels));
      return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
    },
    async stop() {
      await picker.stop();
      await envoy.stop();
    },
  };
}

/** Reads a page; retries once, because the server may have just closed the kept connection. */
async function pageOf(url: string): Promise<string> {
  const read = async (): Promise<string> => (await fetch(url)).text();
  return read().catch(read);
}
