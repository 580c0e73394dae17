import type { ProvenKey } from '../../src/accounts/registry.ts';
import { parseConfig, type RawOptions } from '../../src/config.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { Secret } from '../../src/lib/secret.ts';
import { type OperatorOptions, type Wiring, wire } from '../../src/main/wiring.ts';
import { createMetricRegistry } from '../../src/server/metric-registry.ts';
import { createRentalMetrics } from '../../src/server/rental-metrics.ts';
import { createRuntimeMetrics } from '../../src/server/runtime-metrics.ts';
import type { JsonObject } from '../simulation/memory-kube/json.ts';
import type { MemoryKube } from '../simulation/memory-kube/memory-kube.ts';
import { memoryCluster } from './memory-cluster.ts';
import { noCredentials } from './no-credentials.ts';
import { LOGIN } from './observed-account.ts';
import type { VirtualClock } from './virtual-clock.ts';

/** A key that proved the login of the accounts of tests, and may do everything. */
export const PROVEN: ProvenKey = {
  login: LOGIN,
  key: new Secret('key'),
  use: 'full',
  user: { credit: undefined, sshKeyRegistered: undefined, mayDestroy: true },
};

/** An object as a person writes it. */
interface Created {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
  readonly spec: object;
}

/** Shared parts of the controllers, on an in-memory cluster. */
export interface Wired {
  readonly wiring: Wiring;
  readonly memory: MemoryKube;
  readonly clock: VirtualClock;
  /** Puts an object of one of our kinds into the cluster; what it names none of is in `red`. */
  create(plural: string, object: Created): void;
  /** Starts the copies of all kinds and lets the first lists arrive. */
  sync(): Promise<void>;
  /** Ends what a test may have started. */
  end(): Promise<void>;
}

/** Wires under these flags, in a cluster with the namespaces `red`, `blue` and that of the operator. */
export function wiredUnder(
  flags: RawOptions,
  options: Pick<OperatorOptions, 'leaseTransport' | 'pod'> = {},
): Wired {
  const { memory, clock } = memoryCluster();
  const registry = createMetricRegistry();
  const wiring = wire({
    config: parseConfig(flags, {}),
    env: {
      clock,
      random: seededRandom(1),
      log: silentLogger,
      kube: memory.transport,
      marketplace: () => Promise.reject(new Error('nothing is asked of the marketplace')),
    },
    kubeOrigin: 'https://memory',
    credentials: noCredentials,
    processName: 'process',
    metrics: createRuntimeMetrics(registry),
    rentalMetrics: createRentalMetrics(registry),
    prober: async () => undefined,
    ...options,
  });
  for (const name of ['red', 'blue', 'gpu-rental-system']) {
    const address = { kind: memory.kind('namespaces'), namespace: undefined, name };
    memory.writes.create(address, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  const caches = Object.values(wiring.caches);
  return {
    wiring,
    memory,
    clock,
    create(plural, object) {
      // As an API server gets it: without what is undefined.
      const sent = JSON.parse(JSON.stringify(object)) as JsonObject;
      const { name, namespace = 'red' } = object.metadata;
      memory.writes.create({ kind: memory.kind(plural), namespace, name }, sent);
    },
    async sync() {
      for (const cache of caches) cache.start();
      await clock.advance(1_000);
    },
    async end() {
      wiring.connections.closeAll();
      await Promise.all(caches.map((cache) => cache.stop()));
    },
  };
}
