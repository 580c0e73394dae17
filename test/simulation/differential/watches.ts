import { isObject, type JsonObject, metadataOf, objectAt, textAt } from '../memory-kube/json.ts';
import { Canonical } from './canonical.ts';
import { requireBookmarks } from './open-watch.ts';
import type { Plural } from './operations.ts';
import { collectionOf } from './resources.ts';
import type { Server } from './servers.ts';

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
  const { body } = await server.send({ method: 'GET', path: `${collectionOf(plural, namespace)}?limit=1` });
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
    allowWatchBookmarks: 'true',
    timeoutSeconds: String(WATCH_SECONDS),
    resourceVersion,
    ...(labelSelector === '' ? {} : { labelSelector }),
  });
  const watch = await server.watch(`${collectionOf(plural, namespace)}?${query}`);
  await watch.ended();
  requireBookmarks(watch.events, `a watch of ${plural} from ${resourceVersion}`);
  const told = new Map<string, JsonObject[]>();
  const canonicals = new Map<string, Canonical>();
  for (const event of watch.events) {
    const program = String(metadataOf(objectAt(event, 'object'))['name']).replace(/-[^-]*$/, '');
    const canonical = canonicals.get(program) ?? new Canonical();
    canonicals.set(program, canonical);
    const plain = canonical.event(event);
    if (plain) told.set(program, [...(told.get(program) ?? []), plain]);
  }
  return told;
}
