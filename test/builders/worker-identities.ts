import type { RequestListener, Server } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { issueAuthority, issueLeaf, type KeyPair } from '../../src/lib/certificates.ts';
import type { MutualTls } from '../../src/lib/mutual-tls.ts';

const period = { now: Date.now(), validMs: 86_400_000 };

/** Returns the operator's TLS name for a worker of a group. */
export const workerNameOf = (uid: string, group = 'llm') => `${uid}.${group}.default.gpurental.internal`;

/** Creates a group's CA, and the certificates that it issues to its gateway and its workers. */
export function groupAuthority(name = 'one') {
  const ca = issueAuthority({ name, ...period });
  const newGateway = () => issueLeaf({ names: ['gateway'], use: 'client', ...period }, ca);
  const gateway = newGateway();
  return {
    certificate: ca.certificate,
    gateway,
    newGateway,
    worker: (uid: string, group?: string) =>
      issueLeaf({ names: [workerNameOf(uid, group)], use: 'server', ...period }, ca),
    /** Returns the TLS options with which the operator calls that worker. */
    callerOf: (uid: string): MutualTls => ({
      ...{ certificate: gateway.certificate, key: gateway.key },
      ...{ authorities: ca.certificate, serverName: workerNameOf(uid) },
    }),
  };
}

/** Starts a server on a loopback port that only accepts client certificates of these CAs. */
export async function mutualTlsServer(
  own: KeyPair,
  authorities: string,
  answer: RequestListener = (_, response) => response.end('served'),
): Promise<{ readonly port: number; readonly server: Server }> {
  const options = { cert: own.certificate, key: own.key.reveal(), ca: authorities };
  const server = createServer({ ...options, requestCert: true, rejectUnauthorized: true }, answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, server };
}
