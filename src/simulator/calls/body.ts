import type { Json, JsonObject } from '../json.ts';
import { badRequest, Refusal } from '../refusal.ts';
import type { SimRequest } from './answer.ts';
import type { Route } from './route.ts';

/* The body of a call as its endpoint sees it. PURE. */

/** Result of reading a body; a refused body counts as empty until its caller is known. */
interface ReadBody {
  readonly value: JsonObject;
  readonly refusal: Refusal | undefined;
}

/**
 * Reads the body of a call. An invalid body is a refusal in the result and throws nothing: a key in it may identify the
 * caller, so it is refused only after the key was read.
 */
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

/** Returns the body of a route without JSON as plain values, so that handlers need no other kind of context. */
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

const MAX_DEPTH = 32;
/**
 * Returns the body of a request as an object; `{}` if it is empty. Throws a 400 `bad_request` Refusal for malformed
 * JSON, for a body that is no object, for excessive nesting and for keys that would reach a prototype.
 */
export function parseBody(text: string | undefined): JsonObject {
  if (text === undefined || text.trim() === '') return {};
  const value = parseJson(text);
  if (value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw badRequest('The body must be a JSON object.');
  checkTree(value, 'The body');
  return value as JsonObject;
}

function parseJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    throw badRequest('The body is not valid JSON.');
  }
}

/**
 * Throws a 400 `bad_request` for excessive nesting and for keys that would reach a prototype. It works level by level,
 * so depth uses no stack.
 */
export function checkTree(root: Json, what: string): void {
  let level: Json[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) throw badRequest(`${what} is nested deeper than ${MAX_DEPTH} levels.`);
    level = level.flatMap(childrenOf);
  }
}

function childrenOf(value: Json): Json[] {
  if (typeof value !== 'object' || value === null) return [];
  if (Object.hasOwn(value, '__proto__')) throw badRequest('The key __proto__ is not allowed.');
  return Object.values(value).filter((child) => typeof child === 'object' && child !== null) as Json[];
}

/*
 * The file of an upload: the part of a multipart form (RFC 7578) that has a file name, byte for byte, or
 * the whole body if it is no form. PURE.
 */

/** Returns the bytes of the file in an upload of that content type. */
export function fileOf(body: Uint8Array, contentType: string): Uint8Array {
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) return body;
  const form = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  // Each part is between two delimiters; the line break before a delimiter belongs to it.
  const parts: Part[] = [];
  let from = form.indexOf(`--${boundary}`);
  while (from !== -1) {
    const begin = from + boundary.length + 2;
    const end = form.indexOf(`\r\n--${boundary}`, begin);
    const headEnd = form.indexOf('\r\n\r\n', begin);
    if (end === -1 || headEnd === -1) break;
    const content = headEnd + 4 > end ? form.subarray(end, end) : form.subarray(headEnd + 4, end);
    parts.push({ head: form.toString('latin1', begin, headEnd), content });
    from = end + 2;
  }
  return (parts.find(({ head }) => /filename=/i.test(head)) ?? parts.at(-1))?.content ?? new Uint8Array();
}

interface Part {
  readonly head: string;
  readonly content: Uint8Array;
}

function boundaryOf(contentType: string): string | undefined {
  if (!/^multipart\/form-data\b/i.test(contentType)) return undefined;
  const found = /;\s*boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType);
  return found?.[1] ?? found?.[2];
}
