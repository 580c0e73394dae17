import type { JsonObject } from '../json.ts';
import type { SimRequest } from './answer.ts';
import { parseBody } from './json-body.ts';
import { Refusal } from './refusal.ts';
import type { Route } from './route.ts';

/* The body of a call as its endpoint sees it. PURE. */

/** What was read; a body that has to be refused counts as empty until its caller is known. */
interface ReadBody {
  readonly value: JsonObject;
  readonly refusal: Refusal | undefined;
}

/** A key in the body may prove who asks, so a bad body is refused only after the key was looked at. */
export function readBody(request: SimRequest, route: Route, limit: number): ReadBody {
  const { body } = request;
  if (body !== undefined && Buffer.byteLength(body) > limit) {
    return {
      value: {},
      refusal: new Refusal(413, 'body_too_large', `The body is larger than ${limit} bytes.`),
    };
  }
  if (route.rawBody) return { value: rawBody(request), refusal: undefined };
  try {
    return { value: parseBody(textOf(body)), refusal: undefined };
  } catch (error) {
    if (error instanceof Refusal) return { value: {}, refusal: error };
    throw error;
  }
}

/** What a route without JSON finds as its body: plain values, so that handlers need no other kind of context. */
function rawBody({ body, headers }: SimRequest): { base64: string; contentType: string } {
  return {
    base64: Buffer.from(body ?? '').toString('base64'),
    contentType: String(headers['content-type'] ?? ''),
  };
}

function textOf(body: SimRequest['body']): string | undefined {
  return body instanceof Uint8Array
    ? Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')
    : body;
}
