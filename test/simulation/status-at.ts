import { statusCodec } from '../../src/api/v1alpha1/status-codec.ts';
import { storedForm } from '../../src/lib/stored-form.ts';
import { type JsonObject, objectAt } from './memory-kube/json.ts';

/** Stored objects never change. */
const decoded = new WeakMap<JsonObject, JsonObject>();

/** Returns the status of a stored object in the form that operators have in memory. */
export function statusAt(object: JsonObject): JsonObject {
  const known = decoded.get(object);
  if (known) return known;
  const status = objectAt(statusCodec.decode(object), 'status');
  decoded.set(object, status);
  return status;
}

/** Returns true if this version of the operator can use the object's record. */
export function hasUsableRecord(object: JsonObject): boolean {
  return storedForm(statusAt(object))?.problem === undefined;
}
