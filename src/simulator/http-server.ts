import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { pipeline } from 'node:stream/promises';
import { TLSSocket } from 'node:tls';
import {
  type ControlRequest,
  controlPlace,
  isLoopback,
  reachableHost,
  type SocketPlace,
} from './addresses.ts';
import type { Answer } from './calls/answer.ts';
import {
  answerBrokenRequest,
  type BodyBounds,
  bodyRefusal,
  isDeclaredTooLarge,
  readIncomingBody,
  refusalOfHead,
  refuseTunnel,
} from './calls/incoming-request.ts';
import type { Refusal } from './refusal.ts';
import type { Service } from './service.ts';

/** A certificate, with those that lead to its authority behind it, and its private key; both PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** One listening socket. */
export interface HttpServer {
  readonly url: string;
  readonly port: number;
  /** Connections that begin from now on get another certificate. Throws if that is unusable, or if it serves no TLS. */
  replaceCertificate(certificate: Certificate): void;
  /** Stops listening and breaks what is still open. */
  close(): Promise<void>;
}

export interface HttpOptions {
  readonly place: SocketPlace;
  /** Serves https with it; plain http without. */
  readonly certificate?: Certificate | undefined;
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

const HANDSHAKE_TIMEOUT_MS = 10_000;

/**
 * Serves a service: HTTP/1.1 with keep-alive, no redirects, a deadline on handshake, headers and body. Rejects with
 * the error of Node if the address, the port or the certificate cannot be used.
 */
export async function listen(service: Service, options: HttpOptions): Promise<HttpServer> {
  const { place } = options;
  const server = createHttpServer({ service, options });
  // Those in the middle of a TLS handshake too, which `closeAllConnections` does not know.
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(place.port, place.host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const scheme = options.certificate ? 'https' : 'http';
  return {
    url: `${scheme}://${reachableHost(place.host, networkInterfaces())}:${port}`,
    port,
    replaceCertificate(certificate) {
      if (!('setSecureContext' in server)) throw new Error('This server has no TLS.');
      server.setSecureContext({ ...certificate });
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      if (server.listening) await new Promise((done) => server.close(done));
    },
  };
}

function createHttpServer(parts: Parts): Server | TlsServer {
  const { certificate } = parts.options;
  const onRequest = (request: IncomingMessage, response: ServerResponse): void =>
    serve(parts, { request, response });
  const server = certificate
    ? createTlsServer(
        { ...SERVER_OPTIONS, handshakeTimeout: HANDSHAKE_TIMEOUT_MS, ...certificate },
        onRequest,
      )
    : createServer(SERVER_OPTIONS, onRequest);
  server.on('checkContinue', (request, response) => serveExpected(parts, { request, response }));
  server.on('checkExpectation', onRequest);
  server.on('connect', (_request, socket) => refuseTunnel(socket));
  server.on('clientError', answerBrokenRequest);
  return server;
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
  const { request, response, body } = exchange;
  const failed = (error: unknown): void => {
    options.onError(error);
    response.socket?.destroy();
  };
  try {
    const answer = service.answer({
      method: request.method ?? 'GET',
      url: request.url ?? '/',
      headers: request.headers,
      body,
      address: request.socket.remoteAddress ?? 'unknown',
      origin: `${request.socket instanceof TLSSocket ? 'https' : 'http'}://${request.headers.host ?? '127.0.0.1'}`,
    });
    if (answer instanceof Promise) answer.then((late) => send(late, request, response)).catch(failed);
    else if (answer.type === 'reply') sendReply(answer, response);
    else send(answer, request, response).catch(failed);
  } catch (error) {
    failed(error);
  }
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

/** Where and how a simulator listens. Everything has a default. */
export interface ListenOptions {
  /** 0, the default, picks a free one. */
  readonly port?: number | undefined;
  /** An IP address of this machine; 127.0.0.1 unless given, `0.0.0.0` or `::` for all of them. */
  readonly host?: string | undefined;
  /** Serves https with it. */
  readonly certificate?: Certificate | undefined;
  /**
   * Where `/sim/` is served. It takes no key: unless an address is named here, it is on the loopback address, with the
   * marketplace if that is there, on a port of its own if not.
   */
  readonly control?: ControlRequest | undefined;
}

/** Where a listening simulator is reached. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  /** Where the control endpoints are; null without them. */
  readonly controlUrl: string | null;
  /**
   * Connections that begin from now on get another certificate. Throws the error of Node if that is unusable, or if
   * it listens without one.
   */
  replaceCertificate(certificate: Certificate): void;
  /** Stops listening and breaks what is still open. */
  close(): Promise<void>;
}

/** What one simulator serves. */
export interface Served {
  /** All its endpoints. */
  readonly whole: Service;
  /** The same in two parts, for two sockets; undefined without control endpoints. */
  readonly parts: (() => { readonly market: Service; readonly control: Service }) | undefined;
  readonly bounds: (url: string) => BodyBounds;
  readonly onError: (error: unknown) => void;
}

/** Opens one socket, or two if the control endpoints have a place of their own. Rejects with the error of Node. */
export async function listenAt(served: Served, options: ListenOptions): Promise<Listening> {
  const { whole, parts, bounds, onError } = served;
  const { certificate } = options;
  const place = { host: options.host ?? '127.0.0.1', port: options.port ?? 0 };
  const controlAt = controlPlace(place, options.control);
  if (!parts || controlAt === 'shared') {
    const server = await listen(whole, { place, certificate, bounds, onError });
    return listeningOf(server, parts ? server : undefined);
  }
  const { market, control } = parts();
  const server = await listen(market, { place, certificate, bounds, onError });
  try {
    // Plain http on loopback, where nobody listens in and no certificate names the address.
    const http = { place: controlAt, certificate: isLoopback(controlAt.host) ? undefined : certificate };
    return listeningOf(server, await listen(control, { ...http, bounds, onError }));
  } catch (error) {
    await server.close();
    throw error;
  }
}

function listeningOf(server: HttpServer, control: HttpServer | undefined): Listening {
  const servers = control && control !== server ? [server, control] : [server];
  return {
    url: server.url,
    port: server.port,
    controlUrl: control ? `${control.url}/sim` : null,
    replaceCertificate(certificate) {
      server.replaceCertificate(certificate);
      if (control?.url.startsWith('https:')) control.replaceCertificate(certificate);
    },
    async close() {
      await Promise.all(servers.map((each) => each.close()));
    },
  };
}
