import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { parseConfig } from '../../src/config.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { seededRandom } from '../../src/lib/random.ts';
import type { Transport } from '../../src/lib/transport.ts';
import { createOperator, type Operator } from '../../src/main/operator.ts';
import { createMetricRegistry } from '../../src/server/metric-registry.ts';
import { createRentalMetrics } from '../../src/server/rental-metrics.ts';
import { createRuntimeMetrics } from '../../src/server/runtime-metrics.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { noCredentials } from '../../test/builders/no-credentials.ts';
import { type JsonObject, metadataOf, objectAt } from '../../test/simulation/memory-kube/json.ts';
import { createMemoryKube, type MemoryKube } from '../../test/simulation/memory-kube/memory-kube.ts';
import { Scheduler, worldClock } from '../../test/simulation/scheduler.ts';
import { type CountedClock, countedClock } from './counted-clock.ts';

const NAMESPACE = 'default';
const SYSTEM_NAMESPACE = 'gpu-rental-system';
const MARKETPLACE = 'http://127.0.0.1:9';
const CRDS = join(import.meta.dirname, '..', '..', 'crds');
/** Kubernetes keeps events for an hour. */
const EVENT_LIFE_MS = 3_600_000;
const WATCHED = new Set(['gpuinstances']);

const byName = (name: string): JsonObject => ({ metadata: { name } });

/** An operator without faults on a virtual clock, between a cluster and a marketplace that keep no history. */
export class SoakWorld {
  readonly scheduler: Scheduler;
  readonly operatorClock: CountedClock;
  readonly operator: Operator;
  readonly #kube: MemoryKube;
  readonly #market: Simulator;
  /** Changes of instances that the watch has told. */
  watchEvents = 0;
  #created = 0;

  constructor(options: { readonly instances: number; readonly seed: number }) {
    const random = seededRandom(options.seed);
    this.scheduler = new Scheduler({ startMs: Date.UTC(2026, 0, 5), random });
    const clock = worldClock(this.scheduler);
    this.operatorClock = countedClock(clock);
    const definitions = readdirSync(CRDS).map(
      (file) => parse(readFileSync(join(CRDS, file), 'utf8')) as JsonObject,
    );
    this.#kube = createMemoryKube({ clock, random, definitions });
    this.#market = createSimulator({
      seed: options.seed,
      clock,
      random,
      catalog: options.instances * 6 + 500,
      apiKey: 'soak-key',
      settings: { boot: { scale: 0.1 }, pauses: { scale: 0 }, billing: { initialCredit: 1e9 } },
    });
    this.#kube.store.onCommit(({ kind }) => {
      if (WATCHED.has(kind.plural)) this.watchEvents += 1;
    });
    this.#prepare();
    this.operator = this.#startOperator();
  }

  get living(): readonly string[] {
    return this.#kube.store.all(this.#kube.kind('gpuinstances')).flatMap((object) => {
      const { name, deletionTimestamp } = metadataOf(object);
      return deletionTimestamp === undefined ? [String(name)] : [];
    });
  }

  /** Instances that run, by their own status. */
  get running(): number {
    const objects = this.#kube.store.all(this.#kube.kind('gpuinstances'));
    return objects.filter((object) => objectAt(object, 'status')['phase'] === 'Running').length;
  }

  createInstance(): void {
    this.#created += 1;
    this.#create('gpuinstances', `soak-${this.#created}`, {
      apiVersion: 'gpurental.dev/v1alpha1',
      kind: 'GpuInstance',
      spec: { offers: [{ maxPricePerHour: '90' }], image: 'example/work:1', service: { enabled: false } },
    });
  }

  delete(name: string): void {
    const kind = this.#kube.kind('gpuinstances');
    this.#kube.writes.delete({ kind, namespace: NAMESPACE, name }, {});
  }

  /** Changes an object so that the operator reconciles it but need not act. */
  touch(name: string, mark: number): void {
    const address = { kind: this.#kube.kind('gpuinstances'), namespace: NAMESPACE, name };
    this.#kube.writes.update(
      address,
      (current) => {
        const metadata = metadataOf(current);
        const annotations = { ...objectAt(metadata, 'annotations'), 'example.com/mark': String(mark) };
        return { ...current, metadata: { ...metadata, annotations } };
      },
      undefined,
    );
  }

  /**
   * Removes old data as etcd, the event TTL and a marketplace's archive do: otherwise the world would grow, not the
   * operator.
   */
  forgetHistory(): void {
    const kind = this.#kube.kind('events');
    for (const event of this.#kube.store.all(kind)) {
      const metadata = metadataOf(event);
      const age = this.scheduler.now - Date.parse(String(metadata['creationTimestamp']));
      if (age > EVENT_LIFE_MS) this.#kube.store.commit('DELETED', kind, event);
    }
    this.#kube.store.compact();
    const { store } = this.#market;
    for (const { id, endedAt } of Object.values(store.current().tables.endedContracts)) {
      if (this.scheduler.now - endedAt > EVENT_LIFE_MS) store.remove('endedContracts', id);
    }
    for (const key of Object.values(store.current().tables.apiKeys)) {
      if (key.revokedAt !== null) store.remove('apiKeys', key.id);
    }
  }

  /** Ends the operator as SIGTERM does. */
  async stop(withinMs: number): Promise<void> {
    const stopped = this.operator.manager.stop();
    await this.scheduler.runUntil(this.scheduler.now + withinMs, () => true);
    await stopped;
  }

  #prepare(): void {
    const namespaces = this.#kube.kind('namespaces');
    const address = { kind: namespaces, namespace: undefined, name: SYSTEM_NAMESPACE };
    this.#kube.writes.create(address, byName(SYSTEM_NAMESPACE));
    this.#create('secrets', 'marketplace-key', {
      data: { 'api-key': Buffer.from(this.#market.apiKey).toString('base64') },
    });
    this.#create('marketplaceaccounts', 'default', {
      apiVersion: 'gpurental.dev/v1alpha1',
      kind: 'MarketplaceAccount',
      spec: { apiKeySecretRef: { name: 'marketplace-key', key: 'api-key' }, pollInterval: '60s' },
    });
  }

  #create(plural: string, name: string, body: JsonObject): void {
    const kind = this.#kube.kind(plural);
    this.#kube.writes.create({ kind, namespace: NAMESPACE, name }, { ...body, metadata: { name } });
  }

  #startOperator(): Operator {
    const registry = createMetricRegistry();
    const config = parseConfig(
      {
        namespace: SYSTEM_NAMESPACE,
        marketplaceUrl: [MARKETPLACE],
        metricsBindAddress: '0',
        healthProbeBindAddress: '0',
        pacing: 'off',
        maxRentalsPerHour: '100000',
        maxLiveMachines: '100000',
        maxDollarsPerHour: '1000000',
      },
      {},
    );
    const operator = createOperator({
      config,
      env: {
        clock: this.operatorClock,
        random: seededRandom(7),
        kube: this.#kube.transport,
        marketplace: soon(this.#market.handle, this.scheduler),
        log: silentLogger,
      },
      kubeOrigin: 'https://memory',
      credentials: noCredentials,
      processName: 'soak',
      metrics: createRuntimeMetrics(registry),
      rentalMetrics: createRentalMetrics(registry),
      prober: async () => undefined,
    });
    void operator.manager.run();
    return operator;
  }
}

/** Returns a transport whose replies take a little virtual time. */
function soon(inner: Transport, scheduler: Scheduler): Transport {
  return async (request) => {
    await scheduler.pause(20);
    return inner(request);
  };
}
