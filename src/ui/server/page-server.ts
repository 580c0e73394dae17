import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FLEET_KINDS, type FleetKind } from '../../views/fleet.ts';
import { type FeedMessage, type ObjectDetail, PAGE_HEADER, PATHS } from '../protocol.ts';
import type { ObjectFeed } from './object-feed.ts';
import type { PageAccess } from './page-access.ts';
import { refusalOf } from './request-guard.ts';

/** Script and style of the page. */
export interface PageFiles {
  readonly script: string;
  readonly style: string;
}

/** Name of an object in a request. */
export interface ObjectName {
  readonly kind: FleetKind;
  readonly namespace: string;
  readonly name: string;
}

/** Parts of a page server. */
export interface PageServerOptions {
  readonly files: PageFiles;
  readonly access: PageAccess;
  readonly feed: Pick<ObjectFeed, 'subscribe'>;
  /** Resolves to the detail of an object; undefined if it does not exist. Rejects with the error of the API server. */
  readonly detail: (name: ObjectName) => Promise<ObjectDetail | undefined>;
  /** Returns the text of an error for people. */
  readonly describe: (error: unknown) => string;
  /** Port; 0 for a free one. */
  readonly port: number;
}

/** A server that listens. */
export interface PageServer {
  readonly port: number;
  /** Closes all connections. */
  close(): Promise<void>;
}

/** Only this address: the page shows data with the rights of one person. */
const ADDRESS = '127.0.0.1';
/** Bytes that a browser may be behind before its stream ends; it connects again and gets the present state. */
const MAX_BEHIND = 32 * 1024 * 1024;
const MAX_STREAMS = 32;

/** Headers of every answer. The page loads nothing from elsewhere, and no other page frames or reads it. */
const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'cache-control': 'no-store',
} as const;

const DOCUMENT = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>gpu-rent</title>
<link rel="icon" href="${PATHS.icon}" type="image/svg+xml">
<link rel="stylesheet" href="${PATHS.style}">
<script type="module" src="${PATHS.script}"></script>
</head>
<body><div id="app"><p class="boot">Loading…</p></div></body>
</html>
`;

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#2f6feb"/><path d="M4 11V7M8 11V4M12 11V9" stroke="#fff" stroke-width="2" stroke-linecap="round"/></svg>';

/** Serves the page on this machine only. Rejects if the port is taken. */
export async function servePage(options: PageServerOptions): Promise<PageServer> {
  const server = createServer();
  await listen(server, options.port);
  const { port } = server.address() as AddressInfo;
  const streams = new Set<ServerResponse>();
  server.on('request', (request, response) => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    answer(request, response, { ...options, port, streams }).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else send(response, 502, 'text/plain', options.describe(error));
    });
  });
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, ADDRESS, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

interface Serving extends PageServerOptions {
  readonly streams: Set<ServerResponse>;
}

async function answer(request: IncomingMessage, response: ServerResponse, serving: Serving): Promise<void> {
  const { port, access, files } = serving;
  const refusal = refusalOf(request, port);
  if (refusal) return send(response, refusal.status, 'text/plain', refusal.message);
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://page');
  switch (pathname) {
    case PATHS.page:
      return send(response, 200, 'text/html', DOCUMENT);
    case PATHS.script:
      return send(response, 200, 'text/javascript', files.script);
    case PATHS.style:
      return send(response, 200, 'text/css', files.style);
    case PATHS.icon:
      return send(response, 200, 'image/svg+xml', ICON);
  }
  if (pathname !== PATHS.stream && pathname !== PATHS.object) return notFound(response);
  if (!access.isOpen(request.headers[PAGE_HEADER]))
    return send(response, 401, 'text/plain', 'Open the URL that gpu-rent ui printed.');
  return pathname === PATHS.stream
    ? stream(response, serving)
    : sendDetail(response, serving, objectName(searchParams));
}

function notFound(response: ServerResponse): void {
  send(response, 404, 'text/plain', 'Not found.');
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': `${type}; charset=utf-8` }).end(body);
}

/** Sends the feed as lines of JSON. The page connects again when it ends. */
function stream(response: ServerResponse, { feed, streams }: Serving): void {
  if (streams.size >= MAX_STREAMS) {
    send(response, 503, 'text/plain', 'Too many open pages.');
    return;
  }
  streams.add(response);
  response.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8' });
  const write = (message: FeedMessage) => {
    if (response.writableLength > MAX_BEHIND) response.destroy();
    else response.write(`${JSON.stringify(message)}\n`);
  };
  const end = feed.subscribe({
    status: (status) => write({ status }),
    change: (change) => write({ change }),
  });
  response.on('close', () => {
    streams.delete(response);
    end();
  });
}

const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/** Returns the object that a query names; undefined if it cannot be the name of an object. */
function objectName(query: URLSearchParams): ObjectName | undefined {
  const [kind = '', namespace = '', name = ''] = ['kind', 'namespace', 'name'].map(
    (key) => query.get(key) ?? '',
  );
  if (!Object.hasOwn(FLEET_KINDS, kind) || !NAME.test(namespace) || !NAME.test(name)) return undefined;
  return { kind: kind as FleetKind, namespace, name };
}

async function sendDetail(
  response: ServerResponse,
  { detail }: Serving,
  name: ObjectName | undefined,
): Promise<void> {
  const found = name && (await detail(name));
  if (found === undefined) return notFound(response);
  send(response, 200, 'application/json', JSON.stringify(found));
}
