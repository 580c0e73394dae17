import { isObject, type JsonObject, metadataOf, objectAt, textAt } from '../memory-kube/json.ts';
import { Canonical } from './canonical.ts';
import { isEventOf } from './last-object.ts';
import { type OpenWatch, requireBookmarks } from './open-watch.ts';
import type { Plural } from './operations.ts';
import { collectionOf } from './resources.ts';
import type { Server } from './servers.ts';

/** Watch timeouts to try in turn: a busy server may need longer to send all past events. */
const WATCH_SECONDS = [4, 8, 16, 32, 64];

/** A collection and the version that it had before any program ran. */
export interface Beginning {
  readonly plural: Plural;
  readonly namespace: string;
  readonly resourceVersion: string;
}

/** Events of each program from one watch, without what differs between two servers. */
export type EventsByProgram = ReadonlyMap<string, readonly JsonObject[]>;

export async function beginningOf(server: Server, plural: Plural, namespace: string): Promise<Beginning> {
  const { body } = await server.send({ method: 'GET', path: `${collectionOf(plural, namespace)}?limit=1` });
  const resourceVersion = isObject(body) ? textAt(metadataOf(body), 'resourceVersion') : undefined;
  if (resourceVersion === undefined) throw new Error(`a list of ${plural} has no resourceVersion`);
  return { plural, namespace, resourceVersion };
}

/** Returns all events since the beginning, up to the object that was created last. */
export async function eventsSince(
  server: Server,
  beginning: Beginning,
  { labelSelector, last }: { readonly labelSelector: string; readonly last: string },
): Promise<EventsByProgram> {
  const { plural, resourceVersion } = beginning;
  const watch = await endedWatch(server, beginning, { labelSelector, last });
  requireBookmarks(watch.events, `a watch of ${plural} from ${resourceVersion}`);
  const events = new Map<string, JsonObject[]>();
  const canonicals = new Map<string, Canonical>();
  for (const event of watch.events) {
    const program = String(metadataOf(objectAt(event, 'object'))['name']).replace(/-[^-]*$/, '');
    const canonical = canonicals.get(program) ?? new Canonical();
    canonicals.set(program, canonical);
    const plain = canonical.event(event);
    if (plain) events.set(program, [...(events.get(program) ?? []), plain]);
  }
  return events;
}

/** Returns a watch that the server ended, including its bookmarks. */
async function endedWatch(
  server: Server,
  { plural, namespace, resourceVersion }: Beginning,
  { labelSelector, last }: { readonly labelSelector: string; readonly last: string },
): Promise<OpenWatch> {
  for (const seconds of WATCH_SECONDS) {
    const query = new URLSearchParams({
      watch: '1',
      allowWatchBookmarks: 'true',
      timeoutSeconds: String(seconds),
      resourceVersion,
      ...(labelSelector === '' ? {} : { labelSelector }),
    });
    const watch = await server.watch(`${collectionOf(plural, namespace)}?${query}`);
    await watch.ended();
    if (watch.events.some(isEventOf(last))) return watch;
  }
  throw new Error(
    `a watch of ${plural} from ${resourceVersion} has not told ${last} in ${WATCH_SECONDS.at(-1)} s`,
  );
}
