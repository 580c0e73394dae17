import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { NodeAccess } from '../../../test/cluster/node/access.ts';

/** The registry as a node reaches it, until it is closed. */
export interface NodeRegistry {
  close(): Promise<void>;
}

/**
 * Lets a node pull from a registry on this machine's loopback, by that name. The loopback of a node is its own, so this
 * process forwards from the address by which the node knows this machine; no other machine reaches that.
 */
export async function openNodeRegistry(
  node: Pick<NodeAccess, 'hostAddress' | 'reachRegistry'>,
  host: string,
): Promise<NodeRegistry> {
  const { hostname, port } = new URL(`http://${host}`);
  const sockets = new Set<Socket>();
  const server = createServer((incoming) => {
    const outgoing = connect(Number(port), hostname);
    for (const [socket, other] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(socket);
      socket.pipe(other);
      // Either end may close: the other one then ends, too, and the client retries.
      socket.on('error', () => {});
      socket.once('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  server.listen(0, node.hostAddress);
  await once(server, 'listening');
  const { address, port: own } = server.address() as AddressInfo;
  node.reachRegistry(host, `http://${address}:${own}`);
  return {
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}
