import type { EndpointGroup } from '../../src/api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { API_VERSION, labels } from '../../src/api/v1alpha1/names.ts';
import { statusCodec } from '../../src/api/v1alpha1/status-codec.ts';
import type { RawOptions } from '../../src/config.ts';
import { seededRandom } from '../../src/lib/random.ts';
import type { TransportRequest } from '../../src/lib/transport.ts';
import type { EndpointSliceObject } from '../../src/runtime/kube/core-resources.ts';
import { ledger } from '../../src/simulator/world/ledger.ts';
import type { Address } from '../simulation/memory-kube/address.ts';
import { type JsonObject, metadataOf, objectAt } from '../simulation/memory-kube/json.ts';
import type { Fate } from '../simulation/network.ts';
import { isEffect, nameOfCall } from '../simulation/plan.ts';
import { Users } from '../simulation/users.ts';
import { type FateOf, NAMESPACE, SimulatedWorld } from '../simulation/world.ts';
import { answeredBy } from './memory-cluster.ts';
import { WorkerFleet } from './worker-fleet.ts';

/** Call of an operator process that changed something. */
export interface GroupCall {
  readonly at: number;
  readonly process: string;
  /** Method and path, without the machine's id. */
  readonly what: string;
}

export interface SimulatedGroupOptions {
  readonly seed?: number;
  readonly flags?: RawOptions;
  /** Decides the fate of calls; undefined leaves one as it is. */
  readonly fate?: (call: Parameters<FateOf>[0], effect: number | undefined) => Fate | undefined;
}

/** Value of `--prometheus-url`: its queries `load` and `queue` return the offered load, and the work in all workers. */
export const PROMETHEUS = 'http://prometheus:9090';
/** Work per second of each worker. */
export const PERF = 100;

const QUIET: Fate = { requestMs: 2, responseMs: 2 };
const GROUPS = 'endpointgroups';

/**
 * The whole operator with one EndpointGroup, its workers and a gateway before them, in virtual time: hours pass in
 * seconds, and every call can be struck.
 */
export class SimulatedGroup {
  readonly world: SimulatedWorld;
  readonly fleet: WorkerFleet;
  readonly calls: GroupCall[] = [];
  /** Most machines that billed at one time. */
  mostBilling = 0;

  constructor(options: SimulatedGroupOptions = {}) {
    const seed = options.seed ?? 1;
    this.world = new SimulatedWorld({
      seed,
      keepTrace: false,
      flags: options.flags ?? {},
      fate: (call) => {
        const effect = this.#noted(call);
        return options.fate?.(call, effect) ?? QUIET;
      },
      workers: (request) => this.#answered(request),
    });
    const { market, scheduler } = this.world;
    const clock = {
      now: () => scheduler.now,
      monotonic: () => scheduler.now,
      setTimer: (delayMs: number, run: () => void) => scheduler.after(delayMs, run),
    };
    this.fleet = new WorkerFleet({ simulator: market, clock, perf: PERF, maxQueueSeconds: 30 });
    this.world.kube.store.onCommit(({ kind }) => {
      if (kind.plural === 'endpointslices') this.fleet.publish(this.#ports());
    });
    new Users(this.world, seededRandom(seed)).account.create('Report');
    // A group has few machines: that all of them fail together is what its tests are about.
    new Users(this.world, seededRandom(seed)).account.set({ maxUnhealthy: '100%' });
  }

  /** Creates the group and starts an operator. */
  begin(spec: JsonObject = {}): void {
    this.create(spec);
    this.world.startProcess();
  }

  create(spec: JsonObject = {}, name = 'llm'): void {
    this.world.kube.writes.create(this.#address(GROUPS, name), {
      apiVersion: API_VERSION,
      kind: 'EndpointGroup',
      metadata: { name, namespace: NAMESPACE },
      spec: { ...SPEC, ...spec },
    });
  }

  /** Lets virtual time pass. */
  async pass(seconds: number): Promise<void> {
    const end = this.world.now + seconds * 1000;
    await this.world.scheduler.runUntil(end, () => {
      this.mostBilling = Math.max(this.mostBilling, this.#billing());
      return true;
    });
  }

  /** Lets time pass until it holds; fails after `seconds`. */
  async until(what: string, holds: () => boolean, seconds = 1800): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      if (holds()) return;
      await this.pass(1);
    }
    throw new Error(
      `Not within ${seconds} virtual seconds: ${what}; ${JSON.stringify(this.group()?.status)}`,
    );
  }

  group(name = 'llm'): EndpointGroup | undefined {
    return this.#read<EndpointGroup>(GROUPS).find(({ metadata }) => metadata.name === name);
  }

  status(): NonNullable<EndpointGroup['status']> {
    return this.group()?.status ?? {};
  }

  condition(type: string) {
    return this.status().conditions?.find((condition) => condition.type === type);
  }

  workers(name = 'llm'): readonly GpuInstance[] {
    return this.#read<GpuInstance>('gpuinstances').filter(
      ({ metadata }) => metadata.labels?.[labels.endpointGroup] === name,
    );
  }

  /** Machines that bill, by the marketplace's own ledger. */
  billing(): readonly { readonly id: number; readonly label: string | null }[] {
    return ledger(this.world.market.world()).contracts.filter(({ end }) => end === null);
  }

  /** Returns the number of machines rented so far. */
  rentals(): number {
    return ledger(this.world.market.world()).contracts.length;
  }

  /** Edits the spec of the group as a user. */
  edit(spec: JsonObject): void {
    this.world.kube.writes.update(
      this.#address(GROUPS, 'llm'),
      (current) => ({ ...current, spec: { ...objectAt(current, 'spec'), ...spec } }),
      undefined,
    );
  }

  /** Edits a worker as a user. */
  editWorker(name: string, change: (worker: JsonObject) => JsonObject): void {
    this.world.kube.writes.update(this.#address('gpuinstances', name), change, undefined);
  }

  /** Deletes a worker as a user. */
  deleteWorker(name: string): void {
    this.world.kube.writes.delete(this.#address('gpuinstances', name), {});
  }

  /** Annotates the group as a user. */
  annotate(name: string, value: string): void {
    this.#note('annotations', name, value);
  }

  /** Labels the group as a user. */
  label(name: string, value: string): void {
    this.#note('labels', name, value);
  }

  #note(where: 'annotations' | 'labels', name: string, value: string): void {
    this.world.kube.writes.update(
      this.#address(GROUPS, 'llm'),
      (current) => {
        const metadata = metadataOf(current);
        const noted = { ...objectAt(metadata, where), [name]: value };
        return { ...current, metadata: { ...metadata, [where]: noted } };
      },
      undefined,
    );
  }

  delete(): void {
    this.world.kube.writes.delete(this.#address(GROUPS, 'llm'), {});
  }

  /** Deletes the group and orphans its workers. */
  abandonWorkers(): void {
    const withoutOwner = (worker: JsonObject) => ({
      ...worker,
      metadata: { ...metadataOf(worker), ownerReferences: [] },
    });
    for (const { metadata } of this.workers()) this.editWorker(metadata.name, withoutOwner);
    this.world.kube.writes.update(
      this.#address(GROUPS, 'llm'),
      (group) => ({ ...group, metadata: { ...metadataOf(group), finalizers: [] } }),
      undefined,
    );
    this.delete();
  }

  /** Puts a fault of the marketplace in force. */
  async fault(name: string, body: JsonObject = {}): Promise<void> {
    await this.#requestMarket('POST', '/sim/faults', { name, ...body });
  }

  /** Machines that are rented from now on take about so long until they run. */
  async bootTakes(seconds: number): Promise<void> {
    const boot = { scale: 1, provisionSeconds: 0, pullSeconds: [seconds, seconds] };
    await this.#requestMarket('PUT', '/sim/world', { settings: { boot } });
  }

  /** Calls that changed something, of those whose text matches. */
  callsTo(pattern: RegExp): readonly GroupCall[] {
    return this.calls.filter(({ what }) => pattern.test(what));
  }

  async #requestMarket(method: 'POST' | 'PUT', path: string, body: JsonObject): Promise<void> {
    const reply = await this.world.market.handle({
      ...{ method, path },
      origin: 'http://simulator',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (reply.status !== 200) throw new Error(`${method} ${path} was answered ${reply.status}`);
  }

  #noted({ machine, request }: Parameters<FateOf>[0]): number | undefined {
    if (!isEffect(request)) return undefined;
    this.calls.push({ at: this.world.now, process: machine.name, what: nameOfCall(request) });
    return this.calls.length - 1;
  }

  async #answered(request: TransportRequest): ReturnType<WorkerFleet['transport']> {
    if (request.origin !== PROMETHEUS) return this.fleet.transport(request);
    const query = new URL(`${PROMETHEUS}${request.path}`).searchParams.get('query');
    const value = query === 'queue' ? this.fleet.queued : this.fleet.offered;
    const result = [{ metric: {}, value: [this.world.now / 1000, String(value)] }];
    return answeredBy(200, { status: 'success', data: { resultType: 'vector', result } });
  }

  #billing(): number {
    return Object.keys(this.world.market.store.current().tables.contracts).length;
  }

  #ports(): ReadonlySet<number> {
    const slices = this.#read<EndpointSliceObject>('endpointslices');
    const groupSlices = slices.filter(
      ({ metadata }) => metadata.labels?.[labels.endpointGroup] !== undefined,
    );
    return new Set(groupSlices.flatMap(({ ports }) => ports.map(({ port }) => port)));
  }

  #address(plural: string, name: string): Address {
    return { kind: this.world.kube.kind(plural), namespace: NAMESPACE, name };
  }

  /** Returns the stored objects of that plural name. */
  #read<T>(plural: string): readonly T[] {
    const stored = this.world.kube.store.all(this.world.kube.kind(plural));
    return stored.map((object) => statusCodec.decode(object)) as unknown as readonly T[];
  }
}

const SPEC: JsonObject = {
  coldWorkers: 0,
  coldMultiplier: '1',
  maxWorkers: 6,
  expectedPerf: String(PERF),
  load: { type: 'HTTPPull', httpPull: { port: 'http' } },
  template: {
    metadata: { labels: { app: 'llm' } },
    spec: {
      image: 'example/worker:1',
      offers: [{ maxPricePerHour: '2.00', minDirectPorts: 1 }],
      ports: [{ name: 'http', containerPort: 8000 }],
    },
  },
};
