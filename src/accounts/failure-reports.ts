import { type GpuInstance, gpuInstanceSpec } from '../api/v1alpha1/gpu-instance.ts';
import type { Reason } from '../api/v1alpha1/reasons.ts';
import { isAtLeast } from '../lib/time.ts';

/** Who reports that a machine, a host or an offer failed, and what its report is based on. */
export interface FailureReporter {
  readonly namespace: string;
  /** Uid of the object, or of the group that it works for: its reports count for itself at once. */
  readonly owner: string;
  readonly image: string | undefined;
  readonly reason: string;
  /** Whether it waited at least as long as the defaults. Then its report counts for every object. */
  readonly patient: boolean;
}

/** What one reporter reported of one target. */
export interface FailureReport extends Omit<FailureReporter, 'owner'> {
  /** `machine/5`, `host/7` or `offer/9`. */
  readonly target: string;
}

/** Ends that a broken or slow image or start script brings about on every machine. */
const BY_THE_IMAGE: ReadonlySet<string> = new Set<Reason>([
  'CannotStart',
  'Exited',
  'LoadingTimedOut',
  'WorkersFailing',
]);
/** An image that failed on more other machines than this is what failed. */
const MAX_MACHINES_FAILED_BY_IMAGE = 2;

/**
 * Whether a failure counts for every object of the account, or only for the one that reports it. It counts for all if two
 * namespaces report it, each with an image of its own, or if the reporter was patient and the same image did not fail
 * elsewhere. `before`: the reports of the last day.
 */
export function countsForAll(report: FailureReport, before: readonly FailureReport[]): boolean {
  const agrees = before.some(
    ({ target, namespace, image }) =>
      target === report.target &&
      namespace !== report.namespace &&
      (image !== report.image || !BY_THE_IMAGE.has(report.reason)),
  );
  if (agrees) return true;
  return report.patient && !isFaultOfImage(report, before);
}

function isFaultOfImage({ reason, image, target }: FailureReport, before: readonly FailureReport[]): boolean {
  if (!BY_THE_IMAGE.has(reason)) return false;
  const alike = before.filter((each) => each.image === image && each.reason === reason);
  const others = new Set(alike.map((each) => each.target).filter((each) => each !== target));
  return others.size >= MAX_MACHINES_FAILED_BY_IMAGE;
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

/** The reporter of an object whose machine ended for that reason. */
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
