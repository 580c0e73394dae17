import type { Answer, Headers } from './ext-proc.ts';
import type { CorsSettings } from './group-view.ts';
import type { ReadHeader } from './request-notes.ts';

type RequestHeaders = ReadonlyMap<ReadHeader, string>;

/** Response headers that a page may read. */
const EXPOSED = 'retry-after, x-request-id, x-should-retry';
/** Names of headers, in the form of a preflight. */
const HEADER_NAMES = /^[-\w, ]{1,1024}$/;

/** Returns the answer to a preflight of a browser; undefined for any other request. No part of it reaches a worker. */
export function preflightAnswer(cors: CorsSettings, headers: RequestHeaders): Answer | undefined {
  const isPreflight = headers.get(':method') === 'OPTIONS' && headers.has('access-control-request-method');
  if (!isPreflight) return undefined;
  const allowed = originHeaders(cors, headers);
  const asked = headers.get('access-control-request-headers') ?? '';
  const names = cors.allowHeaders.includes('*') ? asked : cors.allowHeaders.join(', ');
  return {
    type: 'reply',
    status: 204,
    headers: {
      ...allowed,
      vary: 'Origin, Access-Control-Request-Headers',
      ...(allowed['access-control-allow-origin'] && {
        'access-control-allow-methods': cors.allowMethods.join(', '),
        ...(HEADER_NAMES.test(names) && { 'access-control-allow-headers': names }),
        'access-control-max-age': String(Math.floor(cors.maxAgeMs / 1000)),
      }),
    },
    body: '',
  };
}

/** Returns the answer with headers that let the requesting page read it, if its origin is allowed. */
export function readableAnswer(answer: Answer, cors: CorsSettings, headers: RequestHeaders): Answer {
  const allowed = originHeaders(cors, headers);
  const exposed = allowed['access-control-allow-origin'] && { 'access-control-expose-headers': EXPOSED };
  const added = { ...allowed, ...exposed };
  return answer.type === 'route'
    ? { ...answer, responseHeaders: added }
    : { ...answer, headers: { ...answer.headers, ...added } };
}

function originHeaders({ allowOrigins }: CorsSettings, headers: RequestHeaders): Headers {
  if (allowOrigins.includes('*')) return { 'access-control-allow-origin': '*' };
  const origin = headers.get('origin');
  const isAllowed = origin !== undefined && allowOrigins.includes(origin);
  return { vary: 'Origin', ...(isAllowed && { 'access-control-allow-origin': origin }) };
}
