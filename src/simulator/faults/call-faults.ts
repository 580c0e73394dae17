import { type Answer, type HttpReply, JSON_TYPE } from '../calls/answer.ts';
import type { CallFaultName } from '../fault-catalogue.ts';
import type { ActiveFault } from '../tables/faults.ts';

/* Effect of each fault of a call: whether the endpoint is carried out, and the answer. PURE. */

/** Plan of a call: whether and when the endpoint runs; `answer` makes the final answer from its reply. */
export interface CallPlan {
  /** Number of runs of the endpoint: 0 has no effect, 2 has it twice. */
  readonly runs: 0 | 1 | 2;
  readonly delayBeforeMs: number;
  readonly delayAfterMs: number;
  /** `reply` is undefined if the endpoint did not run. */
  readonly answer: (reply: HttpReply | undefined) => Answer;
}

const DEFAULT_DELAY_SECONDS = 5;

const jsonAnswer = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => ({
  type: 'reply',
  status,
  headers: { 'content-type': JSON_TYPE, ...headers },
  body: JSON.stringify(body),
});
const textAnswer = (status: number, body: string, contentType = 'text/plain'): Answer => ({
  type: 'reply',
  status,
  headers: { 'content-type': contentType },
  body,
});

const instead = (answer: Answer): CallPlan => ({
  runs: 0,
  delayBeforeMs: 0,
  delayAfterMs: 0,
  answer: () => answer,
});
const afterwards = (answer: (reply: HttpReply | undefined) => Answer): CallPlan => ({
  runs: 1,
  delayBeforeMs: 0,
  delayAfterMs: 0,
  answer,
});

const BROKEN = jsonAnswer(500, {
  success: false,
  error: 'internal_error',
  msg: 'Something broke on our side.',
});
const UNLUCKY = { success: false, error: 'try_again', msg: 'The request could not be completed.' };
/** Returns the reply; an endpoint that ran always has one. */
const given = (reply: HttpReply | undefined): Answer => reply ?? BROKEN;

const delayOf = (fault: ActiveFault): number => (fault.seconds ?? DEFAULT_DELAY_SECONDS) * 1000;

const PLANS: Readonly<Record<CallFaultName, (fault: ActiveFault) => CallPlan>> = {
  refused: () => instead({ type: 'reset', sent: false }),
  'reset-before': () => instead({ type: 'reset', sent: true }),
  'reset-after': () => afterwards(() => ({ type: 'reset', sent: true })),
  delayed: (fault) => ({ ...afterwards(given), delayBeforeMs: delayOf(fault) }),
  'delayed-reply': (fault) => ({ ...afterwards(given), delayAfterMs: delayOf(fault) }),
  duplicated: () => ({ ...afterwards(given), runs: 2 }),
  '429-text': () => instead(textAnswer(429, 'API requests too frequent. Slow down.')),
  '429-json': () => instead(jsonAnswer(429, { detail: 'API requests too frequent' })),
  '429-retry-after': (fault) =>
    instead(
      jsonAnswer(
        429,
        { success: false, error: 'too_many_requests', msg: 'API requests too frequent' },
        { 'retry-after': String(Math.ceil(fault.seconds ?? 2)) },
      ),
    ),
  '5xx': () => instead(textAnswer(503, '<html><body>503 Service Unavailable</body></html>', 'text/html')),
  '5xx-with-effect': () => afterwards(() => BROKEN),
  'error-with-effect': () => afterwards((reply) => jsonAnswer(400, { ...fieldsOf(reply), ...UNLUCKY })),
  'success-false': () => instead(jsonAnswer(200, UNLUCKY)),
  'success-false-with-effect': () => afterwards(() => jsonAnswer(200, UNLUCKY)),
  'auth-as-404': () =>
    instead(jsonAnswer(404, { success: false, error: 'auth_error', msg: 'Invalid user key' })),
  'revoked-key': () =>
    instead(jsonAnswer(401, { success: false, error: 'auth_error', msg: 'Invalid user key' })),
  forbidden: () => instead(jsonAnswer(403, { success: false, error: 'forbidden', msg: 'Forbidden' })),
  redirect: () =>
    instead({
      type: 'reply',
      status: 302,
      headers: { location: 'http://169.254.169.254/latest/meta-data/' },
      body: '',
    }),
};

/** Returns the plan of a call that this fault affects. */
export function planOf(fault: ActiveFault & { readonly name: CallFaultName }): CallPlan {
  return PLANS[fault.name](fault);
}

/** The plan of a call without a fault. */
export const PLAIN_PLAN: CallPlan = afterwards(given);

function fieldsOf(reply: HttpReply | undefined): object {
  if (typeof reply?.body !== 'string') return {};
  const value: unknown = JSON.parse(reply.body);
  return typeof value === 'object' && value !== null ? value : {};
}
