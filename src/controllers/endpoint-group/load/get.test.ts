import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { createTransport } from '../../../runtime/kube/undici-transport.ts';
import { boundedGet } from './get.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** Starts a peer that answers every connection with these bytes and keeps it open. */
async function peerThatSays(bytes: string): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write(bytes));
    closing.push(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the peer has no port');
  return `http://127.0.0.1:${address.port}`;
}

test.each([
  [
    '101 Switching Protocols',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
  ],
  ['a bare 101', 'HTTP/1.1 101 x\r\n\r\n'],
  ['100 Continue and nothing else', 'HTTP/1.1 100 Continue\r\n\r\n'],
  ['bytes that are no HTTP', '\u0000\u0001\u0002\r\n\r\n'],
])('a load reader reports an error when a worker answers %s (M8)', async (_what, bytes) => {
  const transport = createTransport({ connections: 4 });
  closing.push(() => transport.close());
  const reading = boundedGet({
    ...{ transport, clock: systemClock, origin: await peerThatSays(bytes), path: '/' },
    ...{ headers: {}, timeoutMs: 2000, maxBytes: 1000 },
  });
  await expect(reading).rejects.toMatchObject({ name: 'SourceError' });
});
