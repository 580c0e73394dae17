import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { selfSigned } from '../builders/self-signed.ts';

/** A call as a marketplace received it. */
export interface OwnCall {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly body: string;
}

/** A marketplace on loopback that only records calls. */
export interface OwnKeyService {
  readonly url: string;
  /** File with its certificate, for a client that is to trust it. */
  readonly certificate: string;
  readonly calls: OwnCall[];
  /** Statuses of the next replies to a method and path, such as `PUT /api/`, or to a path; 200 after them. */
  readonly replies: Map<string, number[]>;
  /** Bodies of replies by path, from the body of the call; a success without them. */
  readonly bodies: Map<string, (body: string) => string>;
  close(): Promise<void>;
}

const HOUR_MS = 3_600_000;

/** Starts an https service with a certificate for `hostName`, reached as `localhost`. */
export async function ownKeyService(folder: string, hostName = 'localhost'): Promise<OwnKeyService> {
  const now = Date.now();
  const { cert, key } = selfSigned({
    notBefore: new Date(now - HOUR_MS),
    notAfter: new Date(now + HOUR_MS),
    hostName,
  });
  const certificate = join(folder, `${hostName}.pem`);
  writeFileSync(certificate, cert);
  const calls: OwnCall[] = [];
  const replies = new Map<string, number[]>();
  const bodies = new Map<string, (body: string) => string>();
  const service = { certificate, calls, replies, bodies };
  const server = createServer({ cert, key }, (request, response) => {
    const { method = '', url: path = '', headers } = request;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      calls.push({ method, path, key: headers.authorization ?? '', body });
      response.writeHead((replies.get(`${method} ${path}`) ?? replies.get(path))?.shift() ?? 200);
      response.end(bodies.get(path)?.(body) ?? '{"success":true}');
    });
  });
  server.listen(0, 'localhost');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return Object.assign(service, {
    url: `https://localhost:${port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
}
