import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Transport } from '../../src/lib/transport.ts';

export interface ServedKube {
  readonly origin: string;
  close(): Promise<void>;
}

/** Writes a piece of the reply to a request for that path. */
type Passing = (path: string, text: string, response: ServerResponse) => Promise<void>;

/** Serves a Kubernetes API in memory over HTTP on loopback; `pass` may change what is sent. */
export async function serveKube(
  transport: Transport,
  pass: Passing = sendWhole,
  certificate?: { readonly cert: string; readonly key: string },
): Promise<ServedKube> {
  const listener: RequestListener = (request, response) => {
    answer(transport, pass, { request, response }).catch((error: unknown) =>
      response.destroy(error as Error),
    );
  };
  const server = certificate ? createSecureServer(certificate, listener) : createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http${certificate ? 's' : ''}://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Passes a piece on as it is. */
export const sendWhole: Passing = (_path, text, response) => sendText(response, text);

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

async function answer(transport: Transport, pass: Passing, { request, response }: Exchange): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  response.on('error', () => {});
  const { method = 'GET', url: path = '/', headers } = request;
  const given = { method, origin: '', path, headers: headers as Record<string, string>, signal: gone.signal };
  const reply = await transport({
    ...given,
    ...(pieces.length > 0 && { body: Buffer.concat(pieces).toString('utf8') }),
  });
  response.writeHead(reply.status, { 'content-type': 'application/json' });
  response.flushHeaders();
  for await (const piece of reply.body) {
    await pass(path, Buffer.from(piece).toString('utf8'), response);
    if (gone.signal.aborted) break;
  }
  reply.destroy();
  response.end();
}

/** Sends text as fast as the client reads it, so that nothing is buffered here. */
export async function sendText(response: ServerResponse, text: string): Promise<void> {
  if (response.destroyed || response.write(text)) return;
  const waiting = new AbortController();
  const { signal } = waiting;
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]).finally(() =>
    waiting.abort(),
  );
}
