import { type JsonObject, metadataOf, objectAt, objectsAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Ends that a spec may bring about on every machine. */
const BY_THE_SPEC: ReadonlySet<unknown> = new Set(['LoadingTimedOut', 'Exited']);

/**
 * Returns the time, in epoch milliseconds, at which an object whose spec failed on two machines may rent again: a
 * minute after the second one, and twice as long after each further one, up to an hour. Undefined without a record, for
 * another spec, or if the history of the object does not show at least two such ends.
 */
export function failureWaitOf(object: JsonObject): number | undefined {
  const { repeatedFailure } = statusAt(object);
  const { machines, at, generation } = objectAt(statusAt(object), 'repeatedFailure');
  if (repeatedFailure === undefined || generation !== metadataOf(object)['generation']) return undefined;
  const ends = objectsAt(statusAt(object), 'history').map(({ reason }) => reason);
  if (Number(machines) < 2 || ends.filter((reason) => BY_THE_SPEC.has(reason)).length < 2) return undefined;
  return Date.parse(String(at)) + Math.min(HOUR_MS, MINUTE_MS * 2 ** (Number(machines) - 2));
}
