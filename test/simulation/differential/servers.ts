import { Agent, request } from 'undici';
import { systemClock } from '../../../src/lib/clock.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import type { ClusterAccess } from '../../cluster/connect.ts';
import type { JsonObject } from '../memory-kube/json.ts';
import { createMemoryKube, type MemoryKube } from '../memory-kube/memory-kube.ts';
import { OpenWatch } from './open-watch.ts';

/** A request as both servers take it. */
export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: JsonObject | readonly JsonObject[];
  readonly contentType?: string;
}

export interface Reply {
  readonly status: number;
  readonly body: unknown;
}

/** An API server, asked in the same words whichever it is. */
export interface Server {
  send(request: Request): Promise<Reply>;
  /** Opens a watch. Rejects if the server does not answer with a stream. */
  watch(path: string): Promise<OpenWatch>;
}

/** Returns the in-memory server with a namespace of its own. */
export function memoryServer(
  namespace: string,
  definitions: readonly JsonObject[],
): Server & { readonly kube: MemoryKube } {
  const kube = createMemoryKube({ clock: systemClock, random: seededRandom(1), definitions });
  kube.writes.create(
    { kind: kube.kind('namespaces'), namespace: undefined, name: namespace },
    { metadata: { name: namespace } },
  );
  const ask = ({ method, path, body, contentType }: Request) =>
    kube.transport({
      method,
      origin: 'https://memory',
      path,
      headers: { 'content-type': contentType ?? 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  return {
    kube,
    async send(sent) {
      const { status, body } = await ask(sent);
      return { status, body: JSON.parse(await textOf(body)) };
    },
    async watch(path) {
      const { status, body, destroy } = await ask({ method: 'GET', path });
      if (status !== 200) throw new Error(`${path} was answered ${status} ${await textOf(body)}`);
      return new OpenWatch(body, destroy);
    },
  };
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

const FAILURES = [400, 403, 404, 409, 410, 415, 422, 504];

/** Returns the real server; closing it aborts all open watches. */
export function realServer(cluster: ClusterAccess): Server & { close(): Promise<void> } {
  const { url, caPem, adminToken, admin } = cluster;
  const dispatcher = new Agent({ connect: { ca: caPem }, bodyTimeout: 0 });
  const headers = { authorization: `Bearer ${adminToken}` };
  return {
    send: (sent) => admin.request({ ...sent, accept: FAILURES }),
    async watch(path) {
      const { statusCode, body } = await request(`${url}${path}`, { dispatcher, headers });
      if (statusCode !== 200) throw new Error(`${path} was answered ${statusCode} ${await body.text()}`);
      return new OpenWatch(body, () => body.destroy());
    },
    close: () => dispatcher.destroy(),
  };
}
