import { generateKeyPair } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { promisify } from 'node:util';
import { inBackground } from '../lib/background.ts';
import { bodyOf, type RunningServer, runningServer } from './http-server.ts';

/** Answer to one POST. */
interface ReportAnswer {
  readonly status: number;
  readonly message: string;
  /** Text that renews the lease of the machine. */
  readonly renew?: string;
}

/** Answers one POST; `body` is parsed JSON. */
export type TakeReport = (path: string, body: unknown) => ReportAnswer;

/** Limits of callers. */
export interface ReportLimits {
  readonly connections: number;
  /** Maximum number of connections from one address: workers behind one gateway share it. */
  readonly connectionsOfPeer: number;
  /** Timeout of a whole request, milliseconds. */
  readonly requestMs: number;
}

const MAX_BYTES = 65_536;
/** Path that workers of the public protocol read when they start. */
const PUBLIC_KEY_PATH = '/pubkey/';
/** Eight hosts may hold all connections; the slowest loses each of them after a few seconds. */
const LIMITS: ReportLimits = { connections: 1024, connectionsOfPeer: 64, requestMs: 10_000 };
/** Timeout between two requests of a connection, milliseconds. */
const IDLE_MS = 5_000;
/**
 * Reciprocal of the share of connections that stays free for new peers: beyond it the connection with the longest
 * silence is closed.
 */
const RESERVED_SHARE = 8;

/**
 * Serves POSTs of JSON from untrusted machines: short bodies, short timeouts, few connections, and the same few answers
 * to any input. A GET of {@link PUBLIC_KEY_PATH} returns an RSA public key in PEM, the same for the life of this
 * server: workers of the public protocol report themselves as broken without one. The private half is discarded, so
 * nothing can sign a call that such a worker would accept. Rejects if the address is in use.
 */
export async function serveReports(
  take: TakeReport,
  address: { readonly host: string; readonly port: number },
  { connections, connectionsOfPeer, requestMs }: ReportLimits = LIMITS,
): Promise<RunningServer> {
  const timeouts = {
    requestTimeout: requestMs,
    // A head is a few hundred bytes: a client that needs more than a quarter of the time for it is slow on purpose.
    headersTimeout: Math.ceil(requestMs / 4),
    keepAliveTimeout: Math.min(IDLE_MS, requestMs),
    connectionsCheckingInterval: Math.ceil(requestMs / 8),
  };
  let created: Promise<string> | undefined;
  const publicKey = () => (created ??= newPublicKey());
  const server = createServer(timeouts, (request, response) => {
    inBackground(
      { task: 'worker report' },
      () => answer({ take, publicKey }, request, response),
      () => response.destroy(),
    );
  });
  server.maxConnections = connections;
  limitPeers(server, { connections, connectionsOfPeer });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host === '' ? undefined : address.host, () => resolve());
  });
  return runningServer(server, address.host);
}

/**
 * Limits the connections of one address. If most connections are in use, it closes the oldest for a new one: a client
 * that opens many slow connections blocks only itself.
 */
function limitPeers(
  server: Server,
  { connections, connectionsOfPeer }: Pick<ReportLimits, 'connections' | 'connectionsOfPeer'>,
): void {
  const open = new Map<string, Set<Socket>>();
  const oldest = new Set<Socket>();
  const mostBeforeOneGoes = connections - Math.ceil(connections / RESERVED_SHARE);
  server.on('connection', (socket) => {
    const peer = socket.remoteAddress ?? '';
    const ofPeer = open.get(peer) ?? new Set<Socket>();
    if (ofPeer.size >= connectionsOfPeer) {
      socket.destroy();
      return;
    }
    if (oldest.size >= mostBeforeOneGoes) for (const [first] of [oldest]) first?.destroy();
    open.set(peer, ofPeer.add(socket));
    oldest.add(socket);
    socket.once('close', () => {
      oldest.delete(socket);
      ofPeer.delete(socket);
      if (ofPeer.size === 0) open.delete(peer);
    });
  });
}

async function answer(
  { take, publicKey }: { readonly take: TakeReport; readonly publicKey: () => Promise<string> },
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method === 'GET' && pathOf(request) === PUBLIC_KEY_PATH) {
    response.writeHead(200, { 'content-type': 'text/plain' }).end(await publicKey());
    return;
  }
  const { status, message, renew } = await replyTo(take, request);
  const body = JSON.stringify(
    status === 200
      ? { success: true, ...(renew !== undefined && { renew }) }
      : { success: false, error: message },
  );
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    // A standby replica must not keep a worker's connection: the next one may reach the leader.
    ...((status === 413 || status === 503) && { connection: 'close' }),
  });
  response.end(body);
}

async function replyTo(take: TakeReport, request: IncomingMessage): Promise<ReportAnswer> {
  if (request.method !== 'POST') return { status: 405, message: 'only POST' };
  try {
    const text = await bodyOf(request, MAX_BYTES);
    if (text === undefined) return { status: 413, message: `a report has at most ${MAX_BYTES} bytes` };
    return take(pathOf(request), JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) return { status: 400, message: 'the body is not JSON' };
    return { status: 500, message: 'the report could not be processed' };
  }
}

function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?')[0] ?? '/';
}

/** Returns an RSA public key in PEM. Rejects if the key pair cannot be generated. */
async function newPublicKey(): Promise<string> {
  const { publicKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  return publicKey.export({ type: 'spki', format: 'pem' }).toString();
}
