import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';

/** Endpoint of a balancer. */
export interface BalancedEndpoint {
  readonly port: number;
  /** 200 while new connections may come. */
  readonly readyUrl: string;
}

/** Leads connections to ready endpoints, as the Service of a cluster does: it learns late who is ready, and breaks nothing. */
export interface EndpointBalancer {
  readonly port: number;
  add(endpoint: BalancedEndpoint): void;
  /** Ports of endpoints that get new connections. */
  ready(): readonly number[];
  close(): void;
}

/** Longer than what a picker waits for when it has nothing to do. */
const POLL_MS = 700;

/** Listens on loopback. */
export async function endpointBalancer(): Promise<EndpointBalancer> {
  const endpoints: BalancedEndpoint[] = [];
  let ready: readonly number[] = [];
  let next = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const port = ready[next++ % ready.length];
    if (port === undefined) {
      client.destroy();
      return;
    }
    const upstream = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy());
      one.on('close', () => sockets.delete(one));
      one.pipe(other);
    }
  });
  const poll = async (): Promise<void> => {
    const found = await Promise.all(
      endpoints.map(async ({ port, readyUrl }) => {
        const isReady = await fetch(readyUrl).then(
          ({ ok }) => ok,
          () => false,
        );
        return isReady ? [port] : [];
      }),
    );
    ready = found.flat();
    timer = setTimeout(poll, POLL_MS);
  };
  let timer = setTimeout(poll, 0);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    add: (endpoint) => endpoints.push(endpoint),
    ready: () => ready,
    close() {
      clearTimeout(timer);
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
