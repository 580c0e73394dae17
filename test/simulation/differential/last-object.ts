import { type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';
import type { Plural } from './operations.ts';
import { collectionOf, GROUPS, KINDS, VALID } from './resources.ts';
import type { Server } from './servers.ts';

/** An object that is made when all else has been: a watch that has told it has told everything. */
export interface LastObject {
  readonly plural: Plural;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Creates the last object of a program. Throws if the server refuses it. */
export async function makeLast(
  server: Server,
  { plural, namespace, name, labels }: LastObject,
): Promise<void> {
  const body = {
    apiVersion: GROUPS[plural].replace(/^\/apis?\//, ''),
    kind: KINDS[plural],
    metadata: { name, labels },
    ...VALID[plural],
  };
  const { status } = await server.send({ method: 'POST', path: collectionOf(plural, namespace), body });
  if (status !== 201) throw new Error(`${name} could not be made: ${status}`);
}

/** Returns a predicate for the events of the object with that name. */
export function isEventOf(name: string): (event: JsonObject) => boolean {
  return (event) => metadataOf(objectAt(event, 'object'))['name'] === name;
}
