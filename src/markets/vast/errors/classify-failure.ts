import * as z from 'zod';
import { DeadlineError } from '../../../lib/deadline.ts';
import { parseHttpDate } from '../../../lib/time.ts';
import { TransportError } from '../../../lib/transport.ts';
import {
  MarketplaceError,
  type MarketplaceErrorKind,
  NoUsableKey,
  type Outcome,
} from '../../../market/errors.ts';
import { toId } from '../ids.ts';
import { epochMs, looseBoolean, looseInteger, looseNumber, looseText } from '../scalars.ts';
import { ADVICE_BY_KIND, connectionAdvice, type ErrorArea, findErrorCode } from './error-codes.ts';

/** A reply that is not the requested one. */
export interface FailedReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Text of the body, JSON or not. */
  readonly body: string;
}

/** The failed call. */
export interface CallContext {
  /** Name of the call in this program's words, e.g. `rent an offer`. */
  readonly operation: string;
  readonly area: ErrorArea;
  readonly effect: 'read' | 'write';
  /** Epoch milliseconds to use if the reply has no `Date`. */
  readonly now: number;
}

interface Judgement {
  readonly kind: MarketplaceErrorKind;
  readonly outcome: Outcome;
  readonly advice: string;
}

const SAFE_CODE = /^[A-Za-z0-9_]{1,64}$/;

/** Kinds that prove that a rent created no machine; any other failure of a rent may hide one. */
const CERTAIN_FOR_RENT: ReadonlySet<MarketplaceErrorKind> = new Set([
  'offerGone',
  'unauthorized',
  'sessionExpired',
  'twoFactorRequired',
  'forbidden',
  'throttled',
]);

/** Texts by which services report a failed authentication, also with status 404 and with other codes. */
const AUTHENTICATION_TEXTS: readonly (readonly [text: string, kind: MarketplaceErrorKind])[] = [
  ['Session expired', 'sessionExpired'],
  ['Two Factor Authentication', 'twoFactorRequired'],
  ['Invalid user key', 'unauthorized'],
];

const KIND_BY_STATUS: ReadonlyMap<number, MarketplaceErrorKind> = new Map([
  [401, 'unauthorized'],
  [402, 'insufficientCredit'],
  [403, 'forbidden'],
  [404, 'notFound'],
  [408, 'timeout'],
  [409, 'conflict'],
  [410, 'gone'],
  [429, 'throttled'],
]);

/**
 * Body of a failure (specification 7), in every spelling that services use: `error` with `msg`, `detail` or `error_msg`
 * alone, `success: false` with status 200.
 */
export const failureBody = z.object({
  success: looseBoolean,
  error: looseText,
  msg: looseText,
  detail: looseText,
  error_msg: looseText,
  fail_count: looseInteger,
  locked_until: looseNumber,
  /** Seen in failures of a rent whose machine was created nevertheless. */
  new_contract: looseInteger,
});

/** A failed reply from the wire. */
export type WireFailure = z.infer<typeof failureBody>;

/** Returns the error of a reply with a failing status, or with `success: false`. */
export function classifyFailure(reply: FailedReply, context: CallContext): MarketplaceError {
  const body = readFailure(reply.body);
  const { kind, outcome, advice } = judge(reply.status, body, context);
  const instanceId = context.area === 'rent' ? body.new_contract : undefined;
  const code = safeCode(body);
  return new MarketplaceError(describe(context.operation, { kind, status: reply.status, code, advice }), {
    kind,
    outcome: instanceId === undefined ? outcome : 'unknown',
    code,
    status: reply.status,
    retryAfterMs: retryAfter(reply.headers, kind, context.now),
    upstreamMessage: textOf(body) || undefined,
    instanceId: toId(instanceId),
    failCount: body.fail_count,
    lockedUntil: epochMs(body.locked_until),
    advice,
  });
}

/** Parts of the message about a failure. */
export interface FailureEvidence {
  readonly kind: MarketplaceErrorKind;
  readonly status?: number;
  readonly code?: string | undefined;
  readonly advice: string;
}

/** Returns the message in this program's words: the operation, its meaning, status and code. */
export function describe(operation: string, { kind, status, code, advice }: FailureEvidence): string {
  const evidence = [status === undefined ? undefined : `HTTP ${status}`, code].filter(Boolean).join(', ');
  return `${operation}: ${kind}${evidence ? ` (${evidence})` : ''}. ${advice}`;
}

function textOf(body: WireFailure): string {
  return body.msg ?? body.detail ?? body.error_msg ?? body.error ?? '';
}

function safeCode({ error }: WireFailure): string | undefined {
  return error !== undefined && SAFE_CODE.test(error) ? error : undefined;
}

/**
 * Returns the code and text of a failure. A body that is no JSON object is the text itself: services also send plain
 * text.
 */
function readFailure(text: string): WireFailure {
  try {
    const parsed = failureBody.safeParse(JSON.parse(text));
    if (parsed.success) return parsed.data;
  } catch {
    // Not JSON: the body is the text.
  }
  return failureBody.parse({ msg: text.slice(0, 300) });
}

function judge(status: number, body: WireFailure, context: CallContext): Judgement {
  const text = textOf(body);
  const authentication = authenticationKind(status, body.error, text);
  const row = findErrorCode({ area: context.area, code: body.error, status, text });
  const known = authentication === undefined ? row : undefined;
  const kind = authentication ?? row?.kind ?? kindOfStatus(status);
  const outcome = outcomeOf({ kind, known: known?.outcome, status }, context);
  return { kind, outcome, advice: known?.advice ?? ADVICE_BY_KIND[kind] };
}

function outcomeOf(
  { kind, known, status }: { kind: MarketplaceErrorKind; known: Outcome | undefined; status: number },
  { area, effect }: CallContext,
): Outcome {
  if (effect === 'read') return 'refused';
  if (area === 'rent') return CERTAIN_FOR_RENT.has(kind) ? 'refused' : 'unknown';
  return known ?? outcomeOfStatus(status);
}

/**
 * Code of a failed authentication. With status 404 it means the key, whatever the text says: never that an object is
 * absent.
 */
const AUTHENTICATION_CODE = 'auth_error';

function authenticationKind(
  status: number,
  code: string | undefined,
  text: string,
): MarketplaceErrorKind | undefined {
  if (status !== 401 && status !== 403 && status !== 404) return undefined;
  const kind = AUTHENTICATION_TEXTS.find(([words]) => text.includes(words))?.[1];
  return kind ?? (status === 404 && code === AUTHENTICATION_CODE ? 'unauthorized' : undefined);
}

function kindOfStatus(status: number): MarketplaceErrorKind {
  const known = KIND_BY_STATUS.get(status);
  if (known) return known;
  if (status >= 500) return 'unavailable';
  if (status >= 400) return 'invalidRequest';
  return status >= 300 ? 'redirected' : 'refused';
}

/**
 * Returns the outcome by status: a refused request had no effect; a server that failed, or refused with 200, may have
 * acted.
 */
function outcomeOfStatus(status: number): Outcome {
  return status >= 300 && status < 500 && status !== 408 ? 'refused' : 'unknown';
}

/** Maximum pause that a service may request: a retry follows after a day in any case. */
const MAX_REST_MS = 86_400_000;

function retryAfter(
  headers: Readonly<Record<string, string>>,
  kind: MarketplaceErrorKind,
  now: number,
): number | undefined {
  const servedAt = parseHttpDate(headers.date) ?? now;
  if (kind === 'quotaExceeded')
    return until(Number(headers['x-ratelimit-reset'] ?? Number.NaN) * 1000, servedAt);
  const value = headers['retry-after'];
  if (value === undefined) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return seconds >= 0 ? Math.min(MAX_REST_MS, seconds * 1000) : undefined;
  return until(parseHttpDate(value) ?? Number.NaN, servedAt);
}

function until(time: number, now: number): number | undefined {
  return Number.isFinite(time) ? Math.min(MAX_REST_MS, Math.max(0, time - now)) : undefined;
}

const SYSTEM_CODE = /^[A-Z0-9_]{3,60}$/;

/** An unacceptable body: too long, or not UTF-8. */
export class UnreadableBody extends Error {
  override readonly name = 'UnreadableBody';
}

/** Reason why the operator's own rules refused to connect; the cause of a TransportError with `sent` false. */
export class BlockedAddress extends Error {
  override readonly name = 'BlockedAddress';
}

/** A caller aborted the call while it was running; the cause of a TransportError. */
export class CallGivenUp extends Error {
  override readonly name = 'CallGivenUp';
}

/** Returns the error of a failure before the request was sent: certainly without effect. */
export function notSent(operation: string, cause: unknown): MarketplaceError {
  if (cause instanceof MarketplaceError) return cause;
  const kind = cause instanceof DeadlineError ? 'timeout' : 'aborted';
  return failure(operation, { kind, outcome: 'refused' }, cause);
}

/** The call whose reply was lost. */
export interface LostCall {
  readonly operation: string;
  readonly effect: 'read' | 'write';
  readonly bounds?: { readonly signal?: AbortSignal | undefined } | undefined;
}

/**
 * Returns the error of a request without a complete reply. A write has certainly no effect only if no byte was sent.
 */
export function lostReply({ operation, effect, bounds }: LostCall, cause: unknown): MarketplaceError {
  const left = !(cause instanceof TransportError) || cause.sent;
  const outcome: Outcome = effect === 'write' && left ? 'unknown' : 'refused';
  const kind = bounds?.signal?.aborted ? 'aborted' : kindOf(cause);
  return failure(operation, { kind, outcome }, cause);
}

function kindOf(cause: unknown): MarketplaceErrorKind {
  if (cause instanceof DeadlineError) return 'timeout';
  if (cause instanceof UnreadableBody) return 'malformedReply';
  if (cause instanceof TransportError) {
    if (cause.cause instanceof BlockedAddress) return 'blockedAddress';
    if (cause.cause instanceof DeadlineError) return 'timeout';
    if (cause.cause instanceof NoUsableKey) return 'forbidden';
    return cause.cause instanceof CallGivenUp ? 'aborted' : 'unavailable';
  }
  return 'unavailable';
}

/** Returns the first system code among the causes, e.g. `ECONNREFUSED` or `CERT_HAS_EXPIRED`. */
function systemCode(cause: unknown): string | undefined {
  let error = cause;
  while (error instanceof Error) {
    if ('code' in error && typeof error.code === 'string' && SYSTEM_CODE.test(error.code)) return error.code;
    error = error.cause;
  }
  return undefined;
}

function failure(
  operation: string,
  { kind, outcome }: { kind: MarketplaceErrorKind; outcome: Outcome },
  cause: unknown,
): MarketplaceError {
  const code = systemCode(cause);
  const advice = connectionAdvice(code) ?? ADVICE_BY_KIND[kind];
  return new MarketplaceError(describe(operation, { kind, code, advice }), {
    kind,
    outcome,
    code,
    advice,
    cause,
  });
}
