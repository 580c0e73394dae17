import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP relay to one server that can do to connections what networks do. */
export interface CuttingProxy {
  /** The target's URL with this proxy's port in place of its own. */
  readonly url: string;
  /** Ends all connections at once, with a reset. New ones are relayed again. */
  cut(): void;
  /** Cuts all connections once that many more bytes have passed, in both directions together. */
  cutAfter(bytes: number): void;
  /** Returns the number of bytes that have passed, in both directions together. */
  passed(): number;
  /** Drops all data silently from now on, on old and new connections. */
  swallow(): void;
  /** Relays new connections again; swallowed ones stay dead. */
  heal(): void;
  close(): Promise<void>;
}

/** Listens on an address of this machine; rejects if it has no such address. */
export async function startCuttingProxy(targetUrl: string, listenOn = '127.0.0.1'): Promise<CuttingProxy> {
  const target = new URL(targetUrl);
  const sockets = new Set<Socket>();
  let swallowing = false;
  let passed = 0;
  let cutAt = Number.POSITIVE_INFINITY;
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  const count = (chunk: Buffer) => {
    passed += chunk.length;
    if (passed < cutAt) return;
    cutAt = Number.POSITIVE_INFINITY;
    cut();
  };
  const server = createServer((client) => {
    sockets.add(client);
    client.on('error', () => {}).on('close', () => sockets.delete(client));
    if (swallowing) return;
    const upstream = connect({ host: target.hostname, port: Number(target.port) });
    sockets.add(upstream);
    upstream.on('error', () => client.destroy()).on('close', () => sockets.delete(upstream));
    client.on('close', () => upstream.destroy());
    client.pipe(upstream).pipe(client);
    client.on('data', count);
    upstream.on('data', count);
  });
  server.listen(0, listenOn);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port');
  return {
    url: `${target.protocol}//${listenOn}:${address.port}`,
    cut,
    cutAfter(bytes) {
      cutAt = passed + bytes;
    },
    passed: () => passed,
    swallow() {
      swallowing = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    heal() {
      swallowing = false;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
