import { afterEach, expect, test } from 'vitest';
import { groupAuthority, mutualTlsServer } from '../../test/builders/worker-identities.ts';
import type { MutualTls } from '../lib/mutual-tls.ts';
import { createWorkerTransport } from './worker-transport.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

function opened() {
  const transport = createWorkerTransport();
  closing.push(() => transport.close());
  return async (port: number, tls?: MutualTls): Promise<number> => {
    const request = { method: 'GET', path: '/', headers: {}, ...(tls && { tls }) };
    const response = await transport({ ...request, origin: `https://127.0.0.1:${port}` });
    for await (const _ of response.body);
    return response.status;
  };
}

async function serving(...[own, authorities]: Parameters<typeof mutualTlsServer>) {
  const { port, server } = await mutualTlsServer(own, authorities);
  let connections = 0;
  server.on('connection', () => connections++);
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port, connections: () => connections };
}

test('keeps a connection to a worker, and opens another by a new certificate of ours', async () => {
  const group = groupAuthority();
  const ask = opened();
  const { port, connections } = await serving(group.worker('u1'), group.certificate);
  const tls = group.callerOf('u1');
  expect([await ask(port, tls), await ask(port, { ...tls })]).toEqual([200, 200]);
  expect(connections()).toBe(1);
  const next = { ...tls, authorities: group.certificate + groupAuthority('next').certificate };
  expect(await ask(port, next)).toBe(200);
  expect(connections()).toBe(2);
});

test('takes no other machine for a worker, also where it listens at the same address', async () => {
  const group = groupAuthority();
  const ask = opened();
  const { port } = await serving(group.worker('u1'), group.certificate);
  expect(await ask(port, group.callerOf('u1'))).toBe(200);
  await expect(ask(port, group.callerOf('u2'))).rejects.toThrow('No reply');
  await expect(ask(port, groupAuthority('other').callerOf('u1'))).rejects.toThrow('No reply');
});

test('brings no certificate to a worker that was made for no TLS', async () => {
  const group = groupAuthority();
  const { port } = await serving(group.worker('u1'), group.certificate);
  await expect(opened()(port)).rejects.toThrow();
});
