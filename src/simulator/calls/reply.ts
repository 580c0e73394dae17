import type { JsonObject } from '../json.ts';
import { type Refusal, WrongMethod } from '../refusal.ts';
import { type HttpReply, JSON_TYPE } from './answer.ts';
import type { RateRefusal } from './rate-limit.ts';
import type { Profile, Reply } from './route.ts';

/* Replies in their final form; `now` is simulated time. PURE. */

/** Returns a reply with the date of simulated time. */
export function responseOf(now: number, reply: Reply): HttpReply {
  const date = httpDate(now);
  if (reply.type === 'text') {
    return {
      type: 'reply',
      status: reply.status,
      headers: { 'content-type': reply.contentType, date },
      body: reply.body,
    };
  }
  const headers = { 'content-type': JSON_TYPE, date };
  if (reply.type === 'json-text') return { type: 'reply', status: reply.status, headers, body: reply.body };
  return {
    type: 'reply',
    status: reply.status,
    headers: { ...headers, ...reply.headers },
    body: JSON.stringify(reply.body),
  };
}

/** The fields that specification 7 gives a failure. */
const WRITTEN: ReadonlySet<string> = new Set(['error', 'msg', 'fail_count', 'locked_until']);

/** Returns the body of a failure: the fields of specification 7, and at the public service its additions. */
const failureBody = (body: JsonObject, profile: Profile): JsonObject =>
  profile === 'public'
    ? body
    : Object.fromEntries(Object.entries(body).filter(([name]) => WRITTEN.has(name)));

/** Returns a refusal in the form of specification 7. */
export function refusalResponse(now: number, refusal: Refusal, profile: Profile): HttpReply {
  const { code, message, extra } = refusal;
  const body = failureBody({ success: false, error: code, msg: message, ...extra }, profile);
  const headers = refusal instanceof WrongMethod ? { allow: refusal.allowed.join(', ') } : {};
  return responseOf(now, { type: 'json', status: refusal.status, body, headers });
}

/** Form of a 429 for the rate of calls. */
interface RateForm {
  readonly profile: Profile;
  /** Form of the public service; a failure of the specification has `error` and `msg`. */
  readonly body: 'text' | 'json';
}

/**
 * Returns a 429 for the rate of calls: plain text as the public service often sends it, or JSON with `error` and `msg`
 * (specification 7).
 */
export function rateLimitResponse(now: number, refused: RateRefusal, form: RateForm): HttpReply {
  if (refused.type === 'quota') {
    const quota = { success: false, error: 'search_quota_exceeded', msg: 'Daily search quota exceeded.' };
    const body = failureBody(quota, form.profile);
    const headers = { 'x-ratelimit-reset': String(refused.resetsAt) };
    return responseOf(now, { type: 'json', status: 429, body, headers });
  }
  if (form.profile === 'specification' || form.body === 'json') {
    const text = refused.text;
    const whole = { success: false, error: 'too_many_requests', detail: text, msg: text };
    const body = failureBody(whole, form.profile);
    return responseOf(now, { type: 'json', status: 429, body });
  }
  return responseOf(now, { type: 'text', status: 429, body: refused.text, contentType: 'text/plain' });
}

/** Returns a fault's answer with the service's own date. */
export function stamped(now: number, reply: HttpReply): HttpReply {
  return { ...reply, headers: { date: httpDate(now), ...reply.headers } };
}

let cachedSecond = -1;
let cachedText = '';

/** Returns the `Date` header of a time in ms since the epoch. One text is reused for a whole second. */
export function httpDate(time: number): string {
  const second = Math.floor(time / 1000);
  if (second !== cachedSecond) {
    cachedText = new Date(second * 1000).toUTCString();
    cachedSecond = second;
  }
  return cachedText;
}
