import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { Config } from '../../src/config/options.ts';
import { parseConfig, type RawOptions } from '../../src/config.ts';
import type { SshRunner } from '../../src/controllers/gpu-instance/lease-renewal.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { type Logger, silentLogger } from '../../src/lib/logger.ts';
import { type Random, seededRandom } from '../../src/lib/random.ts';
import type { Transport, TransportRequest } from '../../src/lib/transport.ts';
import { createOperator, type Operator } from '../../src/main/operator.ts';
import type { MarketFacts } from '../../src/market/market.ts';
import { createMetricRegistry, type MetricRegistry } from '../../src/server/metric-registry.ts';
import { createRentalMetrics } from '../../src/server/rental-metrics.ts';
import { createRuntimeMetrics } from '../../src/server/runtime-metrics.ts';
import { makeKey, makeUser } from '../../src/simulator/new-world.ts';
import type { Settings } from '../../src/simulator/settings.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { noCredentials } from '../builders/no-credentials.ts';
import { Containers } from './containers.ts';
import { Gateway, PROMETHEUS, SCOPE } from './gateway.ts';
import { Machine } from './machine.ts';
import type { JsonObject } from './memory-kube/json.ts';
import { createMemoryKube, type MemoryKube } from './memory-kube/memory-kube.ts';
import { type Fate, networkTo } from './network.ts';
import { simulatedProber } from './prober.ts';
import { Scheduler, worldClock } from './scheduler.ts';
import {
  type Capability,
  type MarketName,
  offers,
  SIMULATED_MARKETS,
  type SimulatedMarket,
} from './simulated-market.ts';
import { Trace } from './trace.ts';
import { WorkerReports } from './worker-reports.ts';

const DEFINITIONS: readonly JsonObject[] = readDefinitions();
const START_MS = Date.UTC(2026, 0, 5, 12, 0, 0);
/** Unlike anything else, so that it is found wherever it should not be. */
const API_KEY = 'canary-5f1e7c0a9d3b';
/** The key of the login that a schedule adds. */
export const OTHER_API_KEY = 'canary-83d0b6e2f714';
const MARKETPLACE = 'http://127.0.0.1:9';
export const SYSTEM_NAMESPACE = 'gpu-rental-system';
export const NAMESPACE = 'default';

function readDefinitions(): readonly JsonObject[] {
  const folder = join(import.meta.dirname, '..', '..', 'crds');
  return readdirSync(folder).map((file) => parse(readFileSync(join(folder, file), 'utf8')) as JsonObject);
}

/** Server that a call goes to. */
export type Side = 'kube' | 'market';

/** A process has read the whole list of machines. */
export type ListListener = (machine: Machine, request: TransportRequest, body: string) => void;

const WHOLE_LIST = /^\/api\/v0\/instances\/(?:\?|$)/;

/** Decides what happens to each call of an operator process. */
export type FateOf = (call: {
  readonly side: Side;
  readonly machine: Machine;
  readonly request: TransportRequest;
}) => Fate;

export interface WorldOptions {
  readonly seed: number;
  /** Number of machines for rent (default 24). */
  readonly offers?: number;
  readonly keepTrace: boolean;
  readonly flags?: RawOptions;
  readonly fate: FateOf;
  readonly log?: (machine: Machine) => Logger;
  /** Stands for the workers of groups and for Prometheus. */
  readonly workers?: Transport;
  /** True if workers of groups answer load requests. */
  readonly hasReports?: boolean | undefined;
  /** Load comes to groups through a gateway that Prometheus watches, instead of being written into them. */
  readonly hasGateway?: boolean | undefined;
  /** The market that processes rent at; the one of the simulator by default. */
  readonly market?: MarketName | undefined;
  /** The first moment, in epoch milliseconds. */
  readonly startMs?: number | undefined;
  /** Undocumented properties of containers, where they differ from the defaults of the simulator. */
  readonly containers?: ContainerOptions | undefined;
  /** Logs in to machines for a process; without it no lease is renewed. */
  readonly runSsh?: ((machine: Machine) => SshRunner) | undefined;
}

/** Settings of containers that a world may have. */
export type ContainerOptions = Partial<Pick<Settings['containers'], 'logsWhenStopped' | 'logTruncated'>>;

/** Operator process and its machine. */
export interface Process {
  readonly machine: Machine;
  readonly pod: string;
  readonly operator: Operator;
  readonly registry: MetricRegistry;
}

/** A cluster, a marketplace and operator processes, all on one virtual clock. */
export class SimulatedWorld {
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly kube: MemoryKube;
  readonly market: Simulator;
  readonly trace: Trace;
  readonly processes: Process[] = [];
  /** Capabilities that actions needed and the market lacks. */
  readonly lacking = new Set<Capability>();
  /** Undefined if load is written into groups. */
  readonly gateway: Gateway | undefined;
  readonly containers: Containers;
  /** Undefined if workers do not answer load requests. */
  readonly reports: WorkerReports | undefined;
  /** Flags of processes started from now on, beside the defaults. */
  flags: RawOptions;
  readonly #options: WorldOptions;
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #market: SimulatedMarket;
  #onList: ListListener | undefined;
  /** Wall clock offset of processes that start later. */
  bornAheadMs = 0;
  /** First reading of the monotonic clock of processes that start later; the time of the world if undefined. */
  bornMonotonicMs: number | undefined;
  #started = 0;
  /** Number of times that the operator went away: a restart of before does not come after it. */
  #absences = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.#market = SIMULATED_MARKETS[options.market ?? 'vast'];
    const { startMs = START_MS } = options;
    this.#startMs = startMs;
    this.flags = options.flags ?? {};
    this.containers = new Containers(this);
    this.reports = options.hasReports ? new WorkerReports(this.containers) : undefined;
    this.gateway = options.hasGateway ? new Gateway(() => this.now) : undefined;
    this.random = seededRandom(options.seed);
    this.scheduler = new Scheduler({ startMs, random: seededRandom(options.seed ^ 0x5eed) });
    this.#clock = worldClock(this.scheduler);
    this.trace = new Trace({ startMs, keep: options.keepTrace });
    this.kube = createMemoryKube({
      clock: this.#clock,
      random: seededRandom(options.seed ^ 0xc1),
      definitions: DEFINITIONS,
    });
    this.market = createSimulator({
      seed: options.seed,
      clock: this.#clock,
      random: seededRandom(options.seed ^ 0xa4),
      catalog: catalogOf(options.offers ?? 24, this.#market.hostsPerPrice),
      apiKey: API_KEY,
      control: true,
      // Only the model of MODE=deadman creates the files of a fuse.
      settings: { boot: { scale: 0.15 }, containers: { imageHasClient: false, ...options.containers } },
      onError: (error) => {
        throw error;
      },
    });
    for (const name of [SYSTEM_NAMESPACE]) this.#createNamespace(name);
  }

  /** Capabilities of the market. */
  get facts(): MarketFacts {
    return this.#market.facts;
  }

  /** Returns true if the market has a capability. A missing one is recorded: a story that needs it proves nothing. */
  has(capability: Capability): boolean {
    const isOffered = offers(this.facts, capability);
    if (!isOffered) this.lacking.add(capability);
    return isOffered;
  }

  get now(): number {
    return this.scheduler.now;
  }

  /** Seconds since the world began. */
  get second(): number {
    return (this.scheduler.now - this.#startMs) / 1000;
  }

  /** Creates another login at the marketplace. Returns its key. */
  addLogin(): string {
    const { store } = this.market;
    const { now, settings } = store.current();
    const user = makeUser({ id: store.nextId('user'), now, settings });
    const secret = OTHER_API_KEY;
    store.put('users', user);
    store.put('apiKeys', makeKey({ id: store.nextId('apiKey'), user, secret, now }));
    return secret;
  }

  /** Creates a key with only those categories (default: all) for the login of another key. */
  addKey(categories?: readonly string[], of = this.market.apiKey): string {
    const { store } = this.market;
    const owner = store.keyBySecret(of);
    const user = owner && store.current().tables.users[owner.userId];
    if (!user) throw new Error('there is no such key');
    const id = store.nextId('apiKey');
    const secret = `canary-${id}-9c2e5b7a`;
    const api = categories && Object.fromEntries(categories.map((category) => [category, {}]));
    store.put('apiKeys', {
      ...makeKey({ id, user, secret, now: store.current().now }),
      permissions: api ? { api } : null,
    });
    return secret;
  }

  /** Sets the listener for every complete list of machines that a process has read. */
  onList(listener: ListListener): void {
    this.#onList = listener;
  }

  note(text: string): void {
    this.trace.add(this.scheduler.now, text);
  }

  /** Ends every process, and starts none before {@link startProcess}. */
  away(): void {
    this.#absences += 1;
    this.note('the operator is away');
    for (const { machine } of [...this.processes]) machine.kill();
    this.processes.length = 0;
  }

  /** True once a process ran: it may have left a purchase whose outcome is unknown. */
  get hasHadProcesses(): boolean {
    return this.#started > 0;
  }

  /** Starts an operator process, in a pod of its own or in one where the former has ended. */
  startProcess(pod = `pod-${this.#started + 1}`): Process {
    this.#started += 1;
    const machine = new Machine(`operator-${this.#started}`, this.scheduler, this.bornMonotonicMs);
    machine.wallSkewMs = this.bornAheadMs;
    const log = this.#options.log?.(machine) ?? silentLogger;
    const random = seededRandom(this.#options.seed * 31 + this.#started);
    const registry = createMetricRegistry();
    const operator = createOperator({
      config: configOf({
        ...(this.gateway && { prometheusUrl: PROMETHEUS, prometheusTenancy: `parameter=${SCOPE}` }),
        ...this.flags,
      }),
      env: {
        clock: machine.clock(),
        random,
        kube: this.#connect('kube', machine),
        marketplace: this.#connect('market', machine),
        log,
      },
      openMarket: this.#market.open(this.market),
      kubeOrigin: 'https://memory',
      credentials: noCredentials,
      processName: `${pod}_${machine.name}`,
      pod,
      metrics: createRuntimeMetrics(registry),
      rentalMetrics: createRentalMetrics(registry),
      prober: simulatedProber(this.containers),
      ...(this.#options.runSsh && { runSsh: this.#options.runSsh(machine) }),
      ...(this.#options.workers && {
        workerTransport: this.#options.workers,
        prometheusTransport: this.#options.workers,
      }),
      ...(this.reports && { workerTransport: this.reports.transport }),
      ...(this.gateway && { prometheusTransport: this.gateway.transport }),
    });
    const process: Process = { machine, pod, operator, registry };
    this.processes.push(process);
    this.note(`${machine.name} starts`);
    void operator.manager.run().then(
      (end) => machine.alive && this.ended(process, end),
      (error) => machine.alive && this.ended(process, `failed: ${String(error)}`),
    );
    return process;
  }

  /** Kills a process; nothing of it runs again. */
  crash(machine: Machine, why: string): void {
    if (!machine.alive) return;
    machine.kill();
    this.note(`${machine.name} dies ${why}`);
    this.#replace(machine);
  }

  /** Replaces the running pods by new ones with these flags beside the defaults. */
  reinstall(flags: RawOptions): void {
    this.flags = flags;
    this.note(`the operator is installed anew with ${JSON.stringify(flags)}`);
    for (const { machine } of [...this.processes]) {
      machine.kill();
      this.#replace(machine, { inItsPod: false });
    }
  }

  /** Removes all past revisions, so that every cache starts again. */
  forgetHistory(): void {
    this.kube.store.compact();
    this.kube.closeWatches();
    this.note('etcd is compacted and the API server restarts');
  }

  ended(process: Process, how: string): void {
    this.note(`${process.machine.name} ended: ${how}`);
    process.machine.kill();
    this.#replace(process.machine);
  }

  /** Kubernetes restarts what ended, in the same pod unless that went as well. */
  #replace(machine: Machine, { inItsPod = true } = {}): void {
    const index = this.processes.findIndex((process) => process.machine === machine);
    const [ended] = index >= 0 ? this.processes.splice(index, 1) : [];
    const pod = inItsPod ? ended?.pod : undefined;
    const absences = this.#absences;
    this.scheduler.after(1000 + this.random.next() * 4000, () => {
      if (this.#absences === absences) this.startProcess(pod);
    });
  }

  #connect(side: Side, machine: Machine) {
    return networkTo({
      scheduler: this.scheduler,
      machine,
      random: this.random,
      server: side === 'kube' ? this.kube.transport : this.market.handle,
      fate: (request) => this.#options.fate({ side, machine, request }),
      onCrash: (crashed) => this.crash(crashed, `at a call to the ${side}`),
      listenerOf: (request) =>
        side === 'market' && request.method === 'GET' && WHOLE_LIST.test(request.path)
          ? (body) => this.#onList?.(machine, request, body)
          : undefined,
    });
  }

  #createNamespace(name: string): void {
    const kind = this.kube.kind('namespaces');
    this.kube.writes.create({ kind, namespace: undefined, name }, { metadata: { name } });
  }
}

/** Every process of a world is started alike, and so are those of most worlds. */
const configs = new Map<string, Config>();

function configOf(flags: RawOptions): Config {
  const key = JSON.stringify(flags);
  const config = configs.get(key) ?? readConfig(flags);
  configs.set(key, config);
  return config;
}

function readConfig(flags: RawOptions): Config {
  return parseConfig(
    {
      namespace: SYSTEM_NAMESPACE,
      marketplaceUrl: [MARKETPLACE],
      metricsBindAddress: '0',
      healthProbeBindAddress: '0',
      addressMap: ['203.0.113.0/24=127.0.0.1'],
      ...flags,
    },
    {},
  );
}

/** Returns offers of one model on many hosts; the price rises slightly after every `hostsPerPrice` offers. */
function catalogOf(count: number, hostsPerPrice: number) {
  return Array.from({ length: count }, (_, index) => ({
    gpuName: 'RTX 4090',
    gpuCount: 1,
    pricePerHour: 0.3 + Math.floor((index % 48) / hostsPerPrice) * 0.01,
    hostId: 5000 + Math.floor(index / 2),
    machineId: 7000 + index,
  }));
}
