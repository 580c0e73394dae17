import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inBackground } from '../lib/background.ts';

/** The answer of a path. */
export interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** The part of the request that a page may read. */
export interface PageRequest {
  readonly authorization: string | undefined;
}

/** Pages by path; each is computed for every request. */
export type Pages = Readonly<Record<string, (request: PageRequest) => Page | Promise<Page>>>;

/** A POST to a path. */
export interface Posted {
  readonly maxBytes: number;
  /** Refuses a request by its head, before its body is read; undefined accepts it. */
  readonly refusal: (request: PageRequest) => Page | undefined | Promise<Page | undefined>;
  /** Answers the request; `body` is parsed JSON. */
  readonly take: (body: unknown) => Page;
}

/** Handlers of JSON POSTs by path. */
export type Posts = Readonly<Record<string, Posted>>;

export interface RunningServer {
  /** URL with the port that is in use. */
  readonly url: string;
  /**
   * Stops accepting connections and closes all existing ones: a half-sent request would otherwise block the shutdown.
   */
  close(): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 10_000;

/** Returns a plain text page. */
export function textPage(status: number, body: string): Page {
  return { status, contentType: 'text/plain; charset=utf-8', body };
}

/** Returns a JSON page. */
export function jsonPage(status: number, body: unknown): Page {
  return { status, contentType: 'application/json', body: `${JSON.stringify(body)}\n` };
}

/**
 * Serves GET and HEAD of these pages and these POSTs. Any other request is refused. Rejects if the address cannot be
 * used.
 */
export async function servePages(
  pages: Pages,
  address: { readonly host: string; readonly port: number },
  posts: Posts = {},
): Promise<RunningServer> {
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    inBackground(
      { task: 'page' },
      () => answer({ pages, posts }, request, response),
      () => response.destroy(),
    );
  });
  await listen(server, address);
  return runningServer(server, address.host);
}

/** Returns the handle of a server that is already listening on that host. */
export function runningServer(
  server: Server,
  host: string,
  scheme: 'http' | 'https' = 'http',
): RunningServer {
  const { port } = server.address() as AddressInfo;
  return {
    url: `${scheme}://${host === '' ? '127.0.0.1' : host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Headers that some statuses need. */
const HEADERS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'www-authenticate': 'Bearer' },
  405: { allow: 'GET, HEAD' },
};

interface Served {
  readonly pages: Pages;
  readonly posts: Posts;
}

async function answer(served: Served, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const page = await pageFor(served, request);
  response.writeHead(page.status, {
    'content-type': page.contentType,
    'content-length': Buffer.byteLength(page.body),
    ...HEADERS[page.status],
    // The unread rest of a body must not be read as the next request, and another replica may accept what this one
    // refused.
    ...(request.method === 'POST' && page.status !== 200 && { connection: 'close' }),
  });
  response.end(request.method === 'HEAD' ? undefined : page.body);
}

async function pageFor({ pages, posts }: Served, request: IncomingMessage): Promise<Page> {
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  const posted = Object.hasOwn(posts, path) ? posts[path] : undefined;
  if (posted && request.method === 'POST') return pageForPost(posted, request);
  if (request.method !== 'GET' && request.method !== 'HEAD') return textPage(405, 'only GET and HEAD\n');
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (!page) return textPage(404, `no such page; there are: ${Object.keys(pages).join(' ')}\n`);
  try {
    return await page({ authorization: request.headers.authorization });
  } catch {
    return textPage(500, 'the page could not be created\n');
  }
}

async function pageForPost({ maxBytes, refusal, take }: Posted, request: IncomingMessage): Promise<Page> {
  try {
    const refused = await refusal({ authorization: request.headers.authorization });
    if (refused) return refused;
    const text = await bodyOf(request, maxBytes);
    if (text === undefined) return textPage(413, `a body has at most ${maxBytes} bytes\n`);
    return take(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) return textPage(400, 'the body is not JSON\n');
    return textPage(500, 'the request could not be handled\n');
  }
}

/** Reads the body of a request. Returns undefined if it is too long; the rest is not read then. */
export async function bodyOf(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Listens on an address. Rejects if it cannot be used. */
export function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host === '' ? undefined : host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** A condition of health. */
export interface HealthCheck {
  readonly name: string;
  /** Returns the problem as text; undefined if the condition holds. */
  readonly problem: () => string | undefined;
}

/**
 * Returns 200 while every check passes, else 503. The body lists each check in the form of the API server's own health
 * pages.
 */
export function healthPage(checks: readonly HealthCheck[]): Page {
  const results = checks.map(({ name, problem }) => ({ name, problem: problem() }));
  const failed = results.some((result) => result.problem !== undefined);
  const lines = results.map(({ name, problem }) =>
    problem === undefined ? `[+]${name} ok` : `[-]${name} failed: ${problem}`,
  );
  const summary = failed ? 'check failed' : 'check passed';
  return textPage(failed ? 503 : 200, `${[...lines, summary].join('\n')}\n`);
}
