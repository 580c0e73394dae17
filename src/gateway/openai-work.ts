import type { EndedRequest } from './access-log.ts';

/** What says whether a request is one of the OpenAI API. */
export interface OpenAIHead {
  readonly method: string;
  /** As its worker sees it, with the query. */
  readonly path: string;
  readonly contentType: string | undefined;
}

/** A body, or what was read of it. */
export interface BodyStart {
  readonly bytes: Uint8Array;
  readonly isWhole: boolean;
  /** By its header; undefined where it does not say, as in chunks. */
  readonly contentLength: number | undefined;
}

/** What a request is believed to take, in tokens. */
export interface TokenEstimate {
  readonly prompt: number;
  readonly output: number;
}

/** Of output, where the request sets no limit. */
export const DEFAULT_OUTPUT_TOKENS = 512;
/** Of output and choice: limits of clients are often far above what is written. */
export const MAX_OUTPUT_TOKENS = 8192;
const MAX_CHOICES = 128;
const MAX_PROMPT_TOKENS = 1_000_000;
const BYTES_PER_TOKEN = 4;
/** Of an image, a recording or a file that is in the body. */
const MEDIA_TOKENS = 1000;
/** A shorter string of base64 counts as text. */
const MIN_MEDIA_BYTES = 1024;

const PATH = /\/(chat\/completions|completions|responses|embeddings)\/?$/;

/** Whether its work is counted in tokens: a JSON body for one of the paths that take prompts. */
export function countsTokens({ method, path, contentType }: OpenAIHead): boolean {
  return method === 'POST' && PATH.test(pathnameOf(path)) && /\bjson\b/i.test(contentType ?? '');
}

/**
 * The work of a request by its body: a token for each 4 bytes, and what it lets the worker write. Reads each byte once
 * and keeps none of them, whatever the body is; one that is no JSON object counts by its bytes alone.
 */
export function estimateTokens(path: string, body: BodyStart): TokenEstimate {
  const { limits, media, endsInMedia } = scan(body.bytes);
  const unread = endsInMedia ? 0 : Math.max(0, (body.contentLength ?? 0) - body.bytes.length);
  const text = body.bytes.length - media.bytes + (body.isWhole ? 0 : unread);
  const prompt = Math.max(1, Math.ceil(text / BYTES_PER_TOKEN)) + media.count * MEDIA_TOKENS;
  const writes = limits !== undefined && !isEmbedding(path);
  return { prompt: Math.min(prompt, MAX_PROMPT_TOKENS), output: writes ? outputOf(limits) : 0 };
}

/** The tokens of a request that ended: what its worker said, else the best that is known. */
export function endedTokens({ prompt, output }: TokenEstimate, { status, usage }: EndedRequest): number {
  if (usage?.tokens !== undefined) return usage.tokens;
  if (usage?.events !== undefined) return prompt + usage.events;
  return isRefusal(status) ? prompt : prompt + output;
}

/** The worker wrote nothing. Not so where it could not, or the client left: the request asked for its work all the same. */
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
/** More digits than any number that counts. */
const MAX_DIGITS = 9;

interface Scanned {
  /** Whole numbers of the object itself, by their keys; undefined where it is none. */
  readonly limits: Limits | undefined;
  /** Base64 in the body, which is no text. */
  readonly media: { readonly count: number; readonly bytes: number };
  /** What was not read belongs to such a string. */
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

/** Reads the tokens of JSON without building values: JSON.parse takes 100 ms for 1 MiB of brackets, and nothing that is cut. */
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

/** Where its quotation mark is, or the end of what there is. */
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

/** Undefined where it is none that counts: `null`, a fraction, 0, a text. */
function numberAt(text: Buffer, from: number): number | undefined {
  const match = /^(\d+)(?![\d.eE])/.exec(textOf(text, { from, to: from + MAX_DIGITS + 1 }));
  const value = Number(match?.[1]);
  return value > 0 ? value : undefined;
}

function textOf(text: Buffer, { from, to }: Range): string {
  return text.toString('latin1', from, to);
}
