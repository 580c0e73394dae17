import type { z } from 'zod';
import { type Clock, sleep } from '../../../lib/clock.ts';
import { type Deadline, DeadlineError, withDeadline } from '../../../lib/deadline.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { Random } from '../../../lib/random.ts';
import { parseHttpDate } from '../../../lib/time.ts';
import type { Transport, TransportRequest, TransportResponse } from '../../../lib/transport.ts';
import { MarketplaceError } from '../../../market/errors.ts';
import type { Pacer } from '../../../market/pacing.ts';
import { classifyFailure, type FailedReply, lostReply, notSent } from '../errors/classify-failure.ts';
import {
  type Answer,
  type BaseUrl,
  type Call,
  type GoodReply,
  type KeySource,
  type ListAnswer,
  parseBaseUrl,
  type QueryValues,
  type Requester,
} from './call.ts';
import { ListBody, parseReply, type ReplyText, type RowsOf, readBody } from './reply-body.ts';

/** Dependencies of a requester. */
export interface RequesterOptions {
  readonly baseUrl: string;
  /** Undefined for calls without a key. */
  readonly apiKey: KeySource | undefined;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly pacer: Pacer;
  /** Milliseconds for one attempt, from its place in the pacer to the last byte. Default 30,000. */
  readonly attemptDeadlineMs?: number | undefined;
  /** Attempts of a read, including the first. Default 3. */
  readonly readAttempts?: number | undefined;
  /** Bytes of a body after decompression. Default 33,554,432. */
  readonly maxReplyBytes?: number | undefined;
  /** Called for each good (2xx, well-formed) reply. */
  readonly onGoodReply?: ((reply: GoodReply) => void) | undefined;
}

const ATTEMPT_DEADLINE_MS = 30_000;
const READ_ATTEMPTS = 3;
const MAX_REPLY_BYTES = 32 * 1024 * 1024;
const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 5_000;

/**
 * Creates the only component that uses HTTP: credentials, pacing, deadline, byte limit, parsing, error mapping. A read
 * is tried up to `readAttempts` times with jittered backoff; a write is sent at most once, whatever its result.
 */
export function createRequester(options: RequesterOptions): Requester {
  return new PacedRequester(options);
}

/** Reads the body of a reply. */
type ReadReply = (
  response: TransportResponse,
  bound: { readonly maxBytes: number; readonly clock: Clock },
) => Promise<ReplyText>;

const wholeBody: ReadReply = async (response, { maxBytes }) => ({ body: await readBody(response, maxBytes) });

class PacedRequester implements Requester {
  readonly #options: RequesterOptions;
  readonly #base: BaseUrl;

  constructor(options: RequesterOptions) {
    this.#options = options;
    this.#base = parseBaseUrl(options.baseUrl);
  }

  send<Schema extends z.ZodType>(call: Call<Schema>): Promise<Answer<z.infer<Schema>>> {
    return this.#repeated(call, (allowance) => this.#attempt(call, allowance, wholeBody));
  }

  sendList<Schema extends z.ZodType, Row>(
    call: Call<Schema>,
    of: RowsOf<Row>,
  ): Promise<ListAnswer<z.infer<Schema>, Row>> {
    return this.#repeated(call, async (allowance) => {
      const list = new ListBody(of);
      const answer = await this.#attempt(call, allowance, (...reply) => list.read(...reply));
      return { ...answer, rows: list.rows };
    });
  }

  /** Tries a write once, and repeats a read if its failure may be temporary. */
  async #repeated<T>(call: Call<z.ZodType>, attemptOnce: (allowance: Allowance) => Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const allowance = new Allowance(clock, call.bounds?.deadlineMs);
    const attempts = call.effect === 'read' ? (this.#options.readAttempts ?? READ_ATTEMPTS) : 1;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await attemptOnce(allowance);
      } catch (error) {
        const pauseMs = this.#backoff(attempt);
        if (attempt >= attempts || allowance.leftMs() <= pauseMs || !isRetryable(error)) throw error;
        await this.#pause(call, pauseMs);
      }
    }
  }

  /** Sends one request when its class has a place, within the remaining time of the call. */
  async #attempt<Schema extends z.ZodType>(
    call: Call<Schema>,
    allowance: Allowance,
    read: ReadReply,
  ): Promise<Answer<z.infer<Schema>>> {
    const { clock, pacer, attemptDeadlineMs = ATTEMPT_DEADLINE_MS } = this.#options;
    const { signal, slot, deadlineMs, mayLeave } = call.bounds ?? {};
    const maxWaitMs = deadlineMs === undefined ? undefined : allowance.leftMs();
    const permit = await pacer
      .acquire(call.endpointClass, { signal, slot, maxWaitMs })
      .catch((cause: unknown) => Promise.reject(notSent(call.operation, cause)));
    try {
      if (mayLeave && !(await permit.checkBefore(mayLeave)))
        throw notSent(call.operation, new Error('it was withdrawn'));
      const limitMs = Math.min(attemptDeadlineMs, allowance.leftMs());
      if (limitMs <= 0)
        throw notSent(call.operation, new DeadlineError('its time was over before it was sent'));
      const reply = await this.#exchange(call, { clock, limitMs, signal }, read);
      return this.#understand(call, reply);
    } finally {
      permit.release();
    }
  }

  async #exchange(call: Call<z.ZodType>, bound: Deadline, read: ReadReply): Promise<FailedReply & ReplyText> {
    const { transport, clock, log, maxReplyBytes = MAX_REPLY_BYTES } = this.#options;
    const begun = clock.monotonic();
    try {
      const reply = await withDeadline(bound, async (signal) => {
        const response = await transport(this.#request(call, signal));
        const giveUp = () => response.destroy();
        signal.addEventListener('abort', giveUp, { once: true });
        const text = await read(response, { maxBytes: maxReplyBytes, clock });
        signal.removeEventListener('abort', giveUp);
        return { status: response.status, headers: response.headers, ...text };
      });
      const ms = Math.round(clock.monotonic() - begun);
      log.debug('marketplace call', { operation: call.operation, status: reply.status, ms });
      return reply;
    } catch (cause) {
      const error = lostReply(call, cause);
      log.debug('marketplace call failed', {
        operation: call.operation,
        kind: error.kind,
        outcome: error.outcome,
      });
      throw error;
    }
  }

  #request(call: Call<z.ZodType>, signal: AbortSignal): TransportRequest {
    const { origin, prefix } = call.base ?? this.#base;
    const credential = call.credential === undefined ? this.#options.apiKey?.(call) : call.credential;
    return {
      method: call.method,
      origin,
      path: `${prefix}${call.path}${queryString(call.query)}`,
      headers: {
        accept: 'application/json',
        ...(credential ? { authorization: `Bearer ${credential.reveal()}` } : {}),
        ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
      signal,
    };
  }

  #understand<Schema extends z.ZodType>(
    call: Call<Schema>,
    reply: FailedReply & ReplyText,
  ): Answer<z.infer<Schema>> {
    if (reply.unreadable !== undefined) throw malformed(call, reply.status, reply.unreadable);
    const parsed = parseReply(reply, call.reply);
    if (parsed.type === 'understood') {
      const { headers } = reply;
      this.#options.onGoodReply?.({ area: call.area, effect: call.effect, headers });
      return { value: parsed.value, answeredAt: parseHttpDate(headers.date), headers };
    }
    if (parsed.type === 'unreadable') throw malformed(call, reply.status, parsed.reason);
    const error = classifyFailure(reply, { ...call, now: this.#options.clock.now() });
    // 2FA has its own limits (a locked method, too many SMS), which are unrelated to the rate of calls.
    if (reply.status === 429 && !(call.area === 'tfa' && error.code !== undefined)) {
      this.#options.pacer.slowDown(call.endpointClass, error.retryAfterMs);
    }
    throw error;
  }

  /** Returns the backoff with full jitter: between 0 and twice the maximum of the previous attempt. */
  #backoff(attempt: number): number {
    return this.#options.random.next() * Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** attempt);
  }

  async #pause(call: Call<z.ZodType>, ms: number): Promise<void> {
    try {
      await sleep(this.#options.clock, ms, call.bounds?.signal);
    } catch (cause) {
      throw notSent(call.operation, cause);
    }
  }
}

/** Returns true for temporary failures. After a 429 the pacer waits: it has slowed the class. */
function isRetryable(error: unknown): boolean {
  if (!(error instanceof MarketplaceError)) return false;
  switch (error.kind) {
    case 'unavailable':
    case 'timeout':
    case 'malformedReply':
      return true;
    case 'throttled':
      return error.status === 429;
    default:
      return false;
  }
}

function malformed(call: Call<z.ZodType>, status: number, reason: string): MarketplaceError {
  return new MarketplaceError(`${call.operation}: the reply cannot be used (HTTP ${status}): ${reason}`, {
    kind: 'malformedReply',
    outcome: call.effect === 'read' ? 'refused' : 'unknown',
    status,
  });
}

/**
 * Total time of a call. It follows the faster of two clocks: the monotonic one can stop while a machine is frozen, and
 * a call must not be sent after its time.
 */
export class Allowance {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #monotonicStart: number;
  readonly #wallStart: number;

  constructor(clock: Clock, ms: number = Number.POSITIVE_INFINITY) {
    this.#clock = clock;
    this.#ms = ms;
    this.#monotonicStart = clock.monotonic();
    this.#wallStart = clock.now();
  }

  /** Returns the remaining milliseconds; 0 if none are left. */
  leftMs(): number {
    const elapsed = Math.max(
      this.#clock.monotonic() - this.#monotonicStart,
      this.#clock.now() - this.#wallStart,
    );
    return Math.max(0, this.#ms - elapsed);
  }
}

/** Returns `?a=b&…`, form-encoded like public clients; empty if no parameter is set. */
export function queryString(values: QueryValues = {}): string {
  const pairs = Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]): [string, string] => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]);
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}
