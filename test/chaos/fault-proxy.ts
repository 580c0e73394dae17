import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { Pool } from 'undici';
import type { Random } from '../../src/lib/random.ts';
import { selfSigned } from '../builders/self-signed.ts';
import { StreamFaults } from './stream-faults.ts';

/**
 * Faults of a request to the API server: lost, carried out with a lost response, late, carried out twice, refused
 * without effect or after it, and slowed down.
 */
const REQUEST_FAULTS = [
  'requestLost',
  'replyLost',
  'late',
  'duplicated',
  'refused',
  'refusedAfter',
  'throttled',
] as const;
type RequestFault = (typeof REQUEST_FAULTS)[number];

export interface FaultProxyOptions {
  readonly url: string;
  readonly caPem: string;
  readonly random: Random;
  /** Hears of each request as it comes, and by which of the client's ports. */
  readonly onRequest?: (path: string, clientPort: number) => void;
}

/** Stands between operators and the API server as a bad network and an API server in trouble would. */
export interface FaultProxy {
  readonly url: string;
  /** Certificate that clients must trust instead of the API server's. */
  readonly caPem: string;
  /** Number of requests, and of strikes per fault. */
  readonly counts: ReadonlyMap<string, number>;
  /** Returns the number of open client connections. */
  connections(): number;
  /**
   * Sets the share of requests that a fault strikes, from 0 to 1. Above 0, streams are also cut, delayed and doubled.
   */
  setWeather(share: number): void;
  /** Ends all connections at once. */
  cut(): void;
  close(): Promise<void>;
}

const LATE_MS = 6_000;
const DAY_MS = 86_400_000;
/** A second call of these changes nothing that the first did not; a POST would make two objects of one name anyway. */
const REPEATABLE = new Set(['GET', 'PUT', 'PATCH', 'DELETE']);

/** Starts it on a port of its own, with fair weather. */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const proxy = new FaultyRelay(options);
  const now = Date.now();
  const certificate = selfSigned({ notBefore: new Date(now - DAY_MS), notAfter: new Date(now + DAY_MS) });
  const server = createServer(certificate, (incoming, outgoing) => {
    options.onRequest?.(incoming.url ?? '', incoming.socket.remotePort ?? 0);
    void proxy.pass(incoming, outgoing);
  });
  const connections = new Set<Duplex>();
  server.on('secureConnection', (socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port');
  const cut = (): void => {
    for (const socket of connections) socket.destroy();
  };
  return {
    url: `https://127.0.0.1:${address.port}`,
    caPem: certificate.cert,
    counts: proxy.counts,
    connections: () => connections.size,
    setWeather: (share) => proxy.setWeather(share),
    cut() {
      proxy.count('cut');
      cut();
    },
    async close() {
      cut();
      server.close();
      await once(server, 'close');
      await proxy.close();
    },
  };
}

class FaultyRelay {
  readonly #random: Random;
  readonly #upstream: Pool;
  readonly #streams: StreamFaults;
  readonly counts = new Map<string, number>();
  #share = 0;

  constructor({ url, caPem, random }: FaultProxyOptions) {
    this.#random = random;
    this.#upstream = new Pool(url, { connect: { ca: caPem }, bodyTimeout: 0, headersTimeout: 0 });
    this.#streams = new StreamFaults({ random, count: (name) => this.count(name) });
  }

  count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  setWeather(share: number): void {
    this.#share = share;
    this.#streams.setStormy(share > 0);
  }

  close(): Promise<void> {
    return this.#upstream.destroy();
  }

  async pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const request = { incoming, outgoing, body: await bodyOf(incoming) };
    this.count('requests');
    const isStream = incoming.url?.includes('watch=') === true;
    try {
      if (isStream) await this.#stream(request);
      else await this.#carryOut(request, this.#draw(incoming.method ?? 'GET'));
    } catch {
      outgoing.destroy();
    }
  }

  #draw(method: string): RequestFault | undefined {
    if (this.#random.next() >= this.#share) return undefined;
    const possible = REQUEST_FAULTS.filter((fault) => fault !== 'duplicated' || REPEATABLE.has(method));
    const fault = possible[Math.floor(this.#random.next() * possible.length)];
    if (fault) this.count(fault);
    return fault;
  }

  async #carryOut(passing: Passing, fault: RequestFault | undefined): Promise<void> {
    const { outgoing } = passing;
    switch (fault) {
      case 'requestLost':
        outgoing.destroy();
        return;
      case 'refused':
        return refuse(outgoing, 503, 'ServiceUnavailable');
      case 'throttled':
        return refuse(outgoing, 429, 'TooManyRequests');
      case 'late':
        await new Promise((resolve) => setTimeout(resolve, this.#random.next() * LATE_MS));
        break;
      default:
        break;
    }
    const reply = await this.#send(passing);
    if (fault === 'duplicated') await this.#send(passing);
    if (fault === 'replyLost') outgoing.destroy();
    else if (fault === 'refusedAfter') refuse(outgoing, 500, 'InternalError');
    else outgoing.writeHead(reply.status, reply.headers).end(reply.body);
  }

  async #send(passing: Passing): Promise<Reply> {
    const reply = await this.#upstream.request(onward(passing));
    const body = Buffer.from(await reply.body.arrayBuffer());
    return { status: reply.statusCode, headers: headersOf(reply.headers), body };
  }

  async #stream(passing: Passing): Promise<void> {
    const { outgoing } = passing;
    const ended = new AbortController();
    outgoing.on('close', () => ended.abort());
    const reply = await this.#upstream.request({ ...onward(passing), signal: ended.signal });
    outgoing.writeHead(reply.statusCode, headersOf(reply.headers));
    await this.#streams.relay(reply.body, outgoing);
  }
}

interface Passing {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly body: Buffer;
}

interface Reply {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  readonly body: Buffer;
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

function onward({ incoming, body }: Passing) {
  const { host: _host, connection: _connection, ...headers } = incoming.headers;
  return {
    path: incoming.url ?? '/',
    method: incoming.method ?? 'GET',
    headers,
    ...(body.length > 0 && { body }),
  };
}

/** Returns the headers without those of a single connection. */
function headersOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string | string[]> {
  const dropped = new Set(['connection', 'transfer-encoding', 'content-length', 'keep-alive']);
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || dropped.has(name) ? [] : [[name, value] as const],
    ),
  );
}

function refuse(outgoing: ServerResponse, code: number, reason: string): void {
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message: 'injected' };
  const headers = { 'content-type': 'application/json', ...(code === 429 && { 'retry-after': '1' }) };
  outgoing.writeHead(code, headers).end(JSON.stringify(status));
}
