import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { Answer, SimRequest } from './calls/answer.ts';
import { answerBrokenRequest } from './calls/broken-request.ts';
import { bodyLimit } from './calls/json-body.ts';
import { Refusal } from './calls/refusal.ts';
import type { Service } from './service.ts';

/** Where a listening simulator is reached. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Stops listening and breaks what is still open. */
  close(): Promise<void>;
}

export interface HttpOptions {
  readonly port: number;
  /** Bytes of a body that are read before it is refused, and seconds that it may take. */
  readonly bodyBytes: number;
  readonly bodyTimeoutSeconds: number;
  readonly onError: (error: unknown) => void;
}

/** Serves a service on loopback: HTTP/1.1 with keep-alive, no redirects, a deadline on every body. */
export async function listen(service: Service, options: HttpOptions): Promise<Listening> {
  const server = createServer(
    { keepAliveTimeout: 60_000, requestTimeout: 0, headersTimeout: 10_000 },
    (request, response) => serve({ service, options, server }, request, response),
  );
  server.on('clientError', answerBrokenRequest);
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    async close() {
      server.closeAllConnections();
      if (server.listening) await new Promise((done) => server.close(done));
    },
  };
}

interface Parts {
  readonly service: Service;
  readonly options: HttpOptions;
  readonly server: Server;
}

function serve(parts: Parts, request: IncomingMessage, response: ServerResponse): void {
  if (hasNoBody(request)) {
    reply(parts, { request, response, body: undefined });
    return;
  }
  readBody(request, parts.options, (outcome) => {
    if (outcome.type === 'body') reply(parts, { request, response, body: outcome.bytes });
    else if (outcome.type !== 'broken') refuse(parts, { request, response }, outcome.type);
  });
}

/** Why a body was not read to its end. */
function refusalOf(type: 'too-large' | 'too-slow', options: HttpOptions): Refusal {
  if (type === 'too-slow') return new Refusal(408, 'request_timeout', 'The body came too slowly.');
  return new Refusal(413, 'body_too_large', `The body is larger than ${options.bodyBytes} bytes.`);
}

const hasNoBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] === undefined && (request.headers['content-length'] ?? '0') === '0';

type BodyOutcome =
  | { readonly type: 'body'; readonly bytes: Uint8Array }
  | { readonly type: 'too-large' }
  | { readonly type: 'too-slow' }
  | { readonly type: 'broken' };

/** Reads a body to its end, its limit or its deadline; calls back once. */
function readBody(
  request: IncomingMessage,
  options: HttpOptions,
  done: (outcome: BodyOutcome) => void,
): void {
  const limit = bodyLimit(request.url ?? '', options.bodyBytes);
  const chunks: Buffer[] = [];
  let size = 0;
  let finished = false;
  const finish = (outcome: BodyOutcome): void => {
    if (finished) return;
    finished = true;
    clearTimeout(timer);
    done(outcome);
  };
  const timer = setTimeout(() => finish({ type: 'too-slow' }), options.bodyTimeoutSeconds * 1000);
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > limit) finish({ type: 'too-large' });
    else if (!finished) chunks.push(chunk);
  });
  request.on('end', () => finish({ type: 'body', bytes: Buffer.concat(chunks) }));
  request.on('error', () => finish({ type: 'broken' }));
  request.on('close', () => finish({ type: 'broken' }));
}

/** How long what still comes of a body that is too large is thrown away before the connection breaks. */
const DRAIN_MS = 5000;

/**
 * Answers a body that was not read to its end. What is still on its way of one that is too large is read and
 * dropped: closing at once would reset the connection, and its sender might never see the answer.
 */
function refuse(
  parts: Parts,
  { request, response }: Omit<Exchange, 'body'>,
  type: 'too-large' | 'too-slow',
): void {
  if (type === 'too-slow') response.setHeader('connection', 'close');
  sendReply(parts.service.refusal(refusalOf(type, parts.options)), response);
  const giveUp = setTimeout(() => request.destroy(), DRAIN_MS);
  request.on('close', () => clearTimeout(giveUp));
  request.resume();
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly body: Uint8Array | undefined;
}

function reply(parts: Parts, exchange: Exchange): void {
  const { service, options } = parts;
  const { request, response } = exchange;
  const failed = (error: unknown): void => {
    options.onError(error);
    response.socket?.destroy();
  };
  try {
    const answer = service.answer(simRequest(exchange));
    if (answer instanceof Promise) answer.then((late) => send(late, request, response)).catch(failed);
    else if (answer.type === 'reply') sendReply(answer, response);
    else send(answer, request, response).catch(failed);
  } catch (error) {
    failed(error);
  }
}

function simRequest({ request, body }: Exchange): SimRequest {
  return {
    method: request.method ?? 'GET',
    url: request.url ?? '/',
    headers: request.headers,
    body,
    address: request.socket.remoteAddress ?? 'unknown',
    origin: `http://${request.headers.host ?? '127.0.0.1'}`,
  };
}

async function send(answer: Answer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  switch (answer.type) {
    case 'reply':
      sendReply(answer, response);
      return;
    case 'reset':
      request.socket.resetAndDestroy();
      return;
    case 'stream':
      response.writeHead(answer.status, answer.headers);
      await pipeline(answer.chunks, response).catch(() => response.destroy());
      return;
    default:
      answer satisfies never;
  }
}

function sendReply(answer: Extract<Answer, { type: 'reply' }>, response: ServerResponse): void {
  const body = typeof answer.body === 'string' ? Buffer.from(answer.body) : answer.body;
  response.writeHead(answer.status, { ...answer.headers, 'content-length': body.length });
  response.end(body);
}
