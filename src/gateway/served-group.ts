import type { GatewayGroupReport } from '../api/gateway-report.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { EndedRequest } from './access-log.ts';
import type { CallerKeys } from './caller-keys.ts';
import { clientAddress } from './client-address.ts';
import { preflightAnswer, readableAnswer } from './cors.ts';
import { BUFFER_BYTES, type RetryPolicy } from './envoy-config.ts';
import type { Answer, Headers, RequestHead } from './ext-proc.ts';
import type { GatewayMetrics, GroupFigures } from './gateway-metrics.ts';
import { type Effect, GroupQueue, type OtherPickers, type Prospect } from './group-queue.ts';
import type { GroupSettings, PublishedWorker } from './group-view.ts';
import { errorReply } from './openai-error.ts';
import {
  type BodyStart,
  countsTokens,
  endedTokens,
  estimateTokens,
  type TokenEstimate,
} from './openai-work.ts';
import { CLUSTER_HEADER, RETRY_HEADER, SESSION_HEADERS, WORK_HEADER } from './request-notes.ts';

export interface ServedGroupOptions {
  readonly key: string;
  readonly settings: GroupSettings;
  readonly clock: Clock;
  readonly metrics: GatewayMetrics;
  /** Requests a worker from the operator. */
  readonly wake: () => void;
  /** Number of proxies in front of the gateway that are trusted for the address of a client. */
  readonly trustedHops: number;
  /** Called when requests wait: the memory limit of all groups may be reached. */
  readonly onHeld?: () => void;
}

/** Callers of a group. `unknown`: the Secret has not been read, or does not exist. */
export type Access =
  | { readonly type: 'open' }
  | { readonly type: 'keys'; readonly keys: CallerKeys }
  | { readonly type: 'unknown'; readonly state: 'Unread' | 'Missing'; readonly problem: string };

/** A request of this group. */
export interface GroupRequest {
  readonly id: string;
  readonly head: RequestHead;
  /** Path in the form for its worker. */
  readonly path: string;
}

/** The work of a request. */
interface Counted {
  work: number;
  /** Present if the work is counted in tokens and the response reports them. */
  tokens?: TokenEstimate;
}

interface Waiting extends Counted {
  /** Name of its key; empty if every client may call. */
  readonly caller: string;
  readonly request: GroupRequest;
  readonly resolve: (answer: Answer) => void;
}

interface Picked extends Counted {
  readonly caller: string;
  /** Names of workers by address at the time of the pick. */
  readonly workers: ReadonlyMap<string, string>;
}

/** Maximum length of a session's name; the rest is ignored. */
const MAX_SESSION = 256;

export const UNREAD_KEYS: Access = {
  type: 'unknown',
  state: 'Unread',
  problem: 'The keys of this group have not been read yet.',
};

/** Maximum names in a report. */
const MAX_UNUSABLE = 10;

/** Minimum work by a header: less would let a caller bypass its turn and the limits of a worker. */
const MIN_WORK = 0.01;
const MAX_WORK = 1e9;

/** Memory of a waiting request without its body: streams of Envoy and of the picker, and the headers. */
const HEAD_BYTES = 65_536;

/** Methods whose second attempt has no further effect (RFC 9110, 9.2.2). */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'PUT', 'DELETE']);
/** Methods of requests without work. */
const QUIET_METHODS = new Set(['HEAD', 'OPTIONS']);

/** The requests of one group: checked, counted, held, routed and ended. */
export class ServedGroup {
  readonly #options: ServedGroupOptions;
  readonly #queue: GroupQueue;
  readonly #waiting = new Map<string, Waiting>();
  readonly #picked = new Map<string, Picked>();
  #settings: GroupSettings;
  #access: Access = UNREAD_KEYS;
  #addresses: ReadonlyMap<string, string> = new Map();
  /** Names of workers by address; shared by all pending requests until the set changes. */
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

  /** Sets the published workers that Envoy knows, and the workers that are starting. */
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

  /**
   * Resolves when a worker was picked or the request is refused; never while it waits, nor after its client
   * disconnected.
   */
  async answer(request: GroupRequest): Promise<Answer> {
    const { cors } = this.#settings;
    const { headers } = request.head;
    if (!cors) return this.#decide(request);
    return preflightAnswer(cors, headers) ?? readableAnswer(await this.#decide(request), cors, headers);
  }

  async #decide(request: GroupRequest): Promise<Answer> {
    const { id, head } = request;
    const caller = this.#callerOf(head.headers.get('authorization'));
    if (typeof caller !== 'string') return this.#refuse(caller);
    if (this.#closed !== undefined) return this.#refuseEnding(this.#closed);
    const answered = Promise.withResolvers<Answer>();
    if (head.left.aborted) return answered.promise;
    const work = this.#workByHead(request, caller);
    this.#waiting.set(id, { caller, work: work ?? 0, request, resolve: answered.resolve });
    head.left.addEventListener('abort', () => this.#leave(id), { once: true });
    this.#arrive(request, this.#clientOf(request, caller), work);
    // Not raced against the answer, which would keep the body until then.
    if (work === undefined)
      head
        .readBody(this.#routeOf(request))
        .then((body) => this.#countTokens(request, body))
        .catch(answered.reject);
    return answered.promise;
  }

  #arrive(request: GroupRequest, caller: string, work: number | undefined): void {
    const { id, head } = request;
    const now = this.#options.clock.monotonic();
    const session = this.#sessionOf(head.headers);
    const subset = head.subset && this.#namesOf(head.subset);
    if (this.#isQuiet(request)) {
      this.#carryOut(this.#queue.arriveQuietly({ id, caller, session, subset }, now));
      return;
    }
    const bytes = HEAD_BYTES + Math.min(BUFFER_BYTES, head.contentLength ?? BUFFER_BYTES);
    this.#carryOut(this.#queue.arrive({ id, work, bytes, caller, session, subset }, now));
    if (this.#waiting.has(id)) this.#options.onHeld?.();
  }

  #countTokens({ id, path }: GroupRequest, body: BodyStart): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    waiting.tokens = estimateTokens(path, body);
    waiting.work = waiting.tokens.prompt + waiting.tokens.output;
    this.#carryOut(this.#queue.count(id, waiting.work, this.#options.clock.monotonic()));
  }

  /** Returns the memory of its waiting requests, in bytes. */
  heldBytes(): number {
    return this.#queue.heldBytes();
  }

  /** Refuses a waiting request: the newest of the client with the most memory. */
  shed(message: string): void {
    this.#carryOut(this.#queue.shed(message));
  }

  /** Records the end of a request. Returns false if the request is not of this group. */
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

  /** Ends all requests that workers had through an Envoy that has stopped. */
  forgetInFlight(): void {
    const now = this.#options.clock.monotonic();
    const ids = [...this.#picked.keys()];
    this.#picked.clear();
    for (const id of ids) this.#carryOut(this.#queue.end(id, { worker: undefined, failed: false }, now));
  }

  /** Returns the report on this group for the operator. */
  report(): GatewayGroupReport {
    const { namespace, name } = this.#settings;
    const { workers, ...work } = this.#queue.report(this.#options.clock.monotonic());
    const keys = keysReport(this.#access);
    return { namespace, name, ...(keys && { keys }), ...work, workers: [...workers] };
  }

  /** Sets the operator's facts about other pickers. */
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

  /** Answers all waiting requests: the group was deleted or this process ends. */
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
            message: access.keys.isUsable ? WRONG_KEY : NO_USABLE_KEY,
          }
        );
    }
  }

  /** Returns the client for the order of turns: the caller by key or, if every client may call, the address. */
  #clientOf({ head }: GroupRequest, caller: string): string {
    if (this.#access.type === 'keys') return caller;
    return clientAddress(head.headers.get('x-forwarded-for'), this.#options.trustedHops);
  }

  #isQuiet({ head, path }: GroupRequest): boolean {
    const method = head.headers.get(':method') ?? '';
    const [pathname = ''] = path.split(/[?#]/);
    return QUIET_METHODS.has(method) || (method === 'GET' && this.#settings.quietPaths.includes(pathname));
  }

  /** Returns the work by the head of a request; undefined if its body decides. */
  #workByHead({ head, path }: GroupRequest, caller: string): number | undefined {
    switch (this.#settings.work) {
      case 'Requests':
        return 1;
      case 'Header':
        return this.#isTrusted(caller) ? workOf(head.headers.get(WORK_HEADER)) : 1;
      case 'OpenAITokens': {
        const method = head.headers.get(':method') ?? '';
        const contentType = head.headers.get('content-type');
        return countsTokens({ method, path, contentType }) ? undefined : 1;
      }
    }
  }

  #isTrusted(caller: string): boolean {
    const { trustedCallers } = this.#settings;
    return trustedCallers.includes('*') || (caller !== '' && trustedCallers.includes(caller));
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
    return {
      type: 'route',
      id: request.id,
      headers: this.#routeOf(request),
      destinations: candidates.flatMap((name) => this.#addresses.get(name) ?? []),
      readsUsage: tokens !== undefined,
    };
  }

  /** Returns the names of the workers at these addresses. */
  #namesOf(addresses: readonly string[]): readonly string[] {
    return addresses.flatMap((address) => this.#names.get(address) ?? []);
  }

  /** Returns the headers that select the route, known before a worker is: all workers of a group are one cluster. */
  #routeOf({ head, path }: GroupRequest): Headers {
    const retry = this.#retriesOf(head.headers.get(':method') ?? '');
    return { ':path': path, [CLUSTER_HEADER]: this.#options.key, [RETRY_HEADER]: retry };
  }

  #retriesOf(method: string): RetryPolicy {
    switch (this.#settings.retries) {
      case 'All':
        return 'Full';
      case 'None':
        return 'None';
      case 'Idempotent':
        return IDEMPOTENT.has(method) ? 'Full' : 'Unseen';
    }
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

/** Returns the number in the header; 1 if it is missing or invalid. */
function workOf(header: string | undefined): number {
  if (header === undefined || !/^\d+(\.\d+)?$/.test(header)) return 1;
  return Math.min(Math.max(Number(header), MIN_WORK), MAX_WORK);
}

const HASH_FORM = 'the hexadecimal SHA-256 of a key: printf %s "$KEY" | sha256sum';
const WRONG_KEY = `This key may not call the group. Send Authorization: Bearer KEY, whose SHA-256 the Secret of spec.gateway.keys has (${HASH_FORM}).`;
const NO_USABLE_KEY = `No key can call the group: no value in the Secret of spec.gateway.keys is ${HASH_FORM}.`;

function keysReport(access: Access): GatewayGroupReport['keys'] {
  switch (access.type) {
    case 'open':
      return undefined;
    case 'unknown':
      return { state: access.state, unusable: [] };
    case 'keys': {
      const { isUsable, unusable } = access.keys;
      return { state: isUsable ? 'Read' : 'Unusable', unusable: unusable.slice(0, MAX_UNUSABLE) };
    }
  }
}
