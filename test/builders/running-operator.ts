import { PassThrough } from 'node:stream';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../src/api/v1alpha1/marketplace-account.ts';
import {
  API_VERSION,
  gpuInstanceResource,
  marketplaceAccountResource,
} from '../../src/api/v1alpha1/names.ts';
import { statusCodec } from '../../src/api/v1alpha1/status-codec.ts';
import { parseConfig, type RawOptions } from '../../src/config.ts';
import { type Clock, systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { Secret } from '../../src/lib/secret.ts';
import { type Transport, TransportError, type TransportRequest } from '../../src/lib/transport.ts';
import { exposeOperator } from '../../src/main/exposition.ts';
import { createOperator, type Operator } from '../../src/main/operator.ts';
import { createMachineProber } from '../../src/main/transports.ts';
import { secretResource } from '../../src/runtime/kube/core-resources.ts';
import { tokenCredentials } from '../../src/runtime/kube/credentials.ts';
import { createKubeClient, type KubeClient } from '../../src/runtime/kube/kube-client.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import { createTransport } from '../../src/runtime/kube/undici-transport.ts';
import { createMetricRegistry, type MetricRegistry } from '../../src/server/metric-registry.ts';
import { createLogger } from '../../src/server/pino-logger.ts';
import { createRentalMetrics } from '../../src/server/rental-metrics.ts';
import { createRuntimeMetrics } from '../../src/server/runtime-metrics.ts';
import type { FaultName } from '../../src/simulator/fault-catalogue.ts';
import type { Listening } from '../../src/simulator/http-server.ts';
import { createSimulator, type Simulator, type SimulatorOptions } from '../../src/simulator/simulator.ts';
import { ledger } from '../../src/simulator/world/ledger.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { installDefinitions } from '../crds/install.ts';

/** No socket is opened to it: requests go straight into the simulator. */
export const SIMULATED_URL = 'http://127.0.0.1:9';

export interface SecretWithData extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
}

/** Request that reached the marketplace. */
export interface MarketplaceCall {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly at: number;
}

export interface BenchOptions {
  readonly simulator?: SimulatorOptions;
  /** Beside the short durations that every bench has. */
  readonly flags?: RawOptions;
  /** Namespaces that operators of this bench watch beside its own. */
  readonly alsoWatched?: readonly string[];
  /** Returns the operator's token at the API server (default: the administrator's). */
  readonly operatorToken?: (namespace: string) => Promise<string>;
  /** Stands for workers of groups. */
  readonly workerTransport?: Transport;
  /** Clock of the operator (default: that of the computer). */
  readonly clock?: Clock;
  /** True if the marketplace also listens on loopback, so that machines that run as processes can call it. */
  readonly listens?: boolean;
}

/** A request at a server's door: about to be carried out, or carried out and not yet answered. */
export interface TapMoment {
  readonly when: 'before' | 'after';
  readonly side: 'kube' | 'marketplace';
  readonly method: string;
  readonly path: string;
  /** The marketplace key it carries; empty towards the API server. */
  readonly key: string;
}

const keyOf = (request: TransportRequest): string =>
  (request.headers.authorization ?? '').replace(/^Bearer /, '');

interface RunningOperator {
  readonly operator: Operator;
  readonly metrics: MetricRegistry;
  /** From now on nothing leaves it. */
  readonly die: () => void;
  /** From now on nothing leaves it until that promise is kept. */
  readonly freeze: (until: Promise<void>) => void;
}

/** Durations that fit faults of a second or two. */
const SHORT: RawOptions = {
  lateCall: '2s',
  listLag: '1s',
  goneSpacing: '200ms',
  orphanAge: '1s',
  minPollInterval: '300ms',
  keyCheckInterval: '1s',
  pacing: 'off',
  leaderElectLeaseDuration: '15s',
  // A test that wants a machine to answer listens on loopback at its public port.
  addressMap: ['203.0.113.0/24=127.0.0.1'],
};

/**
 * A real API server, a simulated marketplace in this process, and the operator between them, in a namespace of
 * its own. An operator can be started, stopped and crashed as often as a test likes.
 */
export class OperatorBench {
  readonly cluster: ClusterAccess;
  readonly namespace: string;
  readonly simulator: Simulator;
  readonly kube: KubeClient;
  readonly calls: MarketplaceCall[] = [];
  /** Every request that any operator of this bench sent to the API server, in order. */
  readonly kubeCalls: { readonly method: string; readonly path: string }[] = [];
  /** Every line that any operator of this bench logged. */
  readonly logLines: string[] = [];
  /**
   * Asked about every request of an operator, before it is carried out and after: what a test does here happens
   * at exactly that moment, a crash included.
   */
  tap: ((moment: TapMoment) => void | Promise<void>) | undefined;
  readonly #options: BenchOptions;
  readonly #closeKube: () => Promise<void>;
  #listening: Listening | undefined;
  #running: RunningOperator | undefined;

  private constructor(cluster: ClusterAccess, namespace: string, options: BenchOptions) {
    this.cluster = cluster;
    this.namespace = namespace;
    this.#options = options;
    this.simulator = createSimulator({
      control: true,
      catalog: 60,
      ...options.simulator,
      settings: { boot: { scale: 0.005 }, pauses: { scale: 0 }, ...options.simulator?.settings },
    });
    const transport = createTransport({ ca: cluster.caPem, connections: 4 });
    this.#closeKube = () => transport.close();
    this.kube = createKubeClient({
      transport,
      origin: cluster.url,
      credentials: tokenCredentials(new Secret(cluster.adminToken)),
      codec: statusCodec,
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
    });
  }

  static async open(cluster: ClusterAccess, options: BenchOptions = {}): Promise<OperatorBench> {
    await installDefinitions(cluster.admin);
    const bench = new OperatorBench(cluster, await cluster.createNamespace('bench'), options);
    if (options.listens) bench.#listening = await bench.simulator.listen();
    return bench;
  }

  /** Starts an operator that watches this namespace; resolves when it leads. */
  async start(flags: RawOptions = {}): Promise<Operator> {
    const config = parseConfig(
      {
        ...SHORT,
        ...this.#options.flags,
        ...flags,
        namespace: this.namespace,
        watchNamespace: [this.namespace, ...(this.#options.alsoWatched ?? [])],
        marketplaceUrl: [this.#listening?.url ?? SIMULATED_URL],
      },
      {},
    );
    const life: { dead: boolean; frozen: Promise<void> | undefined } = { dead: false, frozen: undefined };
    const severed =
      (inner: Transport, side: TapMoment['side']): Transport =>
      async (request) => {
        if (life.dead) throw new TransportError('this process is dead', { sent: false });
        const key = side === 'marketplace' ? keyOf(request) : '';
        const moment = { side, method: request.method, path: request.path, key };
        await this.tap?.({ ...moment, when: 'before' });
        await life.frozen;
        if (life.dead) throw new TransportError('this process is dead', { sent: false });
        const response = await inner(request);
        await this.tap?.({ ...moment, when: 'after' });
        await life.frozen;
        if (life.dead) throw new TransportError('this process is dead', { sent: true });
        return response;
      };
    const { clock = systemClock } = this.#options;
    const kube = createTransport({ ca: this.cluster.caPem, connections: 16 });
    const token = (await this.#options.operatorToken?.(this.namespace)) ?? this.cluster.adminToken;
    const lines = new PassThrough();
    lines.on('data', (chunk) => this.logLines.push(...String(chunk).split('\n').filter(Boolean)));
    const metrics = createMetricRegistry();
    const operator = createOperator({
      config,
      env: {
        clock,
        random: systemRandom,
        kube: severed(this.#counted(kube), 'kube'),
        marketplace: severed(this.#recorded(), 'marketplace'),
        log: createLogger({ level: 'debug', destination: lines }),
      },
      kubeOrigin: this.cluster.url,
      credentials: tokenCredentials(new Secret(token)),
      processName: `bench-${systemRandom.uuid()}`,
      metrics: createRuntimeMetrics(metrics),
      rentalMetrics: createRentalMetrics(metrics),
      prober: createMachineProber(config),
      ...(this.#options.workerTransport && { workerTransport: this.#options.workerTransport }),
    });
    exposeOperator(metrics, operator, clock);
    void operator.manager.run().finally(() => kube.close());
    this.#running = {
      operator,
      metrics,
      die: () => {
        life.dead = true;
        void operator.manager.stop();
      },
      freeze: (until) => {
        life.frozen = until;
      },
    };
    while (!operator.manager.isLeading()) await new Promise((resolve) => setTimeout(resolve, 20));
    return operator;
  }

  /** Stops the operator as SIGTERM does: it drains and releases the lease. */
  async stop(): Promise<void> {
    await this.#running?.operator.manager.stop();
    this.#running = undefined;
  }

  /**
   * Stops the operator as kill -9 does: it sends nothing more. Deletes the lease, so that the next one need not wait.
   */
  async crash(): Promise<void> {
    this.#running?.die();
    this.#running = undefined;
    await this.#freeLease();
  }

  /**
   * Freezes the operator as SIGSTOP does: its work hangs, and its lease is deleted, so that another can lead
   * immediately. The returned function is SIGCONT; it resolves when the frozen operator has noticed and ended.
   */
  async freeze(): Promise<() => Promise<void>> {
    const frozen = this.#running;
    if (!frozen) throw new Error('no operator runs');
    this.#running = undefined;
    const thawed = Promise.withResolvers<void>();
    frozen.freeze(thawed.promise);
    await this.#freeLease();
    return () => {
      thawed.resolve();
      return frozen.operator.manager.stop();
    };
  }

  async #freeLease(): Promise<void> {
    const leases = {
      group: 'coordination.k8s.io',
      version: 'v1',
      plural: 'leases',
      kind: 'Lease',
      namespaced: true,
    };
    await this.kube.delete(leases, { namespace: this.namespace, name: 'gpu-rental-operator' });
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#listening?.close();
    await this.#closeKube();
  }

  /** Returns the metrics of the running operator. */
  async metrics(): Promise<string> {
    return (await this.#running?.metrics.expose()) ?? '';
  }

  /** Puts a key into the Secret that accounts of this bench name. */
  async putKey(key: string, name = 'marketplace-key'): Promise<void> {
    const object: SecretWithData = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: this.namespace, name },
      stringData: { 'api-key': key },
    };
    const ref = { namespace: this.namespace, name };
    if (await this.kube.get(secretResource, ref)) {
      await this.kube.patch(secretResource, ref, { type: 'merge', body: { stringData: object.stringData } });
    } else {
      await this.kube.create(secretResource, object);
    }
  }

  async createAccount(spec: Record<string, unknown> = {}, name = 'default'): Promise<void> {
    await this.kube.create(marketplaceAccountResource, {
      apiVersion: API_VERSION,
      kind: 'MarketplaceAccount',
      metadata: { namespace: this.namespace, name },
      spec: { apiKeySecretRef: { name: 'marketplace-key' }, pollInterval: '1s', ...spec },
    } as KubeObject);
  }

  async createInstance(name: string, spec: Record<string, unknown> = {}): Promise<void> {
    await this.kube.create(gpuInstanceResource, {
      apiVersion: API_VERSION,
      kind: 'GpuInstance',
      metadata: { namespace: this.namespace, name },
      spec: {
        image: 'example/image:1',
        offers: [{ maxPricePerHour: '100' }],
        service: { enabled: false },
        ...spec,
      },
    } as KubeObject);
  }

  account(name = 'default'): Promise<MarketplaceAccount | undefined> {
    return this.kube.get<MarketplaceAccount & KubeObject>(marketplaceAccountResource, {
      namespace: this.namespace,
      name,
    });
  }

  instance(name: string): Promise<GpuInstance | undefined> {
    return this.kube.get<GpuInstance & KubeObject>(gpuInstanceResource, { namespace: this.namespace, name });
  }

  /** Contracts that bill now, by the simulator's own ledger. */
  billing(): readonly { readonly id: number; readonly label: string | null }[] {
    return ledger(this.simulator.world()).contracts.filter((contract) => contract.end === null);
  }

  /** Puts a fault in force; `body` as the control endpoint takes it. */
  async fault(name: FaultName, body: Record<string, unknown> = {}): Promise<void> {
    await this.control('POST', '/sim/faults', { name, ...body });
  }

  async clearFaults(): Promise<void> {
    await this.control('DELETE', '/sim/faults', {});
  }

  async control(method: string, path: string, body: unknown): Promise<void> {
    const reply = await this.simulator.handle({
      method,
      origin: SIMULATED_URL,
      path,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of reply.body) chunks.push(chunk);
    if (reply.status !== 200) throw new Error(`${method} ${path}: ${Buffer.concat(chunks).toString('utf8')}`);
  }

  callsTo(method: string, pattern: RegExp): readonly MarketplaceCall[] {
    return this.calls.filter((call) => call.method === method && pattern.test(call.path));
  }

  #counted(inner: Transport): Transport {
    return (request) => {
      this.kubeCalls.push({ method: request.method, path: request.path });
      return inner(request);
    };
  }

  #recorded(): Transport {
    return (request) => {
      const key = keyOf(request);
      this.calls.push({ method: request.method, path: request.path, key, at: Date.now() });
      return this.simulator.handle(request);
    };
  }
}
