import { type Address, type Preconditions, targetOf } from './address.ts';
import { failures, STALE } from './failure.ts';
import { type JsonObject, listAt, metadataOf, textAt } from './json.ts';

/** Throws if a write adds a finalizer to an object that is being deleted. */
export function refuseNewFinalizers(address: Address, current: JsonObject, next: JsonObject): void {
  if (!metadataOf(current)['deletionTimestamp']) return;
  const before = listAt(metadataOf(current), 'finalizers');
  const added = listAt(metadataOf(next), 'finalizers').filter((finalizer) => !before.includes(finalizer));
  if (added.length === 0) return;
  throw failures.invalid(targetOf(address), [
    `metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${added
      .map((finalizer) => JSON.stringify(finalizer))
      .join(', ')}}`,
  ]);
}

/** Throws a conflict if a replacement has another UID than the stored object. */
export function requireSameIncarnation(address: Address, current: JsonObject, desired: JsonObject): void {
  const uid = textAt(metadataOf(desired), 'uid');
  const is = metadataOf(current)['uid'];
  if (!uid || uid === is) return;
  throw failures.conflict(
    targetOf(address),
    `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${String(is)}`,
  );
}

/** Throws a conflict if an update has another resource version. */
export function requireSameVersion(address: Address, current: JsonObject, desired: JsonObject): void {
  const version = textAt(metadataOf(desired), 'resourceVersion');
  if (version && version !== metadataOf(current)['resourceVersion'])
    throw failures.conflict(targetOf(address), STALE);
}

/** Throws an invalid-object error, not a conflict, if a patch has another UID. */
export function requireSamePatched(address: Address, current: JsonObject, patch: JsonObject): void {
  const uid = textAt(metadataOf(patch), 'uid');
  const is = String(metadataOf(current)['uid']);
  if (uid === undefined || uid === is) return;
  throw failures.invalid(targetOf(address), [
    `metadata.uid: Invalid value: ${JSON.stringify(uid)}: field is immutable`,
  ]);
}

/** Throws if a deletion is for another version or UID. */
export function requirePreconditions(
  address: Address,
  current: JsonObject,
  preconditions: Preconditions,
): void {
  const now = metadataOf(current);
  const checks = [
    { label: 'UID', given: preconditions.uid, is: now['uid'] },
    { label: 'ResourceVersion', given: preconditions.resourceVersion, is: now['resourceVersion'] },
  ];
  for (const { label, given, is } of checks) {
    if (given === undefined || given === is) continue;
    throw failures.conflict(
      targetOf(address),
      `the ${label} in the precondition (${given}) does not match the ${label} in record (${String(is)}). The object might have been deleted and then recreated`,
    );
  }
}
