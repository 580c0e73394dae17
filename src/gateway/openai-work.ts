import type { EndedRequest } from './access-log.ts';

/** The part of a request's head that identifies a request of the OpenAI API. */
export interface OpenAIHead {
  readonly method: string;
  /** Path with query, as its worker sees it. */
  readonly path: string;
  readonly contentType: string | undefined;
}

/** A body, or the part of it that was read. */
export interface BodyStart {
  readonly bytes: Uint8Array;
  readonly isWhole: boolean;
  /** Length by its header; undefined if it has none, as for chunks. */
  readonly contentLength: number | undefined;
}

/** Estimated work of a request in tokens. */
export interface TokenEstimate {
  readonly prompt: number;
  readonly output: number;
}

/** Output tokens of a request without a limit. */
export const DEFAULT_OUTPUT_TOKENS = 512;
/** Maximum output tokens per choice: limits of clients are often far above the real output. */
export const MAX_OUTPUT_TOKENS = 8192;
const MAX_CHOICES = 128;
const MAX_PROMPT_TOKENS = 1_000_000;
const BYTES_PER_TOKEN = 4;
/** Tokens of an image, a recording or a file in the body. */
const MEDIA_TOKENS = 1000;
/** Minimum length of a base64 string that counts as media; a shorter one counts as text. */
const MIN_MEDIA_BYTES = 1024;

const PATH = /\/(chat\/completions|completions|responses|embeddings)\/?$/;

/** Returns true if its work is counted in tokens: a JSON body for one of the paths that accept prompts. */
export function countsTokens({ method, path, contentType }: OpenAIHead): boolean {
  return method === 'POST' && PATH.test(pathnameOf(path)) && /\bjson\b/i.test(contentType ?? '');
}

/**
 * Returns the estimated work of a request from its body: a token per 4 bytes, and the output that it allows. It reads
 * each byte once and keeps none, whatever the body is. A body that is no JSON object counts by its bytes only.
 */
export function estimateTokens(path: string, body: BodyStart): TokenEstimate {
  const { limits, media, endsInMedia } = scan(body.bytes);
  const unread = endsInMedia ? 0 : Math.max(0, (body.contentLength ?? 0) - body.bytes.length);
  const text = body.bytes.length - media.bytes + (body.isWhole ? 0 : unread);
  const prompt = Math.max(1, Math.ceil(text / BYTES_PER_TOKEN)) + media.count * MEDIA_TOKENS;
  const writes = limits !== undefined && !isEmbedding(path);
  return { prompt: Math.min(prompt, MAX_PROMPT_TOKENS), output: writes ? outputOf(limits) : 0 };
}

/** Returns the tokens of a finished request: the worker's figure, else the best estimate. */
export function endedTokens({ prompt, output }: TokenEstimate, { status, usage }: EndedRequest): number {
  if (usage?.tokens !== undefined) return usage.tokens;
  if (usage?.events !== undefined) return prompt + usage.events;
  return isRefusal(status) ? prompt : prompt + output;
}

/**
 * Returns true if the worker refused and wrote no output. A failed worker or a client that disconnected does not count:
 * the request still demanded its work.
 */
function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429 && status !== 499;
}

function pathnameOf(path: string): string {
  const query = path.search(/[?#]/);
  return query < 0 ? path : path.slice(0, query);
}

function isEmbedding(path: string): boolean {
  return /\/embeddings\/?$/.test(pathnameOf(path));
}

type Limits = ReadonlyMap<string, number>;

function outputOf(limits: Limits): number {
  const limit =
    limits.get('max_completion_tokens') ?? limits.get('max_output_tokens') ?? limits.get('max_tokens');
  const choices = Math.max(limits.get('n') ?? 1, limits.get('best_of') ?? 1, 1);
  return Math.min(limit ?? DEFAULT_OUTPUT_TOKENS, MAX_OUTPUT_TOKENS) * Math.min(choices, MAX_CHOICES);
}

const LIMITS = new Set(['max_completion_tokens', 'max_output_tokens', 'max_tokens', 'n', 'best_of']);
const MAX_LIMIT_LENGTH = Math.max(...[...LIMITS].map(({ length }) => length));
const FIRST_LETTERS = new Set([...LIMITS].map((name) => name.charCodeAt(0)));
/** Maximum digits of a number that counts. */
const MAX_DIGITS = 9;

interface Scanned {
  /** Whole numbers of the top-level object, by key; undefined if the body is no object. */
  readonly limits: Limits | undefined;
  /** Bytes of base64 in the body, which is no text. */
  readonly media: { readonly count: number; readonly bytes: number };
  /** True if the unread rest belongs to such a string. */
  readonly endsInMedia: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPENING = new Set([0x7b, 0x5b]);
const CLOSING = new Set([0x7d, 0x5d]);
const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** A string in a text. */
interface Range {
  readonly from: number;
  readonly to: number;
}

/**
 * Reads the tokens of JSON without building values: JSON.parse takes 100 ms for 1 MiB of brackets, and fails for a
 * truncated text.
 */
function scan(bytes: Uint8Array): Scanned {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = afterSpaces(text, 0);
  const limits = new Map<string, number>();
  let media = { count: 0, bytes: 0 };
  let endsInMedia = false;
  let depth = 0;
  let last: Range = NOWHERE;
  let key: Range = NOWHERE;
  for (let at = start; at < text.length; at++) {
    const byte = text[at] as number;
    if (byte === QUOTE) {
      last = { from: at + 1, to: endOfString(text, at + 1) };
      if (isMedia(text, last, key)) {
        media = { count: media.count + 1, bytes: media.bytes + last.to - last.from };
        endsInMedia = last.to >= text.length;
      }
      at = last.to;
    } else if (byte === COLON) {
      key = last;
      if (depth === 1) readLimit(text, { key, after: at + 1 }, limits);
    } else if (byte === COMMA) key = NOWHERE;
    else if (OPENING.has(byte)) depth++;
    else if (CLOSING.has(byte)) depth--;
  }
  return { limits: text[start] === 0x7b ? limits : undefined, media, endsInMedia };
}

const NOWHERE: Range = { from: 0, to: 0 };

function afterSpaces(text: Buffer, from: number): number {
  let at = from;
  while (at < text.length && SPACES.has(text[at] as number)) at++;
  return at;
}

/** Returns the index of its quotation mark, or the end of the text. */
function endOfString(text: Buffer, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
  return Math.min(at, text.length);
}

function isMedia(text: Buffer, { from, to }: Range, key: Range): boolean {
  if (to - from < MIN_MEDIA_BYTES) return false;
  return textOf(text, key) === 'data' || textOf(text, { from, to: from + 5 }) === 'data:';
}

function readLimit(
  text: Buffer,
  { key, after }: { readonly key: Range; readonly after: number },
  limits: Map<string, number>,
): void {
  if (key.to - key.from > MAX_LIMIT_LENGTH || !FIRST_LETTERS.has(text[key.from] as number)) return;
  const name = textOf(text, key);
  const value = LIMITS.has(name) ? numberAt(text, afterSpaces(text, after)) : undefined;
  if (value !== undefined) limits.set(name, value);
}

/** Returns the number; undefined for a value that does not count: `null`, a fraction, 0, a text. */
function numberAt(text: Buffer, from: number): number | undefined {
  const match = /^(\d+)(?![\d.eE])/.exec(textOf(text, { from, to: from + MAX_DIGITS + 1 }));
  const value = Number(match?.[1]);
  return value > 0 ? value : undefined;
}

function textOf(text: Buffer, { from, to }: Range): string {
  return text.toString('latin1', from, to);
}
