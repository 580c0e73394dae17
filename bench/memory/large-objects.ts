import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Transport } from '../../src/lib/transport.ts';

const VARIABLES = 24;
const VALUE_BYTES = 32_000;
/** Annotations of one object: together below what the API server takes. */
const OWN_ANNOTATION_BYTES = 100_000;
const OTHER_ANNOTATION_BYTES = 150_000;
const MANAGED_FIELDS = 200;

const filler = (bytes: number): string => JSON.stringify('x'.repeat(bytes));

/** What is put into each object, by the text that stands for it. */
const LARGE_PARTS: Readonly<Record<string, string>> = {
  '@env': `[${Array.from({ length: VARIABLES }, (_, at) => `{"name":"LARGE_${at}","value":${filler(VALUE_BYTES)}}`)}]`,
  '@own': filler(OWN_ANNOTATION_BYTES),
  '@other': filler(OTHER_ANNOTATION_BYTES),
  '@managed': `[{"manager":"kubectl","operation":"Apply","fieldsV1":{${Array.from({ length: MANAGED_FIELDS }, (_, at) => `"f:field-${at}":{}`)}}}]`,
};

/** The text of a GpuInstance with about 1 MB of variables and annotations. */
function largeText(object: SmallObject): string {
  const annotations = {
    ...object.metadata.annotations,
    'gpurental.dev/hold': '@own',
    'example.com/notes': '@other',
  };
  const metadata = { ...object.metadata, annotations, managedFields: '@managed' };
  const small = JSON.stringify({ ...object, metadata, spec: { ...object.spec, env: '@env' } });
  return small.replace(/"(@env|@own|@other|@managed)"/g, (_, name: string) => LARGE_PARTS[name] ?? '');
}

interface SmallObject {
  readonly metadata: { readonly annotations?: object };
  readonly spec: object;
}

/** Serves a Kubernetes API in memory over HTTP, with GpuInstances that are large on the wire and small in its memory. */
export async function serveLargeObjects(transport: Transport) {
  const server = createServer((request, response) => {
    answer(transport, request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function answer(
  transport: Transport,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece);
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  response.on('error', () => {});
  const { method = 'GET', url: path = '/', headers } = request;
  const given = { method, origin: '', path, headers: headers as Record<string, string>, signal: gone.signal };
  const reply = await transport({
    ...given,
    ...(pieces.length > 0 && { body: Buffer.concat(pieces).toString('utf8') }),
  });
  response.writeHead(reply.status, { 'content-type': 'application/json' });
  response.flushHeaders();
  const isLarge = reply.status < 300 && /\/gpuinstances(\/|\?|$)/.test(path) && !path.includes('/events');
  for await (const piece of reply.body) {
    const text = Buffer.from(piece).toString('utf8');
    if (!isLarge) await send(response, text);
    else if (/[?&]watch=true/.test(path)) await send(response, largeEvent(text));
    else await sendLarge(response, text);
    if (gone.signal.aborted) break;
  }
  reply.destroy();
  response.end();
}

/** The lines of a watch come one by one. */
function largeEvent(line: string): string {
  const event = JSON.parse(line) as { readonly type: string; readonly object: SmallObject };
  if (event.type === 'BOOKMARK' || event.type === 'ERROR') return line;
  return `{"type":"${event.type}","object":${largeText(event.object)}}\n`;
}

async function sendLarge(response: ServerResponse, text: string): Promise<void> {
  const body = JSON.parse(text) as { readonly kind: string; readonly items?: readonly SmallObject[] };
  if (body.kind === 'GpuInstance') return send(response, largeText(body as unknown as SmallObject));
  const { items, ...envelope } = body;
  if (items === undefined) return send(response, text);
  await send(response, `${JSON.stringify(envelope).slice(0, -1)},"items":[`);
  for (const [at, item] of items.entries()) await send(response, `${at > 0 ? ',' : ''}${largeText(item)}`);
  await send(response, ']}');
}

/** As fast as it is read, so that nothing piles up here. */
async function send(response: ServerResponse, text: string): Promise<void> {
  if (response.destroyed || response.write(text)) return;
  const waiting = new AbortController();
  const { signal } = waiting;
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]).finally(() =>
    waiting.abort(),
  );
}
