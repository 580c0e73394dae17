import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { API_VERSION, endpointGroupResource, gpuInstanceResource } from '../../src/api/v1alpha1/names.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { seededRandom, systemRandom } from '../../src/lib/random.ts';
import { endpointSliceResource } from '../../src/runtime/kube/core-resources.ts';
import { createKubeClient, type KubeClient } from '../../src/runtime/kube/kube-client.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import { definitions } from '../../test/builders/memory-cluster.ts';
import { noCredentials } from '../../test/builders/no-credentials.ts';
import { publishSlice } from '../../test/builders/worker-slice.ts';
import { createMemoryKube } from '../../test/simulation/memory-kube/memory-kube.ts';
import { serveKube } from '../memory/serve-kube.ts';
import type { Backend } from './backends.ts';

/**
 * A Kubernetes API in memory, over HTTP, with groups and the slices of their workers. The picker lists and watches there as
 * it does elsewhere, and asks it nothing for a request, so that a real API server would only take longer to start.
 */
export interface GatewayKube {
  readonly kubeconfig: string;
  readonly client: KubeClient;
  createGroup(name: string, gateway?: Readonly<Record<string, unknown>>): Promise<void>;
  /** Publishes workers as the operator does. They are at 203.0.113.1, each on its own port: see {@link MAPPED}. */
  publish(group: string, backends: readonly Pick<Backend, 'name' | 'ownPort'>[]): Promise<void>;
  unpublish(group: string): Promise<void>;
  close(): Promise<void>;
}

export const NAMESPACE = 'default';
/** For `--address-map`: slices take no loopback addresses. */
export const MAPPED = '203.0.113.0/24=127.0.0.1';

export async function openGatewayKube(folder: string): Promise<GatewayKube> {
  const memory = createMemoryKube({ clock: systemClock, random: seededRandom(1), definitions });
  const client = createKubeClient({
    transport: memory.transport,
    origin: 'http://memory',
    credentials: noCredentials,
    ...{ clock: systemClock, random: systemRandom, log: silentLogger },
  });
  const served = await serveKube(memory.transport);
  const names = new Map<string, readonly string[]>();
  return {
    ...{ kubeconfig: writeKubeconfig(folder, served.origin), client },
    async createGroup(name, gateway = {}) {
      const ports = [{ name: 'http', containerPort: 8000 }];
      const template = { spec: { image: 'example/worker:1', offers: [{ maxPricePerHour: '1' }], ports } };
      await client.create(endpointGroupResource, {
        apiVersion: API_VERSION,
        kind: 'EndpointGroup',
        metadata: { namespace: NAMESPACE, name },
        spec: { gateway, template },
      } as KubeObject);
    },
    async publish(group, backends) {
      const slices = backends.map(({ name, ownPort: port }) => {
        const worker = `${group}-${name}`;
        return { ...{ namespace: NAMESPACE, group, worker, port }, slice: `${worker}-endpoint` };
      });
      for (const slice of slices) await publishSlice(client, slice);
      names.set(
        group,
        slices.map(({ slice }) => slice),
      );
    },
    async unpublish(group) {
      for (const name of names.get(group) ?? []) {
        await client.delete(endpointSliceResource, { namespace: NAMESPACE, name });
        const worker = name.replace(/-endpoint$/, '');
        await client.delete(gpuInstanceResource, { namespace: NAMESPACE, name: worker });
      }
    },
    close: () => served.close(),
  };
}

function writeKubeconfig(folder: string, server: string): string {
  const path = join(folder, 'kubeconfig.json');
  const context = { name: 'bench', context: { cluster: 'bench', user: 'bench' } };
  const settings = { clusters: [{ name: 'bench', cluster: { server } }], contexts: [context] };
  const users = [{ name: 'bench', user: { token: 'none' } }];
  writeFileSync(path, JSON.stringify({ ...settings, users, 'current-context': 'bench' }));
  return path;
}
