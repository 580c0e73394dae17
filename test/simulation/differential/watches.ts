import { isObject, type JsonObject, metadataOf, objectAt, textAt } from '../memory-kube/json.ts';
import { Canonical } from './canonical.ts';
import type { Reply, Server } from './execute.ts';
import type { Plural } from './programs.ts';
import { collectionOf } from './resources.ts';

/** Long enough for a server to tell what has been, on a busy machine. */
const WATCH_SECONDS = 4;

/** A collection and the version that it had before any program ran. */
export interface Beginning {
  readonly plural: Plural;
  readonly namespace: string;
  readonly resourceVersion: string;
}

/** What one program did, as a watch told it; without what differs between two servers. */
export type EventsByProgram = ReadonlyMap<string, readonly JsonObject[]>;

export async function beginningOf(server: Server, plural: Plural, namespace: string): Promise<Beginning> {
  const { body } = await server({ method: 'GET', path: `${collectionOf(plural, namespace)}?limit=1` });
  const resourceVersion = isObject(body) ? textAt(metadataOf(body), 'resourceVersion') : undefined;
  if (resourceVersion === undefined) throw new Error(`a list of ${plural} has no resourceVersion`);
  return { plural, namespace, resourceVersion };
}

/** Watches from the beginning until the server ends the watch; the programs have ended before. */
export async function eventsSince(
  server: Server,
  { plural, namespace, resourceVersion }: Beginning,
  labelSelector: string,
): Promise<EventsByProgram> {
  const query = new URLSearchParams({
    watch: '1',
    timeoutSeconds: String(WATCH_SECONDS),
    resourceVersion,
    ...(labelSelector === '' ? {} : { labelSelector }),
  });
  const reply = await server({ method: 'GET', path: `${collectionOf(plural, namespace)}?${query}` });
  const told = new Map<string, JsonObject[]>();
  const canonicals = new Map<string, Canonical>();
  for (const event of eventsOf(reply)) {
    const object = objectAt(event, 'object');
    const program = String(metadataOf(object)['name']).replace(/-[^-]*$/, '');
    const canonical = canonicals.get(program) ?? new Canonical();
    canonicals.set(program, canonical);
    const plain = { type: event['type'], object: canonical.plain(object) };
    told.set(program, [...(told.get(program) ?? []), plain]);
  }
  return told;
}

/** A body with one line is JSON as a whole, and none is an empty text. */
function eventsOf({ status, body }: Reply): readonly JsonObject[] {
  if (status !== 200) throw new Error(`the watch was answered ${status} ${JSON.stringify(body)}`);
  const lines = typeof body === 'string' ? body.split('\n').filter((line) => line !== '') : [];
  const events: unknown[] = typeof body === 'string' ? lines.map((line) => JSON.parse(line)) : [body];
  for (const event of events.filter(isObject)) {
    if (event['type'] === 'ERROR') throw new Error(`the watch ended with ${JSON.stringify(event['object'])}`);
  }
  return events.filter(isObject);
}
