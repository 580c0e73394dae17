import { type GpuInstance, gpuInstanceSpec } from '../api/v1alpha1/gpu-instance.ts';
import type { Reason } from '../api/v1alpha1/reasons.ts';
import { isAtLeast } from '../lib/time.ts';

/** Who says that a machine, a host or an offer failed, and what that word is worth. */
export interface FailureReporter {
  readonly namespace: string;
  /** Uid of the object, or of the group that it works for: what it says counts for itself at once. */
  readonly owner: string;
  readonly image: string | undefined;
  readonly reason: string;
  /** Whether it waited at least as long as the defaults say. Then its word counts for everybody. */
  readonly patient: boolean;
}

/** What one witness said of one thing. */
export interface FailureReport extends Omit<FailureReporter, 'owner'> {
  /** `machine/5`, `host/7` or `offer/9`. */
  readonly target: string;
}

/** Ends that a broken image or start script brings about on every machine. */
const BY_THE_IMAGE: ReadonlySet<string> = new Set<Reason>(['Exited', 'LoadingTimedOut', 'WorkersFailing']);
/** An image that failed on more other machines than this is what failed. */
const MAX_MACHINES_BLAMED_BY_IMAGE = 2;

/**
 * Whether a failure counts for every object of the account, or only for the one that tells of it. It counts for all if two
 * namespaces agree, each with an image of its own, or if the witness was patient and the same image did not fail
 * elsewhere, too. `before`: what was said within the last day.
 */
export function countsForAll(testimony: FailureReport, before: readonly FailureReport[]): boolean {
  const agrees = before.some(
    ({ target, namespace, image }) =>
      target === testimony.target &&
      namespace !== testimony.namespace &&
      (image !== testimony.image || !BY_THE_IMAGE.has(testimony.reason)),
  );
  if (agrees) return true;
  return testimony.patient && !isFaultOfImage(testimony, before);
}

function isFaultOfImage({ reason, image, target }: FailureReport, before: readonly FailureReport[]): boolean {
  if (!BY_THE_IMAGE.has(reason)) return false;
  const alike = before.filter((each) => each.image === image && each.reason === reason);
  const others = new Set(alike.map((each) => each.target).filter((each) => each !== target));
  return others.size >= MAX_MACHINES_BLAMED_BY_IMAGE;
}

type Patience = (spec: GpuInstance['spec']) => readonly [own: string, byDefault: string];

const timeouts = gpuInstanceSpec.shape.timeouts.parse(undefined);
const { tolerance } = gpuInstanceSpec.shape.replacement.parse(undefined);

/** The time that has to pass before each end. One that is not named proves little by itself, however long it took. */
const PATIENCE: Partial<Readonly<Record<Reason, Patience>>> = {
  ProvisioningTimedOut: (spec) => [spec.timeouts.provisioning, timeouts.provisioning],
  LoadingTimedOut: (spec) => [spec.timeouts.loading, timeouts.loading],
  CannotStart: (spec) => [spec.timeouts.start, timeouts.start],
  HostSilent: (spec) => [spec.replacement.tolerance.unknown, tolerance.unknown],
  HostOffline: (spec) => [spec.replacement.tolerance.offline, tolerance.offline],
};

/** What the word of an object is worth when its machine came to such an end. */
export function reporterOf(object: GpuInstance, reason: string, waited?: boolean): FailureReporter {
  const { metadata, spec, status } = object;
  const times = PATIENCE[reason as Reason]?.(spec);
  return {
    namespace: metadata.namespace ?? '',
    owner: ownerOf(object),
    image: status?.image ?? spec.image,
    reason,
    patient: waited ?? (times !== undefined && isAtLeast(...times)),
  };
}

function ownerOf({ metadata: { ownerReferences = [], uid = '' } }: GpuInstance): string {
  return ownerReferences.find(({ controller }) => controller === true)?.uid ?? uid;
}
