import type { GatewayGroupReport } from '../api/gateway-report.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { EndedRequest } from './access-log.ts';
import type { CallerKeys } from './caller-keys.ts';
import {
  CLUSTER_HEADER,
  DESTINATION_HEADER,
  REQUEST_ID_HEADER,
  SESSION_HEADERS,
  WORK_HEADER,
} from './envoy-config.ts';
import type { Answer, Headers, RequestHead } from './ext-proc.ts';
import type { GatewayMetrics, GroupFigures } from './gateway-metrics.ts';
import { type Effect, GroupQueue, type OtherPickers, type Prospect } from './group-queue.ts';
import type { GroupSettings, PublishedWorker } from './group-view.ts';
import { errorReply } from './openai-error.ts';
import { countsTokens, endedTokens, estimateTokens, type TokenEstimate } from './openai-work.ts';

export interface ServedGroupOptions {
  readonly key: string;
  readonly settings: GroupSettings;
  readonly clock: Clock;
  readonly metrics: GatewayMetrics;
  /** Asks the operator to start a worker. */
  readonly wake: () => void;
  /** Its requests come from a proxy that knows no clusters of ours; from our Envoy if absent. */
  readonly isPool?: boolean;
}

/** Who may call. `unknown`: the Secret has not been read, or there is none. */
export type Access =
  | { readonly type: 'open' }
  | { readonly type: 'keys'; readonly keys: CallerKeys }
  | { readonly type: 'unknown'; readonly problem: string };

/** A request of this group. */
export interface GroupRequest {
  readonly id: string;
  readonly head: RequestHead;
  /** As its worker is to see it. */
  readonly path: string;
}

/** What a request counts as. */
interface Counted {
  readonly work: number;
  /** Present where it counts tokens, and its response says how many. */
  readonly tokens?: TokenEstimate;
}

interface Waiting extends Counted {
  readonly caller: string;
  readonly request: GroupRequest;
  readonly resolve: (answer: Answer) => void;
}

interface Picked extends Counted {
  readonly caller: string;
  /** Names of workers by their addresses, as they were when it was picked. */
  readonly workers: ReadonlyMap<string, string>;
}

/** What follows tells no sessions apart. */
const MAX_SESSION = 256;

const MAX_WORK = 1e9;

/** The requests of one group: checked, counted, held, routed and ended. */
export class ServedGroup {
  readonly #options: ServedGroupOptions;
  readonly #queue: GroupQueue;
  readonly #waiting = new Map<string, Waiting>();
  readonly #picked = new Map<string, Picked>();
  #settings: GroupSettings;
  #access: Access = { type: 'unknown', problem: 'The keys of this group have not been read yet.' };
  #addresses: ReadonlyMap<string, string> = new Map();
  /** Their names by their addresses: shared by all that are picked for until they change. */
  #names: ReadonlyMap<string, string> = new Map();
  #timer: Timer | undefined;
  #closed: string | undefined;

  constructor(options: ServedGroupOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#queue = new GroupQueue(options.settings);
  }

  settings(): GroupSettings {
    return this.#settings;
  }

  /** Published workers that Envoy knows, and what is to come. */
  update(settings: GroupSettings, workers: readonly PublishedWorker[], prospect: Prospect): void {
    this.#settings = settings;
    this.#addresses = new Map(workers.map(({ name, address }) => [name, address]));
    this.#names = new Map(workers.map(({ name, address }) => [address, name]));
    const now = this.#options.clock.monotonic();
    this.#carryOut(this.#queue.configure(settings, now));
    this.#carryOut(this.#queue.setWorkers(workers, now));
    this.#carryOut(this.#queue.setProspect(prospect, now));
  }

  setAccess(access: Access): void {
    this.#access = access;
  }

  /** Resolves when a worker was picked or the request is refused; never while it waits, also when its client has left. */
  async answer(request: GroupRequest): Promise<Answer> {
    const { headers, left } = request.head;
    const caller = this.#callerOf(headers.get('authorization'));
    if (typeof caller !== 'string') return this.#refuse(caller);
    const counted = await this.#count(request);
    return new Promise((resolve) => {
      const { id } = request;
      const { work } = counted;
      if (left.aborted) return;
      if (this.#closed !== undefined) {
        resolve(this.#refuseEnding(this.#closed));
        return;
      }
      this.#waiting.set(id, { caller, ...counted, request, resolve });
      left.addEventListener('abort', () => this.#leave(id), { once: true });
      const session = this.#sessionOf(headers);
      const subset = request.head.subset && this.#namesOf(request.head.subset);
      const arrival = { id, work, caller, session, subset };
      this.#carryOut(this.#queue.arrive(arrival, this.#options.clock.monotonic()));
    });
  }

  /** False where the request is none of this group. */
  ended(id: string, request: EndedRequest): boolean {
    const picked = this.#picked.get(id);
    if (!picked) return false;
    this.#picked.delete(id);
    const { metrics, clock } = this.#options;
    const { status, attempts, firstByteMs } = request;
    const worker = request.upstream === undefined ? undefined : picked.workers.get(request.upstream);
    const retries = Math.max(0, attempts - 1);
    const { work: unit } = this.#settings;
    const work = picked.tokens ? endedTokens(picked.tokens, request) : picked.work;
    metrics.served(this.#settings, {
      ...{ caller: picked.caller, work },
      ...{ unit, status, retries, firstByteMs },
    });
    const isComplete = status < 400 && status > 0;
    const ending = { worker, failed: status >= 500, failure: `it answered ${status}`, isComplete, work };
    this.#carryOut(this.#queue.end(id, ending, clock.monotonic()));
    return true;
  }

  /** All requests that workers had through an Envoy that is gone are over. */
  forgetInFlight(): void {
    const now = this.#options.clock.monotonic();
    const ids = [...this.#picked.keys()];
    this.#picked.clear();
    for (const id of ids) this.#carryOut(this.#queue.end(id, { worker: undefined, failed: false }, now));
  }

  /** What the operator is to know of this group. */
  report(): GatewayGroupReport {
    const { namespace, name } = this.#settings;
    const { workers, ...work } = this.#queue.report(this.#options.clock.monotonic());
    return { namespace, name, ...work, workers: [...workers] };
  }

  /** What the operator knows of other pickers. */
  setOthers(others: OtherPickers): void {
    this.#carryOut(this.#queue.setOthers(others, this.#options.clock.monotonic()));
  }

  figures(): GroupFigures {
    const { namespace, name } = this.#settings;
    return {
      namespace,
      name,
      heldRequests: this.#queue.heldRequests(),
      inFlightRequests: this.#queue.inFlightRequests(),
      readyWorkers: this.#queue.readyWorkers(),
    };
  }

  /** Answers all that wait; the group is gone or this process ends. */
  close(message: string): void {
    this.#timer?.cancel();
    this.#closed = message;
    for (const [id, { resolve }] of this.#waiting) {
      this.#queue.leave(id);
      resolve(this.#refuseEnding(message));
    }
    this.#waiting.clear();
  }

  #refuseEnding(message: string): Answer {
    return this.#refuse({ status: 503, code: 'gateway_ending', message, retryAfterSeconds: 1 });
  }

  #callerOf(authorization: string | undefined): string | Parameters<typeof errorReply>[0] {
    const access = this.#access;
    switch (access.type) {
      case 'open':
        return '';
      case 'unknown':
        return { status: 503, code: 'keys_unknown', message: access.problem, retryAfterSeconds: 5 };
      case 'keys':
        return (
          access.keys.callerOf(authorization) ?? {
            status: 401,
            code: 'invalid_api_key',
            message: 'This key may not call the group: send Authorization: Bearer KEY with a key that may.',
          }
        );
    }
  }

  async #count({ head, path }: GroupRequest): Promise<Counted> {
    switch (this.#settings.work) {
      case 'Requests':
        return { work: 1 };
      case 'Header':
        return { work: this.#workOf(head.headers.get(WORK_HEADER)) };
      case 'OpenAITokens': {
        const method = head.headers.get(':method') ?? '';
        if (!countsTokens({ method, path, contentType: head.headers.get('content-type') }))
          return { work: 1 };
        const tokens = estimateTokens(path, await head.readBody(this.#routeOf(path)));
        return { work: tokens.prompt + tokens.output, tokens };
      }
    }
  }

  #workOf(header: string | undefined): number {
    if (header === undefined) return 1;
    const work = /^\d+(\.\d+)?$/.test(header) ? Number(header) : 1;
    return Math.min(work, MAX_WORK);
  }

  #sessionOf(headers: RequestHead['headers']): string | undefined {
    if (this.#settings.routing !== 'Session') return undefined;
    const named = SESSION_HEADERS.map((header) => headers.get(header)).find((session) => session);
    return named?.slice(0, MAX_SESSION);
  }

  #leave(id: string): void {
    if (!this.#waiting.delete(id)) return;
    this.#queue.leave(id);
    this.#options.metrics.left(this.#settings);
    this.#arm();
  }

  #carryOut(effects: readonly Effect[]): void {
    for (const effect of effects) this.#apply(effect);
    this.#arm();
  }

  #apply(effect: Effect): void {
    const { metrics, wake } = this.#options;
    switch (effect.type) {
      case 'wake':
        metrics.woke(this.#settings);
        wake();
        return;
      case 'refuse':
        this.#take(effect.id)?.resolve(this.#refuse(effect.refusal));
        return;
      case 'pick': {
        const waiting = this.#take(effect.id);
        if (!waiting) return;
        metrics.picked(this.#settings, effect.waitMs);
        waiting.resolve(this.#route(waiting, effect.candidates));
      }
    }
  }

  #take(id: string): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }

  #route({ caller, work, tokens, request }: Waiting, candidates: readonly string[]): Answer {
    this.#picked.set(request.id, { caller, work, ...(tokens && { tokens }), workers: this.#names });
    const addresses = candidates.flatMap((name) => this.#addresses.get(name) ?? []);
    const { isPool } = this.#options;
    return {
      type: 'route',
      headers: isPool
        ? { [DESTINATION_HEADER]: addresses[0] ?? '' }
        : {
            ...this.#routeOf(request.path),
            [DESTINATION_HEADER]: addresses.join(','),
            [REQUEST_ID_HEADER]: request.id,
          },
      readsUsage: tokens !== undefined,
    };
  }

  /** Those of these addresses that are workers. */
  #namesOf(addresses: readonly string[]): readonly string[] {
    return addresses.flatMap((address) => this.#names.get(address) ?? []);
  }

  /** Known before a worker is: all workers of a group are one cluster. */
  #routeOf(path: string): Headers {
    return { ':path': path, [CLUSTER_HEADER]: this.#options.key };
  }

  #refuse(error: Parameters<typeof errorReply>[0]): Answer {
    this.#options.metrics.refused(this.#settings, error.code);
    return errorReply(error);
  }

  #arm(): void {
    const { clock } = this.#options;
    this.#timer?.cancel();
    const at = this.#queue.nextAt();
    if (at === undefined) return;
    const tick = (): void => this.#carryOut(this.#queue.tick(clock.monotonic()));
    this.#timer = clock.setTimer(Math.max(0, at - clock.monotonic()), tick, { background: true });
  }
}
