import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { loadTypeOf } from '../../../api/v1alpha1/load-source.ts';
import { annotations } from '../../../api/v1alpha1/names.ts';
import { inBackground } from '../../../lib/background.ts';
import type { Clock } from '../../../lib/clock.ts';
import { type CallerTls, tlsProblemOf } from '../../../lib/mutual-tls.ts';
import { machineAddressProblem } from '../../../lib/networks.ts';
import type { Secret } from '../../../lib/secret.ts';
import { parseDuration } from '../../../lib/time.ts';
import type { Transport } from '../../../lib/transport.ts';
import { objectKey, uidOf } from '../../../runtime/kube/kube-object.ts';
import type { ScalingTimes } from '../times.ts';
import type { Worker } from '../workers/worker.ts';
import { boundedGet, MAX_REPLY_BYTES } from './get.ts';
import { originOf, pullTarget, readReply } from './http-pull.ts';
import { type Prometheus, PrometheusReader } from './prometheus.ts';
import {
  believable,
  FigureError,
  GROUP_REPORTER,
  groupRecord,
  type LoadRecord,
  type LoadStore,
  SourceError,
} from './state.ts';

export interface ReaderOptions {
  readonly clock: Clock;
  readonly loadStore: LoadStore;
  /** To workers; it verifies the certificate of one that has to prove itself. */
  readonly transport: Transport;
  /** How a worker is called that is reached by TLS; undefined for every other one. */
  readonly callerOf?: (worker: GpuInstance) => Promise<CallerTls | undefined>;
  readonly times: ScalingTimes;
  /** Where to dial for a worker's address: elsewhere only for simulated machines. */
  readonly dial: (address: string) => string;
  readonly allowPrivateAddresses: boolean;
  /** The token that the worker was given when it was rented. */
  readonly tokenOf: (worker: GpuInstance) => Secret | undefined;
  readonly prometheus: Prometheus | undefined;
  /** Whether workers that report by themselves are heard anywhere. */
  readonly takesReports: boolean;
  /** The same of the pickers of gateways. */
  readonly takesGatewayReports: boolean;
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

/** A decision waits this long for figures; those that come within the second cause another one. */
const PROMPT_MS = 100;
const PATIENCE_MS = 1000;

/** Reads load by asking: workers, a Prometheus, or the spec itself. What workers push comes without asking. */
export class LoadSources {
  readonly #options: ReaderOptions;
  /** Reporters that have not answered yet: nobody is asked twice at a time. */
  readonly #asked = new Set<string>();
  readonly #prometheus: PrometheusReader;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#prometheus = new PrometheusReader(options.prometheus, options.clock);
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
    switch (loadTypeOf(group.spec)) {
      case 'Static':
        return this.#take(group, FOR_ALL, async () => staticRecord(group));
      case 'Prometheus':
        return this.#take(group, PROMETHEUS, () => this.#prometheus.read(group));
      case 'HTTPPull':
        return this.#ofEach(group, workers, async ({ object }) => this.#askWorker(group, object));
      case 'Gateway':
        if (this.#options.takesGatewayReports) return undefined;
        return this.#take(group, FOR_ALL, () =>
          Promise.reject(
            new SourceError('no picker is heard, since the operator runs without --gateway-reports'),
          ),
        );
      case 'Push':
        if (this.#options.takesReports) return undefined;
        return this.#ofEach(group, workers, () =>
          Promise.reject(
            new SourceError('it cannot report, since the operator runs without --worker-report-bind-address'),
          ),
        );
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
    const { clock, transport, tokenOf, callerOf } = this.#options;
    const target = pullTarget(group, worker);
    const token = tokenOf(worker);
    const host = this.#dialled(target.address);
    const caller = await callerOf?.(worker);
    if (caller?.type === 'problem') throw new SourceError(caller.detail);
    const text = await boundedGet({
      transport,
      clock,
      origin: originOf(target, host, caller && 'HTTPS'),
      ...(caller && { tls: caller.tls, explain: tlsReason }),
      path: target.plan.path,
      headers: {
        accept: target.plan.format === 'JSON' ? 'application/json' : 'text/plain',
        ...(token && { authorization: `Bearer ${token.reveal()}` }),
      },
      timeoutMs: parseDuration(group.spec.load.httpPull?.timeout ?? '3s') ?? 3000,
      maxBytes: MAX_REPLY_BYTES,
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
}

/** A load that is written down; the annotation wins over the spec. Throws `FigureError` where it is no load. */
export function staticRecord({ metadata, spec }: EndpointGroup): LoadRecord {
  const name = annotations.staticLoad;
  const annotated = metadata.annotations?.[name];
  const queue = Number(spec.load.static?.queue ?? 0);
  if (annotated === undefined) return groupRecord(Number(spec.load.static?.load ?? 0), queue);
  if (!/^[0-9]+(\.[0-9]+)?$/.test(annotated.trim()))
    throw new FigureError(`${name} is not a load; write units per second such as 900`);
  return groupRecord(believable(name, Number(annotated)), queue);
}

function tlsReason(error: unknown): string | undefined {
  const problem = tlsProblemOf(error);
  return problem && `it ${problem}`;
}
