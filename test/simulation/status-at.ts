import { statusCodec } from '../../src/api/v1alpha1/status-codec.ts';
import { storedForm } from '../../src/lib/stored-form.ts';
import { type JsonObject, objectAt } from './memory-kube/json.ts';

/** Stored objects never change. */
const decoded = new WeakMap<JsonObject, JsonObject>();

/** The status of a stored object as operators have it in memory. */
export function statusAt(object: JsonObject): JsonObject {
  const known = decoded.get(object);
  if (known) return known;
  const status = objectAt(statusCodec.decode(object), 'status');
  decoded.set(object, status);
  return status;
}

/** Whether an operator of this version can use the record of an object. */
export function hasUsableRecord(object: JsonObject): boolean {
  return storedForm(statusAt(object))?.problem === undefined;
}
