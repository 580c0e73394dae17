import type { Draft } from '../faults/call-faults.ts';
import { JSON_TYPE } from './answer.ts';
import { httpDate } from './http-date.ts';
import type { RateRefusal } from './rate-limit.ts';
import { type Refusal, WrongMethod } from './refusal.ts';
import type { Reply } from './route.ts';

/* Replies in their final form; `now` is simulated time. PURE. */

/** A reply as it leaves, with the date of simulated time. */
export function replyDraft(now: number, reply: Reply): Draft {
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

/** A refusal in the form of specification 7. */
export function refusalDraft(now: number, refusal: Refusal): Draft {
  const body = { success: false, error: refusal.code, msg: refusal.message, ...refusal.extra };
  const headers = refusal instanceof WrongMethod ? { allow: refusal.allowed.join(', ') } : {};
  return replyDraft(now, { type: 'json', status: refusal.status, body, headers });
}

/** A 429 for pace: plain text as the public service often has it, or JSON with `error` and `msg` (specification 7). */
export function rateDraft(now: number, refused: RateRefusal, form: 'text' | 'json'): Draft {
  if (refused.type === 'quota') {
    const body = { success: false, error: 'search_quota_exceeded', msg: 'Daily search quota exceeded.' };
    const headers = { 'x-ratelimit-reset': String(refused.resetsAt) };
    return replyDraft(now, { type: 'json', status: 429, body, headers });
  }
  if (form === 'json') {
    const text = refused.text;
    const body = { success: false, error: 'too_many_requests', detail: text, msg: text };
    return replyDraft(now, { type: 'json', status: 429, body });
  }
  return replyDraft(now, { type: 'text', status: 429, body: refused.text, contentType: 'text/plain' });
}

/** An answer of a fault with the service's own date. */
export function stamped(now: number, draft: Draft): Draft {
  return { ...draft, headers: { date: httpDate(now), ...draft.headers } };
}
