import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { GROUP, gpuInstanceResource } from '../api/v1alpha1/names.ts';
import { inBackground } from '../lib/background.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import { parsePosition } from '../reach/log-lines.ts';
import {
  LOG_EVENTS_TYPE,
  LOG_PATH,
  type LogPiece,
  type LogRequest,
  logPiece,
  type OpenLog,
} from '../reach/log-stream.ts';
import { listen, type Page, type RunningServer, runningServer, textPage } from './http-server.ts';
import type { CallerAccess } from './path-access.ts';

/** Certificate and key of a server, PEM. */
export interface ServerCertificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface LogServerOptions {
  readonly open: OpenLog;
  readonly access: Pick<CallerAccess, 'refusal'>;
  readonly clock: Clock;
  /** Reads the certificate. The server reads it again every minute, because it is renewed during its life. */
  readonly certificate: () => Promise<ServerCertificate>;
}

/** Interval after which the permission of a follower, and the certificate, are checked again. */
const CHECK_EVERY_MS = 60_000;
/** Bytes that may wait for one follower; further text is skipped, and the stream reports it. */
const MAX_WAITING_BYTES = 262_144;
const MAX_CONNECTIONS = 1_024;
const HEAD_MS = 5_000;
/** Interval of the probes that find a follower whose node is gone. */
const KEEP_ALIVE_MS = 30_000;

/**
 * Serves the logs of machines over TLS: `GET /log/NAMESPACE/NAME?since=POSITION&follow=true`. A caller needs a bearer
 * token whose user may get `gpuinstances/log` of that object; a follower's permission is reviewed again every minute.
 * Log text is never interpreted: it only ever is the body of a chunked reply. Rejects if the address cannot be used or
 * the certificate cannot be read.
 */
export async function serveLogs(
  options: LogServerOptions,
  address: { readonly host: string; readonly port: number },
): Promise<RunningServer> {
  const settings = {
    ...(await options.certificate()),
    ...{ minVersion: 'TLSv1.2' as const, handshakeTimeout: HEAD_MS },
    ...{ headersTimeout: HEAD_MS, requestTimeout: 2 * HEAD_MS, keepAliveTimeout: HEAD_MS },
    ...{ keepAlive: true, keepAliveInitialDelay: KEEP_ALIVE_MS, connectionsCheckingInterval: 1_000 },
  };
  const server = createServer(settings, (request, response) => {
    inBackground(
      { task: 'log request' },
      () => answer(options, request, response),
      () => response.destroy(),
    );
  });
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, address);
  const renewal = renewCertificate(server, options);
  const running = runningServer(server, address.host, 'https');
  return {
    url: running.url,
    close: async () => {
      renewal.cancel();
      await running.close();
    },
  };
}

/** Uses a renewed certificate for new connections. A file that cannot be read or parsed changes nothing. */
function renewCertificate(
  server: Server,
  { clock, certificate }: Pick<LogServerOptions, 'clock' | 'certificate'>,
): Timer {
  let timer: Timer;
  const wait = () => {
    timer = clock.setTimer(
      CHECK_EVERY_MS,
      () => {
        wait();
        inBackground(
          { task: 'log certificate' },
          async () => server.setSecureContext(await certificate()),
          () => {},
        );
      },
      { background: true },
    );
  };
  wait();
  return { cancel: () => timer.cancel() };
}

async function answer(
  options: LogServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const asked = parseRequest(request);
  if ('status' in asked) return refuse(response, asked);
  const permitted = () =>
    options.access.refusal({ authorization: request.headers.authorization }, permissionOf(asked));
  const refused = await permitted();
  if (refused) return refuse(response, refused);
  // The client went away during the review: no event would end its stream.
  if (response.destroyed) return;
  const isJson = request.headers.accept?.includes(LOG_EVENTS_TYPE) === true;
  const stream = new LogResponse(response, { isJson, isHeadSent: asked.follow });
  const opened = options.open(asked, (piece) => stream.send(piece));
  if (opened.type === 'refused') {
    const { status, message } = opened.refusal;
    return refuse(response, textPage(status, `${message}\n`));
  }
  const checking = checkPermission(options.clock, permitted, stream);
  response.once('close', () => {
    checking.cancel();
    opened.close();
  });
  stream.begin();
}

function permissionOf({ namespace, name }: LogRequest) {
  const resource = gpuInstanceResource.plural;
  return { group: GROUP, resource, subresource: 'log', verb: 'get', namespace, name } as const;
}

/** Ends the stream of a caller who lost the permission, or whose token expired, and of one that reads nothing. */
function checkPermission(
  clock: Clock,
  permitted: () => Promise<Page | undefined>,
  stream: LogResponse,
): Timer {
  let timer: Timer;
  const check = async () => {
    if (stream.isStuck()) return stream.destroy();
    stream.beat();
    const refused = await permitted();
    if (refused === undefined || refused.status === 503) return;
    stream.send(logPiece({ type: 'end', reason: 'Forbidden', message: refused.body.trim() }));
  };
  const wait = () => {
    timer = clock.setTimer(
      CHECK_EVERY_MS,
      () => {
        wait();
        inBackground({ task: 'log permission' }, check, () => stream.destroy());
      },
      { background: true },
    );
  };
  wait();
  return { cancel: () => timer.cancel() };
}

/** Replies with a page and closes the connection: the next one may reach another replica. */
function refuse(response: ServerResponse, { status, contentType, body }: Page): void {
  response.writeHead(status, {
    'content-type': contentType,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...(status === 405 && { allow: 'GET' }),
    ...((status === 429 || status === 503) && { 'retry-after': '1' }),
  });
  response.end(body);
}

const NAMESPACE = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
const NAME = '[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?';
const PATH = new RegExp(`^${LOG_PATH}/(${NAMESPACE})/(${NAME})$`);
const MAX_URL = 1_024;

/**
 * Returns the request of a URL, or the page that refuses it. Names are compared as they arrive: an encoded character,
 * a dot segment or a second slash is no name of Kubernetes.
 */
export function parseRequest({
  method,
  url = '/',
}: Pick<IncomingMessage, 'method' | 'url'>): LogRequest | Page {
  if (method !== 'GET') return textPage(405, 'Only GET is served.\n');
  if (url.length > MAX_URL) return textPage(414, `A URL has at most ${MAX_URL} characters.\n`);
  const [path = '', query = '', ...rest] = url.split('?');
  const [, namespace, name] = PATH.exec(path) ?? [];
  if (namespace === undefined || name === undefined || rest.length > 0)
    return textPage(404, `No such path. Use ${LOG_PATH}/NAMESPACE/NAME with the names of a GpuInstance.\n`);
  const parameters = new URLSearchParams(query);
  const known = new Set(['since', 'follow']);
  const keys = [...parameters.keys()];
  if (keys.some((key) => !known.has(key)) || new Set(keys).size !== keys.length)
    return textPage(400, 'Use only the parameters since and follow, each at most once.\n');
  const since = parameters.get('since') ?? undefined;
  if (since !== undefined && !parsePosition(since))
    return textPage(400, 'since is not a position of this log. Use the position of an earlier event.\n');
  const follow = parameters.get('follow') ?? 'false';
  if (follow !== 'true' && follow !== 'false') return textPage(400, 'follow is true or false.\n');
  return { namespace, name, since, follow: follow === 'true' };
}

/** The reply to one caller. It holds a bounded number of bytes, also if the caller reads none. */
class LogResponse {
  readonly #response: ServerResponse;
  readonly #isJson: boolean;
  readonly #isHeadSent: boolean;
  #isLineOpen = false;
  #skipped = 0;
  /** Written bytes at the previous check, if text had to be skipped since. */
  #stuckAt: number | undefined;

  constructor(response: ServerResponse, form: { readonly isJson: boolean; readonly isHeadSent: boolean }) {
    this.#response = response;
    this.#isJson = form.isJson;
    this.#isHeadSent = form.isHeadSent;
  }

  /** Sends the head at once to a follower, who may wait long for the first text. */
  begin(): void {
    if (this.#isHeadSent && !this.#response.headersSent) this.#head(200);
  }

  /** Sends a piece, or skips its text while too many bytes wait. */
  send(piece: LogPiece): void {
    if (this.#response.writableEnded || this.#response.destroyed) return;
    const { event } = piece;
    if (!this.#response.headersSent) {
      if (event.type === 'end' && event.reason !== 'Complete') {
        refuse(this.#response, textPage(503, `${event.message}\n`));
        return;
      }
      this.#head(200);
    }
    const isFull = this.#response.writableLength > MAX_WAITING_BYTES;
    if (isFull && event.type === 'text') {
      this.#skipped += event.text.length;
      return;
    }
    if (!isFull && this.#skipped > 0) this.#reportSkipped();
    if (!isFull || event.type === 'end') this.#write(piece);
    if (event.type === 'end') this.#response.end();
  }

  /** Writes an empty line to a JSON stream, so that no proxy ends it while it is quiet. */
  beat(): void {
    if (this.#isJson && this.#response.headersSent && this.#response.writableLength === 0)
      this.#response.write('\n');
  }

  /** Returns true if text was skipped and not a byte was taken since the previous call. */
  isStuck(): boolean {
    const { socket } = this.#response;
    const taken = (socket?.bytesWritten ?? 0) - (socket?.writableLength ?? 0);
    const isStuck = this.#skipped > 0 && this.#stuckAt === taken;
    this.#stuckAt = this.#skipped > 0 ? taken : undefined;
    return isStuck;
  }

  destroy(): void {
    this.#response.destroy();
  }

  #head(status: number): void {
    this.#response.writeHead(status, {
      'content-type': this.#isJson ? LOG_EVENTS_TYPE : 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      connection: 'close',
    });
    this.#response.flushHeaders();
  }

  #reportSkipped(): void {
    const message = `This client reads too slowly: ${this.#skipped} characters were skipped here.`;
    this.#skipped = 0;
    this.#write(logPiece({ type: 'note', reason: 'TooSlow', message }));
  }

  #write(piece: LogPiece): void {
    const { event } = piece;
    if (this.#isJson) {
      this.#response.write(piece.json());
      return;
    }
    if (event.type === 'text') this.#isLineOpen = !event.text.endsWith('\n');
    // The operator's own message is a line of its own.
    else if (this.#isLineOpen) {
      this.#response.write('\n');
      this.#isLineOpen = false;
    }
    if (event.type !== 'end' || event.reason !== 'Complete') this.#response.write(piece.plain());
  }
}
