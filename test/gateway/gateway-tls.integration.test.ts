import { type AddressInfo, connect, createServer as createRelay, type Server } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from '../builders/until.ts';
import { groupAuthority, mutualTlsServer } from '../builders/worker-identities.ts';
import { type TlsBench, tlsBench } from './tls-bench.ts';

type Group = ReturnType<typeof groupAuthority>;

let bench: TlsBench;
beforeAll(async () => {
  bench = await tlsBench();
}, 120_000);
afterAll(async () => {
  await bench?.close();
  for (const server of servers) server.close();
});

const servers: { close(): unknown }[] = [];

async function listening(server: Server): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function serving(own: Group['gateway'], authorities: string): Promise<number> {
  const { port, server } = await mutualTlsServer(own, authorities, (request, response) => {
    request.resume();
    request.on('end', () => response.end('served'));
  });
  servers.push(server);
  return port;
}

interface Called {
  readonly uid: string;
  /** Group whose gateway calls, and the authorities that it trusts. */
  readonly by: Group;
  readonly authorities: string;
}

async function asked(port: number, { uid, by, authorities }: Called, body = 'prompt'): Promise<string> {
  const { certificate, key } = by.gateway;
  await bench.leadTo(port, uid, { certificate, key, authorities });
  const reply = await fetch(bench.url, { method: 'POST', body });
  return `${reply.status} ${reply.status === 200 ? await reply.text() : ''}`.trim();
}

test('Envoy and a worker of its group take each other, and no one on the way reads the prompt', async () => {
  const ca = groupAuthority();
  const port = await serving(ca.worker('u1'), ca.certificate);
  const seen: Buffer[] = [];
  const relay = createRelay((socket) => {
    const onward = connect(port, '127.0.0.1');
    socket.on('data', (data) => seen.push(Buffer.from(data)));
    onward.on('data', (data) => seen.push(Buffer.from(data)));
    for (const end of [socket, onward]) end.on('error', () => {});
    socket.pipe(onward).pipe(socket);
  });
  const at = await listening(relay);
  const canary = 'canary-in-the-prompt';
  expect(await asked(at, { uid: 'u1', by: ca, authorities: ca.certificate }, canary)).toBe('200 served');
  const wire = Buffer.concat(seen);
  expect(wire.byteLength).toBeGreaterThan(500);
  expect(wire.includes(canary)).toBe(false);
});

test('Envoy refuses a worker of another group, of another authority, and another worker of the group', async () => {
  const ca = groupAuthority();
  const other = groupAuthority();
  const refused = [other.worker('u1'), ca.worker('u1', 'embed'), ca.worker('u2')];
  for (const own of refused) {
    const port = await serving(own, ca.certificate);
    expect(await asked(port, { uid: 'u1', by: ca, authorities: ca.certificate })).toBe('503');
  }
});

test('a worker refuses a gateway of another authority', async () => {
  const ca = groupAuthority();
  const port = await serving(ca.worker('u1'), ca.certificate);
  expect(await asked(port, { uid: 'u1', by: groupAuthority('other'), authorities: ca.certificate })).toBe(
    '503',
  );
});

test('no request is lost while authorities and the certificate of the gateway change', async () => {
  const [old, next] = [groupAuthority('old'), groupAuthority('next')];
  const both = old.certificate + next.certificate;
  const port = await serving(old.worker('u1'), both);
  const uid = 'u1';
  expect(await asked(port, { uid, by: old, authorities: old.certificate })).toBe('200 served');
  const statuses: number[] = [];
  let goesOn = true;
  const flow = (async () => {
    while (goesOn) statuses.push((await fetch(bench.url, { method: 'POST', body: 'x' })).status);
  })();
  for (const by of [old, next, { ...next, gateway: next.newGateway() }]) {
    expect(await asked(port, { uid, by, authorities: both })).toBe('200 served');
    const before = statuses.length;
    await until('requests flow', () => statuses.length > before + 20);
  }
  goesOn = false;
  await flow;
  expect(new Set(statuses)).toEqual(new Set([200]));
}, 30_000);
