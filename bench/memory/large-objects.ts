import type { ServerResponse } from 'node:http';
import type { Transport } from '../../src/lib/transport.ts';
import { type ServedKube, sendText, serveKube } from './serve-kube.ts';

const VARIABLES = 24;
const VALUE_BYTES = 32_000;
/** Annotations of one object: together below what the API server takes. */
const OWN_ANNOTATION_BYTES = 100_000;
const OTHER_ANNOTATION_BYTES = 150_000;
const MANAGED_FIELDS = 200;

const filler = (bytes: number): string => JSON.stringify('x'.repeat(bytes));

/** Contents of each object, by placeholder. */
const LARGE_PARTS: Readonly<Record<string, string>> = {
  '@env': `[${Array.from({ length: VARIABLES }, (_, at) => `{"name":"LARGE_${at}","value":${filler(VALUE_BYTES)}}`)}]`,
  '@own': filler(OWN_ANNOTATION_BYTES),
  '@other': filler(OTHER_ANNOTATION_BYTES),
  '@managed': `[{"manager":"kubectl","operation":"Apply","fieldsV1":{${Array.from({ length: MANAGED_FIELDS }, (_, at) => `"f:field-${at}":{}`)}}}]`,
};

/** Returns a GpuInstance with about 1 MB of variables and annotations, as text. */
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
export function serveLargeObjects(transport: Transport): Promise<ServedKube> {
  return serveKube(transport, async (path, text, response) => {
    const isLarge = /\/gpuinstances(\/|\?|$)/.test(path) && !path.includes('/events');
    if (!isLarge || response.statusCode >= 300) await sendText(response, text);
    else if (/[?&]watch=true/.test(path)) await sendText(response, largeEvent(text));
    else await sendLarge(response, text);
  });
}

/** Returns one line of a watch, enlarged. */
function largeEvent(line: string): string {
  const event = JSON.parse(line) as { readonly type: string; readonly object: SmallObject };
  if (event.type === 'BOOKMARK' || event.type === 'ERROR') return line;
  return `{"type":"${event.type}","object":${largeText(event.object)}}\n`;
}

async function sendLarge(response: ServerResponse, text: string): Promise<void> {
  const body = JSON.parse(text) as { readonly kind: string; readonly items?: readonly SmallObject[] };
  if (body.kind === 'GpuInstance') return sendText(response, largeText(body as unknown as SmallObject));
  const { items, ...envelope } = body;
  if (items === undefined) return sendText(response, text);
  await sendText(response, `${JSON.stringify(envelope).slice(0, -1)},"items":[`);
  for (const [at, item] of items.entries())
    await sendText(response, `${at > 0 ? ',' : ''}${largeText(item)}`);
  await sendText(response, ']}');
}
