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

/** A certificate with its chain, and its private key; both PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** A listening socket. */
export interface HttpServer {
  readonly url: string;
  readonly port: number;
  /** Sets the certificate of new connections. Throws if it is unusable, or if the server has no TLS. */
  replaceCertificate(certificate: Certificate): void;
  /** Stops listening and breaks open connections. */
  close(): Promise<void>;
}

export interface HttpOptions {
  readonly place: SocketPlace;
  /** Certificate for https; without it the server uses plain http. */
  readonly certificate?: Certificate | undefined;
  /** Called at each request, so that a later change of a setting takes effect. */
  readonly bounds: (url: string) => BodyBounds;
  readonly onError: (error: unknown) => void;
}

/**
 * Options of Node's server: headers have ten seconds (checked each second), and the simulator itself refuses a request
 * without Host.
 */
const SERVER_OPTIONS = {
  keepAliveTimeout: 60_000,
  requestTimeout: 0,
  headersTimeout: 10_000,
  connectionsCheckingInterval: 1000,
  requireHostHeader: false,
};

const HANDSHAKE_TIMEOUT_MS = 10_000;

/**
 * Serves a service: HTTP/1.1 with keep-alive, no redirects, a deadline for handshake, headers and body. Rejects with
 * Node's error if the address, the port or the certificate cannot be used.
 */
export async function listen(service: Service, options: HttpOptions): Promise<HttpServer> {
  const { place } = options;
  const server = createHttpServer({ service, options });
  // Including connections in a TLS handshake, which `closeAllConnections` does not know.
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

/** Handles `Expect: 100-continue`: a client that asks before it sends a too large body need not send it. */
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

/** Milliseconds for which the rest of a refused body is discarded before the connection breaks. */
const DRAIN_MS = 5000;

/**
 * Answers a request whose body was not read to its end. The rest is read and dropped, unless it comes too slowly: an
 * immediate close would reset the connection, and the client might never see the answer.
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

/** Address and options of a listening simulator, with defaults. */
export interface ListenOptions {
  /** Port; 0, the default, selects a free one. */
  readonly port?: number | undefined;
  /** A local IP address, 127.0.0.1 by default; `0.0.0.0` or `::` for all of them. */
  readonly host?: string | undefined;
  /** Certificate for https. */
  readonly certificate?: Certificate | undefined;
  /**
   * Address of `/sim/`. It needs no key, so by default it is on the loopback address: with the marketplace if that is
   * there, else on a port of its own.
   */
  readonly control?: ControlRequest | undefined;
}

/** Addresses of a listening simulator. */
export interface Listening {
  readonly url: string;
  readonly port: number;
  /** URL of the control endpoints; null without them. */
  readonly controlUrl: string | null;
  /** Sets the certificate of new connections. Throws Node's error if it is unusable, or if it listens without one. */
  replaceCertificate(certificate: Certificate): void;
  /** Stops listening and breaks open connections. */
  close(): Promise<void>;
}

/** Services of one simulator. */
export interface Served {
  /** All its endpoints. */
  readonly whole: Service;
  /** The endpoints in two parts, for two sockets; undefined without control endpoints. */
  readonly parts: (() => { readonly market: Service; readonly control: Service }) | undefined;
  readonly bounds: (url: string) => BodyBounds;
  readonly onError: (error: unknown) => void;
}

/** Opens one socket, or two if the control endpoints have their own address. Rejects with Node's error. */
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
    // Plain http on loopback, where no other machine can listen and no certificate names the address.
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
