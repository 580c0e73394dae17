import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { parseTime } from '../../lib/time.ts';
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

/** The index of a cache: GpuInstances by the id of the machine that they record. */
export const BY_MACHINE = 'instanceId';
/** GpuInstances by the id of the machine that they want to take over. */
export const BY_ADOPTED = 'adopt';

/** The indexes by which other objects are found, without a walk over all of them. */
export const machineIndexes: Readonly<Record<string, (object: GpuInstance) => readonly string[]>> = {
  [BY_MACHINE]: ({ status }) => (status?.instanceId === undefined ? [] : [String(status.instanceId)]),
  [BY_ADOPTED]: ({ spec }) => (spec.adopt === undefined ? [] : [String(spec.adopt.instanceId)]),
};

/**
 * Whether one of those that want the same machine is older and of the same login; of two equally old ones the lower uid
 * is the older. Logins are asked for older ones alone, up to the first that counts.
 */
export function hasOlderClaimant(
  object: GpuInstance,
  claimants: readonly GpuInstance[],
  loginOf: LoginOf,
): boolean {
  const born = parseTime(object.metadata.creationTimestamp) ?? 0;
  const isOlder = ({ metadata }: GpuInstance): boolean => {
    const age = parseTime(metadata.creationTimestamp) ?? 0;
    return age < born || (age === born && uidOf({ metadata }) < uidOf(object));
  };
  return claimants.some((other) => isOlder(other) && rivalsOf(object, [other], loginOf).length > 0);
}
