import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

/** A proxy on loopback that connects every name to one port of this machine. */
export interface ConnectProxy {
  readonly url: string;
  /** `HOST:PORT` of each CONNECT, in their order. */
  readonly targets: readonly string[];
  /** `proxy-authorization` of each CONNECT. */
  readonly logins: readonly (string | undefined)[];
  close(): Promise<void>;
}

/** `answer` 407 refuses every CONNECT; `silent` takes them and never answers. */
export async function startConnectProxy(
  toPort: number,
  answer: 'connect' | 407 | 'silent' = 'connect',
): Promise<ConnectProxy> {
  const targets: string[] = [];
  const logins: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  };
  const server = createServer((_, response) => response.writeHead(400).end());
  server.on('connect', (request, client: Socket) => {
    targets.push(request.url ?? '');
    logins.push(request.headers['proxy-authorization']);
    keep(client);
    if (answer === 'silent') return;
    if (answer === 407) {
      client.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
      return;
    }
    const upstream = keep(connect(toPort, '127.0.0.1'));
    upstream.once('connect', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    upstream.once('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    targets,
    logins,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
