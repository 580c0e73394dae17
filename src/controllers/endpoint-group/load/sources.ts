import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import type { LoadSource } from '../../../api/v1alpha1/load-source.ts';
import { inBackground } from '../../../lib/background.ts';
import type { Clock } from '../../../lib/clock.ts';
import { machineAddressProblem } from '../../../lib/networks.ts';
import type { Secret } from '../../../lib/secret.ts';
import { parseDuration } from '../../../lib/time.ts';
import type { Transport } from '../../../lib/transport.ts';
import { objectKey, uidOf } from '../../../runtime/kube/kube-object.ts';
import type { ScalingTimes } from '../autoscale/times.ts';
import type { Worker } from '../workers/worker.ts';
import { boundedGet, certificateProblem } from './get.ts';
import { originOf, pullTarget, readReply } from './http-pull.ts';
import { sampledValue } from './prometheus.ts';
import { FigureError, GROUP_REPORTER, type LoadRecord, type LoadStore, SourceError } from './state.ts';
import { groupRecord, staticRecord } from './static.ts';

export interface ReaderOptions {
  readonly clock: Clock;
  readonly loadStore: LoadStore;
  /** To workers, whose certificates it does not verify. */
  readonly transport: Transport;
  readonly times: ScalingTimes;
  /** Where to dial for a worker's address: elsewhere only for simulated machines. */
  readonly dial: (address: string) => string;
  readonly allowPrivateAddresses: boolean;
  /** The token that the worker was given when it was rented. */
  readonly tokenOf: (worker: GpuInstance) => Secret | undefined;
  readonly prometheus: Prometheus | undefined;
  /** Whether workers that report by themselves are heard anywhere. */
  readonly takesReports: boolean;
}

/** The Prometheus that is asked, and the way to it: its figures decide what is spent, so it proves who it is. */
export interface Prometheus {
  readonly url: string;
  readonly transport: Transport;
  /** What queries of groups may read: their authors see the number that comes of each. */
  readonly tenancy:
    | { readonly type: 'off' }
    | { readonly type: 'unrestricted' }
    | { readonly type: 'parameter'; readonly name: string };
}

/** Who is asked: the reporter, and its name for people. */
interface Asked {
  readonly reporter: string;
  readonly who: string;
}

/** What a tick asks for. */
export interface ReadOptions {
  readonly workers: readonly Worker[];
  /** Figures came after the read had returned. */
  readonly onLate: () => void;
}

const FOR_ALL: Asked = { reporter: GROUP_REPORTER, who: '' };
const PROMETHEUS: Asked = { reporter: GROUP_REPORTER, who: 'Prometheus: ' };

/** Most bytes of a worker's reply. */
const MAX_BYTES = 1_048_576;
const PROMETHEUS_TIMEOUT_MS = 3000;
/** For how long a proxy that refused a query without a namespace is taken to do so. */
const PROVEN_MS = 600_000;
/** What `boundedGet` says of the answer by which a prom-label-proxy refuses. */
const REFUSED = 'it answered 400';
/** A decision waits this long for figures; those that come within the second cause another one. */
const PROMPT_MS = 100;
const PATIENCE_MS = 1000;

/** Reads load by asking: workers, a Prometheus, or the spec itself. What workers push comes without asking. */
export class LoadSources {
  readonly #options: ReaderOptions;
  /** Reporters that have not answered yet: nobody is asked twice at a time. */
  readonly #asked = new Set<string>();
  #provenAt = Number.NEGATIVE_INFINITY;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /**
   * Asks everyone who is to be asked for this tick, and waits a tenth of a second at most: one slow worker must not
   * hold back what the others say. Where some are slower, `onLate` is called once when they have answered or a
   * second is over. Never rejects.
   */
  async read(group: EndpointGroup, { workers, onLate }: ReadOptions): Promise<void> {
    const { tickMs } = this.#options.times;
    const all = this.#readAll(group, workers);
    if (await this.#within(all, Math.min(PROMPT_MS, tickMs / 4))) return;
    inBackground(
      { task: 'load of a group', object: objectKey(group.metadata) },
      async () => {
        await this.#within(all, Math.min(PATIENCE_MS, tickMs / 4));
        onLate();
      },
      (error) => this.#failed(group, FOR_ALL, error),
    );
  }

  /** Whether it ended in time. */
  async #within(all: Promise<void>, limitMs: number): Promise<boolean> {
    const late = Promise.withResolvers<boolean>();
    const timer = this.#options.clock.setTimer(limitMs, () => late.resolve(false));
    const inTime = await Promise.race([all.then(() => true), late.promise]);
    timer.cancel();
    return inTime;
  }

  async #readAll(group: EndpointGroup, workers: readonly Worker[]): Promise<void> {
    switch (group.spec.load.type) {
      case 'Static':
        return this.#take(group, FOR_ALL, async () => staticRecord(group));
      case 'Prometheus':
        return this.#take(group, PROMETHEUS, async () => this.#askPrometheus(group));
      case 'HTTPPull':
        return this.#ofEach(group, workers, async ({ object }) => this.#askWorker(group, object));
      case 'Push':
        return this.#options.takesReports ? undefined : this.#ofEach(group, workers, rejectUnserved);
    }
  }

  async #ofEach(
    group: EndpointGroup,
    workers: readonly Worker[],
    read: (worker: Worker) => Promise<LoadRecord>,
  ): Promise<void> {
    const serving = workers.filter((worker) => worker.isServing && !worker.isDeleting);
    const reads = serving.map((worker) =>
      this.#take(group, { reporter: worker.reporter, who: `worker ${worker.name}: ` }, () => read(worker)),
    );
    await Promise.all(reads);
  }

  async #take(
    group: EndpointGroup,
    { reporter, who }: Asked,
    read: () => Promise<LoadRecord>,
  ): Promise<void> {
    const { loadStore, clock, times } = this.#options;
    const uid = uidOf(group);
    const key = `${uid}/${reporter}`;
    if (this.#asked.has(key)) return;
    this.#asked.add(key);
    try {
      const record = await read();
      loadStore.report(uid, { reporter, record, at: clock.now(), times });
    } catch (error) {
      this.#failed(group, { reporter, who }, error);
    } finally {
      this.#asked.delete(key);
    }
  }

  #failed(group: EndpointGroup, { reporter, who }: Asked, error: unknown): void {
    const { loadStore, clock } = this.#options;
    const kind = error instanceof FigureError ? 'invalid' : 'unreachable';
    const message = error instanceof Error ? error.message : 'unknown';
    loadStore.problem(uidOf(group), reporter, { kind, detail: `${who}${message}`, at: clock.now() });
  }

  async #askWorker(group: EndpointGroup, worker: GpuInstance): Promise<LoadRecord> {
    const { clock, transport, tokenOf } = this.#options;
    const target = pullTarget(group, worker);
    const token = tokenOf(worker);
    const text = await boundedGet({
      transport,
      clock,
      origin: originOf(target, this.#dialled(target.address)),
      path: target.plan.path,
      headers: {
        accept: target.plan.format === 'JSON' ? 'application/json' : 'text/plain',
        ...(token && { authorization: `Bearer ${token.reveal()}` }),
      },
      timeoutMs: parseDuration(group.spec.load.httpPull?.timeout ?? '3s') ?? 3000,
      maxBytes: MAX_BYTES,
    });
    return readReply(text, target.plan, clock.now());
  }

  /** An address that is mapped is a simulated machine; any other must be one that a marketplace may name. */
  #dialled(address: string): string {
    const { dial, allowPrivateAddresses } = this.#options;
    const mapped = dial(address);
    if (mapped !== address) return mapped;
    const problem = machineAddressProblem(address, { allowPrivate: allowPrivateAddresses });
    if (problem !== undefined) throw new SourceError(`its address ${problem}`);
    return address;
  }

  async #askPrometheus(group: EndpointGroup): Promise<LoadRecord> {
    const { clock, prometheus } = this.#options;
    const queries = group.spec.load.prometheus;
    if (!prometheus || !queries) throw new SourceError('the operator runs without --prometheus-url');
    const { tenancy } = prometheus;
    if (tenancy.type === 'off')
      throw new SourceError(
        'queries of groups are off; an administrator turns them on with --prometheus-tenancy',
      );
    const scope =
      tenancy.type === 'parameter' ? { [tenancy.name]: group.metadata.namespace ?? '' } : undefined;
    if (tenancy.type === 'parameter') await this.#proveProxy(prometheus, tenancy.name);
    const ask = (query: string) => this.#sendQuery(prometheus, { query, ...scope });
    return prometheusRecord(queries, ask, clock.now());
  }

  /**
   * A Prometheus would ignore the parameter and answer about every namespace: only what refuses a query without it is
   * asked. Rejects with `SourceError` otherwise.
   */
  async #proveProxy(prometheus: Prometheus, name: string): Promise<void> {
    const now = this.#options.clock.now();
    if (now >= this.#provenAt && now < this.#provenAt + PROVEN_MS) return;
    const answered = await this.#sendQuery(prometheus, { query: 'vector(1)' }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof SourceError && error.message === REFUSED) return false;
        throw error;
      },
    );
    if (answered)
      throw new SourceError(
        `it answers without the parameter ${name}; --prometheus-url has to name a prom-label-proxy`,
      );
    this.#provenAt = now;
  }

  #sendQuery({ transport, url }: Prometheus, parameters: Readonly<Record<string, string>>): Promise<string> {
    const { origin, pathname } = new URL(url);
    const pairs = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    return boundedGet({
      transport,
      clock: this.#options.clock,
      origin,
      path: `${pathname.replace(/\/$/, '')}/api/v1/query?${pairs.join('&')}`,
      headers: { accept: 'application/json' },
      timeoutMs: PROMETHEUS_TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      explain: certificateProblem,
    });
  }
}

async function rejectUnserved(): Promise<never> {
  throw new SourceError('it cannot report, since the operator runs without --worker-report-bind-address');
}

/** Gives the text of a reply of the query API. */
type AskPrometheus = (query: string) => Promise<string>;

type Queries = NonNullable<LoadSource['prometheus']>;

/** Asks the queries of a group at one time. Rejects with `SourceError` or `FigureError`. */
export async function prometheusRecord(
  queries: Queries,
  ask: AskPrometheus,
  now: number,
): Promise<LoadRecord> {
  const { loadQuery, queueQuery, rejectedQuery } = queries;
  const value = async (name: string, query: string | undefined): Promise<number | undefined> =>
    query === undefined ? 0 : sampledValue(name, await ask(query), now);
  const [load, waiting, rejected] = await Promise.all([
    value('loadQuery', loadQuery),
    value('queueQuery', queueQuery),
    value('rejectedQuery', rejectedQuery),
  ]);
  // A gateway that has never queued has no such series; one without any load series is not the right one.
  if (load === undefined) throw new SourceError('loadQuery finds no series');
  return groupRecord(load + (rejected ?? 0), waiting ?? 0);
}
