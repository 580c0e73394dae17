import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import type { Answer, SimRequest } from './calls/answer.ts';
import {
  answerBrokenRequest,
  type BodyBounds,
  bodyRefusal,
  isDeclaredTooLarge,
  readIncomingBody,
  refusalOfHead,
  refuseTunnel,
} from './calls/incoming-request.ts';
import type { Refusal } from './calls/refusal.ts';
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
  /** Asked at each request to an address, so that a setting that is changed later counts. */
  readonly bounds: (url: string) => BodyBounds;
  readonly onError: (error: unknown) => void;
}

/** How Node serves: headers have ten seconds (seen to each second), and what lacks a Host is refused by us. */
const SERVER_OPTIONS = {
  keepAliveTimeout: 60_000,
  requestTimeout: 0,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 1000,
  requireHostHeader: false,
};

/**
 * Serves a service on loopback: HTTP/1.1 with keep-alive, no redirects, a deadline on headers and body. Rejects with
 * the error of Node if the port cannot be used.
 */
export async function listen(service: Service, options: HttpOptions): Promise<Listening> {
  const parts: Parts = { service, options };
  const onRequest = (request: IncomingMessage, response: ServerResponse): void =>
    serve(parts, { request, response });
  const server = createServer(SERVER_OPTIONS, onRequest);
  server.on('checkContinue', (request, response) => serveExpected(parts, { request, response }));
  server.on('checkExpectation', onRequest);
  server.on('connect', (_request, socket) => refuseTunnel(socket));
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
}

type Opened = Omit<Exchange, 'body'>;

function serve(parts: Parts, opened: Opened): void {
  const { request } = opened;
  const refused = refusalOfHead(request);
  if (refused) {
    refuse(parts, opened, refused);
    return;
  }
  const bounds = parts.options.bounds(request.url ?? '/');
  readIncomingBody(request, bounds, (outcome) => {
    if (outcome.type === 'body') reply(parts, { ...opened, body: outcome.bytes });
    else if (outcome.type !== 'broken') refuse(parts, opened, bodyRefusal(outcome.type, bounds));
  });
}

/** `Expect: 100-continue`: who asks before sending a body that is too large need not send it. */
function serveExpected(parts: Parts, opened: Opened): void {
  const bounds = parts.options.bounds(opened.request.url ?? '/');
  if (isDeclaredTooLarge(opened.request, bounds)) {
    opened.response.setHeader('connection', 'close');
    refuse(parts, opened, bodyRefusal('too-large', bounds));
    return;
  }
  if (!refusalOfHead(opened.request)) opened.response.writeContinue();
  serve(parts, opened);
}

/** How long what still comes of a refused body is thrown away before the connection breaks. */
const DRAIN_MS = 5000;

/**
 * Answers a request whose body was not read to its end. What is still on its way is read and dropped, unless
 * it comes too slowly: closing at once would reset the connection, and its sender might never see the answer.
 */
function refuse(parts: Parts, { request, response }: Opened, refusal: Refusal): void {
  if (refusal.status === 408) response.setHeader('connection', 'close');
  sendReply(parts.service.refusal(refusal), response);
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
