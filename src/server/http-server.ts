import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inBackground } from '../lib/background.ts';

/** What a path answers. */
export interface Page {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** What a page may know of the request. */
export interface PageRequest {
  readonly authorization: string | undefined;
}

/** Pages by path; each is made anew for every request. */
export type Pages = Readonly<Record<string, (request: PageRequest) => Page | Promise<Page>>>;

export interface RunningServer {
  /** With the port that was really taken. */
  readonly url: string;
  /** Takes no new connection and ends all there are: who has sent half a request would otherwise hold it up for ever. */
  close(): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 10_000;

/** Plain text. */
export function textPage(status: number, body: string): Page {
  return { status, contentType: 'text/plain; charset=utf-8', body };
}

/** Serves GET and HEAD of these pages and nothing else. Rejects where the address cannot be taken. */
export async function servePages(
  pages: Pages,
  address: { readonly host: string; readonly port: number },
): Promise<RunningServer> {
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    inBackground(
      { task: 'page' },
      () => answer(pages, request, response),
      () => response.destroy(),
    );
  });
  await listen(server, address);
  return runningServer(server, address.host);
}

/** A server that listens on that host already. */
export function runningServer(server: Server, host: string): RunningServer {
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host === '' ? '127.0.0.1' : host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** What some answers have to say beside their body. */
const HEADERS: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  401: { 'www-authenticate': 'Bearer' },
  405: { allow: 'GET, HEAD' },
};

async function answer(pages: Pages, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const page = await pageFor(pages, request);
  response.writeHead(page.status, {
    'content-type': page.contentType,
    'content-length': Buffer.byteLength(page.body),
    ...HEADERS[page.status],
  });
  response.end(request.method === 'HEAD' ? undefined : page.body);
}

async function pageFor(pages: Pages, request: IncomingMessage): Promise<Page> {
  if (request.method !== 'GET' && request.method !== 'HEAD') return textPage(405, 'only GET and HEAD\n');
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
  if (!page) return textPage(404, `no such page; there are: ${Object.keys(pages).join(' ')}\n`);
  try {
    return await page({ authorization: request.headers.authorization });
  } catch {
    return textPage(500, 'the page could not be made\n');
  }
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host === '' ? undefined : host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** One thing that must hold. */
export interface HealthCheck {
  readonly name: string;
  /** Undefined where it holds; else what is wrong, for a person. */
  readonly problem: () => string | undefined;
}

/**
 * 200 while every check holds, else 503. The body lists each check in the form of the API server's own
 * health pages, so that people read it at once.
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
