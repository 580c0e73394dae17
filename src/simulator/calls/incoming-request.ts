import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { Refusal } from '../refusal.ts';
import type { World } from '../world/world.ts';
import { JSON_TYPE } from './answer.ts';

/** Limits of a body: maximum bytes, and maximum seconds. */
export interface BodyBounds {
  readonly bodyBytes: number;
  readonly bodyTimeoutSeconds: number;
}

/** End of reading a body. `broken`: the sender has disconnected. */
export type BodyOutcome =
  | { readonly type: 'body'; readonly bytes: Uint8Array | undefined }
  | { readonly type: 'too-large' }
  | { readonly type: 'too-slow' }
  | { readonly type: 'broken' };

/** Reads a body to its end, its limit or its deadline, and calls back once; at once without a body. */
export function readIncomingBody(
  request: IncomingMessage,
  bounds: BodyBounds,
  done: (outcome: BodyOutcome) => void,
): void {
  if (hasNoBody(request)) {
    done({ type: 'body', bytes: undefined });
    return;
  }
  const limit = bounds.bodyBytes;
  const chunks: Buffer[] = [];
  let size = 0;
  let finished = false;
  const finish = (outcome: BodyOutcome): void => {
    if (finished) return;
    finished = true;
    clearTimeout(timer);
    done(outcome);
  };
  const timer = setTimeout(() => finish({ type: 'too-slow' }), bounds.bodyTimeoutSeconds * 1000);
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > limit) finish({ type: 'too-large' });
    else if (!finished) chunks.push(chunk);
  });
  request.on('end', () => finish({ type: 'body', bytes: Buffer.concat(chunks) }));
  request.on('error', () => finish({ type: 'broken' }));
  request.on('close', () => finish({ type: 'broken' }));
}

const hasNoBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] === undefined && (headers['content-length'] ?? '0') === '0';

/** Returns true if the declared length of the body exceeds the limit. */
export function isDeclaredTooLarge(request: IncomingMessage, bounds: BodyBounds): boolean {
  return Number(request.headers['content-length'] ?? 0) > bounds.bodyBytes;
}

/** Returns the refusal of a body that was not read to its end. */
export function bodyRefusal(type: 'too-large' | 'too-slow', bounds: BodyBounds): Refusal {
  if (type === 'too-slow') return new Refusal(408, 'request_timeout', 'The body came too slowly.');
  return new Refusal(413, 'body_too_large', `The body is larger than ${bounds.bodyBytes} bytes.`);
}

/* How large a body may be, known before a byte of it is read. PURE. */

const LARGE_BYTES = 256 * 1_048_576;
/** Maximum bytes of a form around its file. */
const FORM_BYTES = 65_536;

/**
 * Returns the maximum bytes of a body: a whole world if control is served, the announced size of an expected file,
 * otherwise the limit of the settings. Uploads need no key, so an unexpected one gets no larger limit.
 */
export function bodyLimit(world: World, url: string, hasControl: boolean): number {
  const { bodyBytes } = world.settings.limits;
  if (/^\/+sim\//.test(url)) return hasControl ? LARGE_BYTES : bodyBytes;
  const [, id, version] = /^\/+uploads\/+([^/?]+)\/+([^/?]+)/.exec(url) ?? [];
  const announced = world.tables.deployments[Number(id)]?.versions.find(
    (known) => String(known.id) === version,
  );
  return announced ? Math.min(LARGE_BYTES, Math.max(bodyBytes, announced.fileSize + FORM_BYTES)) : bodyBytes;
}

interface HeadRule {
  readonly breaks: (request: IncomingMessage) => boolean;
  readonly refusal: Refusal;
}

/** Rules that refuse a request before its body is read; the first broken rule decides. */
const HEAD_RULES: readonly HeadRule[] = [
  {
    breaks: ({ httpVersion, headers }) => httpVersion === '1.1' && headers.host === undefined,
    refusal: new Refusal(400, 'bad_request', 'A request of HTTP/1.1 needs a Host header.'),
  },
  {
    breaks: ({ headers }) => (headers.expect ?? '100-continue').toLowerCase() !== '100-continue',
    refusal: new Refusal(417, 'expectation_failed', 'The only expectation that can be met is 100-continue.'),
  },
  {
    breaks: ({ headers }) => (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity',
    refusal: new Refusal(
      415,
      'unsupported_media_type',
      'Bodies are not unpacked here: send JSON without a Content-Encoding.',
    ),
  },
];

/** Returns the refusal of a request by its head alone; undefined if it is valid. */
export function refusalOfHead(request: IncomingMessage): Refusal | undefined {
  return HEAD_RULES.find(({ breaks }) => breaks(request))?.refusal;
}

/** Refusals of requests that are no HTTP, by the code of Node's parser; 400 for every other. */
const REFUSALS: ReadonlyMap<unknown, Refusal> = new Map([
  ['HPE_HEADER_OVERFLOW', new Refusal(431, 'headers_too_large', 'The headers are too large.')],
  ['ERR_HTTP_REQUEST_TIMEOUT', new Refusal(408, 'request_timeout', 'The request came too slowly.')],
]);

/** Answers a request that could not be parsed: like every error it has a body with `error` and `msg`. */
export function answerBrokenRequest(error: Error, socket: Duplex): void {
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const code = 'code' in error ? error.code : undefined;
  endWith(socket, REFUSALS.get(code) ?? new Refusal(400, 'bad_request', 'This is not an HTTP/1.1 request.'));
}

/** Refuses CONNECT: this server is no proxy. It must close the socket, which the HTTP server has released. */
export function refuseTunnel(socket: Duplex): void {
  socket.on('error', () => socket.destroy());
  socket.on('finish', () => socket.destroy());
  endWith(socket, new Refusal(405, 'method_not_allowed', 'This is no proxy: CONNECT is not served.'));
}

function endWith(socket: Duplex, refusal: Refusal): void {
  const body = JSON.stringify({ success: false, error: refusal.code, msg: refusal.message });
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
