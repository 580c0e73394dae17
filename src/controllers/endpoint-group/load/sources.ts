import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { loadTypeOf } from '../../../api/v1alpha1/load-source.ts';
import { annotations } from '../../../api/v1alpha1/names.ts';
import { inBackground } from '../../../lib/background.ts';
import type { Clock } from '../../../lib/clock.ts';
import { type CallerTls, tlsProblemOf } from '../../../lib/mutual-tls.ts';
import type { Secret } from '../../../lib/secret.ts';
import { parseDuration } from '../../../lib/time.ts';
import type { Transport } from '../../../lib/transport.ts';
import { type DialPolicy, dial } from '../../../reach/dial.ts';
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
  /** Transport to workers. It verifies the certificate of a worker with TLS. */
  readonly transport: Transport;
  /** Returns the TLS settings for a worker; undefined for a worker without TLS. */
  readonly callerOf?: (worker: GpuInstance) => Promise<CallerTls | undefined>;
  readonly times: ScalingTimes;
  readonly addresses: DialPolicy;
  /** Returns the token that the worker got at its rental. */
  readonly tokenOf: (worker: GpuInstance) => Secret | undefined;
  readonly prometheus: Prometheus | undefined;
  /** True if the operator accepts reports that workers push. */
  readonly takesReports: boolean;
  /** True if the operator accepts reports of pickers. */
  readonly takesGatewayReports: boolean;
}

/** A reporter, and its name in messages. */
interface ReporterName {
  readonly reporter: string;
  readonly who: string;
}

export interface ReadOptions {
  readonly workers: readonly Worker[];
  /** Called if figures arrive after the read returned. */
  readonly onLate: () => void;
}

const FOR_ALL: ReporterName = { reporter: GROUP_REPORTER, who: '' };
const PROMETHEUS: ReporterName = { reporter: GROUP_REPORTER, who: 'Prometheus: ' };

/** Time for which a decision waits for figures, and after which late figures cause another decision. */
const PROMPT_MS = 100;
const PATIENCE_MS = 1000;

/** Reads load from workers, Prometheus or the spec. Pushed reports arrive on their own. */
export class LoadSources {
  readonly #options: ReaderOptions;
  /** Reporters with a request in progress. Each has at most one. */
  readonly #inProgress = new Set<string>();
  readonly #prometheus: PrometheusReader;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.#prometheus = new PrometheusReader(options.prometheus, options.clock);
  }

  /**
   * Reads the load for this tick and waits at most 100 ms, so that a slow worker does not delay the figures of
   * others. If some are slower, it calls `onLate` once when all have replied or a second has passed. Never rejects.
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

  /** Resolves with true if the reads ended in time. */
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
        return this.#report(group, FOR_ALL, async () => staticRecord(group));
      case 'Prometheus':
        return this.#report(group, PROMETHEUS, () => this.#prometheus.read(group));
      case 'HTTPPull':
        return this.#readEach(group, workers, async ({ object }) => this.#readWorker(group, object));
      case 'Gateway':
        if (this.#options.takesGatewayReports) return undefined;
        return this.#report(group, FOR_ALL, () =>
          Promise.reject(
            new SourceError('pickers cannot report: the operator runs without --gateway-reports'),
          ),
        );
      case 'Push':
        if (this.#options.takesReports) return undefined;
        return this.#readEach(group, workers, () =>
          Promise.reject(
            new SourceError('cannot report: the operator runs without --worker-report-bind-address'),
          ),
        );
    }
  }

  async #readEach(
    group: EndpointGroup,
    workers: readonly Worker[],
    read: (worker: Worker) => Promise<LoadRecord>,
  ): Promise<void> {
    const serving = workers.filter((worker) => worker.isServing && !worker.isDeleting);
    const reads = serving.map((worker) =>
      this.#report(group, { reporter: worker.reporter, who: `worker ${worker.name}: ` }, () => read(worker)),
    );
    await Promise.all(reads);
  }

  async #report(
    group: EndpointGroup,
    { reporter, who }: ReporterName,
    read: () => Promise<LoadRecord>,
  ): Promise<void> {
    const { loadStore, clock, times } = this.#options;
    const uid = uidOf(group);
    const key = `${uid}/${reporter}`;
    if (this.#inProgress.has(key)) return;
    this.#inProgress.add(key);
    try {
      const record = await read();
      loadStore.report(uid, { reporter, record, at: clock.now(), times });
    } catch (error) {
      this.#failed(group, { reporter, who }, error);
    } finally {
      this.#inProgress.delete(key);
    }
  }

  #failed(group: EndpointGroup, { reporter, who }: ReporterName, error: unknown): void {
    const { loadStore, clock } = this.#options;
    const kind = error instanceof FigureError ? 'invalid' : 'unreachable';
    const message = error instanceof Error ? error.message : 'unknown';
    loadStore.problem(uidOf(group), reporter, { kind, detail: `${who}${message}`, at: clock.now() });
  }

  async #readWorker(group: EndpointGroup, worker: GpuInstance): Promise<LoadRecord> {
    const { clock, transport, tokenOf, callerOf, addresses } = this.#options;
    const target = pullTarget(group, worker);
    const token = tokenOf(worker);
    const dialed = dial(target.address.host, addresses);
    if ('problem' in dialed) throw new SourceError(`the address ${dialed.problem}`);
    const caller = await callerOf?.(worker);
    if (caller?.type === 'problem') throw new SourceError(caller.detail);
    const text = await boundedGet({
      transport,
      clock,
      origin: originOf(target, dialed.host, caller && 'HTTPS'),
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
}

/**
 * Returns the static load; the annotation overrides the spec. Throws a {@link FigureError} if the annotation is no
 * load.
 */
export function staticRecord({ metadata, spec }: EndpointGroup): LoadRecord {
  const name = annotations.staticLoad;
  const annotated = metadata.annotations?.[name];
  const queue = Number(spec.load.static?.queue ?? 0);
  if (annotated === undefined) return groupRecord(Number(spec.load.static?.load ?? 0), queue);
  if (!/^[0-9]+(\.[0-9]+)?$/.test(annotated.trim()))
    throw new FigureError(`${name} is not a load; write units per second, such as 900`);
  return groupRecord(believable(name, Number(annotated)), queue);
}

function tlsReason(error: unknown): string | undefined {
  const problem = tlsProblemOf(error);
  return problem;
}
