import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { parseTime } from '../../lib/rfc3339.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';

/** Tells the login that an object's account proved, as text; undefined where none did. */
export type LoginOf = (object: GpuInstance) => string | undefined;

/** Every other object but those of another login: there the same id names another machine. */
export function rivalsOf(
  object: GpuInstance,
  all: readonly GpuInstance[],
  loginOf: LoginOf,
): readonly GpuInstance[] {
  const own = loginOf(object);
  return all.filter((other) => {
    if (other.metadata.uid === object.metadata.uid) return false;
    const theirs = loginOf(other);
    return own === undefined || theirs === undefined || own === theirs;
  });
}

/** Ids that objects record. */
export function idsHeldBy(objects: readonly GpuInstance[]): ReadonlySet<number | undefined> {
  return new Set(objects.map(({ status }) => status?.instanceId));
}

/** Ids that objects want to take over, whether or not they may. */
export function idsWantedBy(objects: readonly GpuInstance[]): ReadonlySet<number | undefined> {
  return new Set(objects.map(({ spec }) => spec.adopt?.instanceId));
}

/** Whether one of the rivals is older and wants the same machine; of two equally old ones the lower uid is the older. */
export function hasOlderClaimant(object: GpuInstance, rivals: readonly GpuInstance[]): boolean {
  const born = parseTime(object.metadata.creationTimestamp) ?? 0;
  return rivals.some(({ spec, metadata }) => {
    if (spec.adopt?.instanceId !== object.spec.adopt?.instanceId) return false;
    const age = parseTime(metadata.creationTimestamp) ?? 0;
    return age < born || (age === born && uidOf({ metadata }) < uidOf(object));
  });
}
