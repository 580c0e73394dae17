import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTransport } from '../../src/runtime/kube/undici-transport.ts';

export interface SocketFigures {
  readonly requests: number;
  readonly abortedStreams: number;
  readonly afterWarmUp: number;
  readonly atEnd: number;
}

const AT_ONCE = 16;

const openSockets = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;

/**
 * Sockets that this process holds after a tenth of the requests and after all, with the production transport against
 * a server in this process. Every twentieth request is a stream that its reader gives up.
 */
export async function measureSockets(requests: number): Promise<SocketFigures> {
  const server = createServer((incoming, outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'application/json' });
    if (incoming.url === '/stream') outgoing.write('{"type":"BOOKMARK"}\n');
    else outgoing.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const transport = createTransport({ connections: 64 });
  const origin = `http://127.0.0.1:${port}`;
  let abortedStreams = 0;

  const send = async (index: number): Promise<void> => {
    const isStream = index % 20 === 0;
    const stop = new AbortController();
    const path = isStream ? '/stream' : '/';
    const reply = await transport({ method: 'GET', origin, path, headers: {}, signal: stop.signal });
    if (isStream) {
      abortedStreams += 1;
      await reply.body[Symbol.asyncIterator]().next();
      stop.abort();
      reply.destroy();
    } else for await (const _ of reply.body);
  };
  const sendAll = async (from: number, to: number): Promise<void> => {
    for (let index = from; index < to; index += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, (_, offset) => send(index + offset)));
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  };

  await sendAll(0, requests / 10);
  const afterWarmUp = openSockets();
  await sendAll(requests / 10, requests);
  const atEnd = openSockets();
  await transport.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return { requests, abortedStreams, afterWarmUp, atEnd };
}
