import type { EndpointGroup } from '../../src/api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import type { ObjectMeta } from '../../src/lib/object-meta.ts';
import { hotAsked } from './groups.ts';

/** The ledger and the cluster at one time. */
export interface Seen {
  /** Contracts that bill, by the ledger. */
  readonly billing: readonly string[];
  readonly instances: readonly GpuInstance[];
  readonly groups: readonly EndpointGroup[];
  /** Uids of the workers that a Service leads to. */
  readonly published: readonly string[];
  /** Work per second that reporting workers tell of. */
  readonly reported: number;
}

/**
 * Returns one sentence per difference between ledger and cluster. Empty: exactly the desired machines exist, and
 * nothing else bills.
 */
export function differences(seen: Seen): readonly string[] {
  const claimed = new Set(seen.instances.map(({ status }) => status?.instanceId));
  return [
    ...seen.instances.flatMap((instance) => differencesOfInstance(instance, seen)),
    ...seen.billing
      .filter((id) => !claimed.has(id))
      .map((id) => `machine ${id} bills and no object records it`),
    ...seen.groups.flatMap((group) => differencesOfGroup(group, seen)),
    ...strayed(seen),
  ];
}

function differencesOfInstance(instance: GpuInstance, seen: Seen): readonly string[] {
  const { metadata, spec, status } = instance;
  const described = `${metadata.name} (${why(instance)})`;
  const owner = ownerOf(instance);
  if (owner !== undefined && !seen.groups.some((group) => group.metadata.uid === owner.uid))
    return [`worker ${described} is left of the group ${owner.name}, which is gone`];
  if (metadata.deletionTimestamp !== undefined) return [`${described} is still being deleted`];
  const { phase = 'Pending', instanceId: id } = status ?? {};
  if (id !== undefined && !seen.billing.includes(id))
    return [`${described} records machine ${id}, which does not bill`];
  const twin = seen.instances.find((other) => other !== instance && other.status?.instanceId === id);
  if (id !== undefined && twin) return [`${described} and ${twin.metadata.name} both record machine ${id}`];
  const isStopped = spec.powerState === 'Stopped';
  const isThere = isStopped ? phase === 'Stopped' || id === undefined : phase === 'Running';
  return isThere ? [] : [`${described} is to be ${isStopped ? 'stopped' : 'running'} and is ${phase}`];
}

function differencesOfGroup(group: EndpointGroup, seen: Seen): readonly string[] {
  const name = `group ${group.metadata.name}`;
  if (group.metadata.deletionTimestamp !== undefined) return [`${name} is still being deleted`];
  const workers = seen.instances.filter((instance) => ownerOf(instance)?.uid === group.metadata.uid);
  const asked = hotAsked(group, seen.reported);
  const hot = workers.filter(isHot).length;
  const { total, explanation = 'nothing decided yet' } = group.status?.autoscaling ?? {};
  const least = Math.max(asked, group.spec.coldWorkers);
  return [
    ...(hot === asked ? [] : [`${name} needs ${asked} hot workers and has ${hot}: ${explanation}`]),
    ...(workers.length >= least && workers.length === total
      ? []
      : [`${name} needs at least ${least} workers, decided on ${total} and has ${workers.length}`]),
    ...workers.flatMap((worker) => misled(worker, seen)),
  ];
}

const isHot = ({ spec }: GpuInstance): boolean => spec.powerState === 'Running';

/** Checks that the Service routes to a worker if and only if it should be hot. */
function misled(worker: GpuInstance, { published }: Seen): readonly string[] {
  const { name, uid = '' } = worker.metadata;
  if (isHot(worker) === published.includes(uid)) return [];
  return [
    isHot(worker) ? `no Service leads to worker ${name}` : `a Service leads to ${name}, which is stopped`,
  ];
}

function strayed({ published, instances }: Seen): readonly string[] {
  const known = new Set(instances.map(({ metadata }) => metadata.uid));
  return published
    .filter((uid) => !known.has(uid))
    .map((uid) => `a Service leads to worker ${uid}, which is gone`);
}

/** Returns the group that controls it. */
export function ownerOf({
  metadata,
}: {
  readonly metadata: ObjectMeta;
}): { readonly uid: string; readonly name: string } | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

function why({ status }: GpuInstance): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready ? `${ready.reason}: ${ready.message}` : 'nothing said yet';
}
