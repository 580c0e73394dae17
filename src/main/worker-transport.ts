import type { MutualTls } from '../lib/mutual-tls.ts';
import type { Transport } from '../lib/transport.ts';
import { type ClosableTransport, createTransport } from '../runtime/kube/undici-transport.ts';

/** Maximum number of workers with an open connection; beyond it the least recently used ones reconnect. */
const MAX_KEPT = 1024;
const CONNECT_TIMEOUT_MS = 3000;

interface Secured {
  readonly tls: MutualTls;
  readonly transport: ClosableTransport;
}

/**
 * Creates the transport to workers of groups. A request with `tls` connects to that worker only, over separate
 * connections; a changed client certificate, or changed authorities, reconnects. Without `tls` any certificate is
 * accepted, because the certificate of a rented machine cannot be verified.
 */
export function createWorkerTransport(): ClosableTransport {
  const plain = createTransport({ insecure: true, connections: 4, connectTimeoutMs: CONNECT_TIMEOUT_MS });
  /** Connections by the name that the worker proves, in the order of their last use. */
  const secured = new Map<string, Secured>();
  const securedFor = (tls: MutualTls): ClosableTransport => {
    const { serverName, certificate, key, authorities } = tls;
    const known = secured.get(serverName);
    secured.delete(serverName);
    const isSame =
      known?.tls.certificate === certificate &&
      known.tls.authorities === authorities &&
      known.tls.key.equals(key);
    if (known && !isSame) known.transport.close().catch(() => {});
    const transport =
      known && isSame
        ? known.transport
        : createTransport({
            ...{ cert: certificate, key: key.reveal(), ca: authorities, servername: serverName },
            ...{ connections: 1, connectTimeoutMs: CONNECT_TIMEOUT_MS },
          });
    secured.set(serverName, { tls, transport });
    const [longestAgo] = secured.keys();
    if (secured.size > MAX_KEPT && longestAgo !== undefined) {
      secured
        .get(longestAgo)
        ?.transport.close()
        .catch(() => {});
      secured.delete(longestAgo);
    }
    return transport;
  };
  const transport: Transport = (request) => (request.tls ? securedFor(request.tls) : plain)(request);
  return Object.assign(transport, {
    async close() {
      const all = [plain, ...[...secured.values()].map((one) => one.transport)];
      secured.clear();
      await Promise.all(all.map((one) => one.close()));
    },
  });
}
