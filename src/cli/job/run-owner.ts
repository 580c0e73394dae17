import type { OwnerReference } from '../../lib/object-meta.ts';
import {
  apiVersionOf,
  controllerOf,
  type KubeObject,
  type Resource,
} from '../../runtime/kube/kube-object.ts';
import type { RunKey } from './run-name.ts';

/** batch/v1 Job, which is only read. */
export const jobResource: Resource = {
  group: 'batch',
  version: 'v1',
  plural: 'jobs',
  kind: 'Job',
  namespaced: true,
};

/** core/v1 Pod, which is only read. */
export const podResource: Resource = {
  group: '',
  version: 'v1',
  plural: 'pods',
  kind: 'Pod',
  namespaced: true,
};

/** Annotation of Pods of an indexed Job. */
const INDEX_ANNOTATION = 'batch.kubernetes.io/job-completion-index';

/** Condition of a Job or a Pod: the fields in use. */
interface StatusCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string | undefined;
}

/** Job or Pod: the fields in use. */
export interface OwnerObject extends KubeObject {
  readonly spec?: {
    readonly suspend?: boolean | undefined;
    readonly restartPolicy?: string | undefined;
    readonly completionMode?: string | undefined;
    readonly completions?: number | undefined;
    readonly parallelism?: number | undefined;
  };
  readonly status?: { readonly conditions?: readonly StatusCondition[] | undefined };
}

/** Owner of the GpuInstance, and the work that it identifies. */
export interface RunOwner extends RunKey {
  readonly reference: OwnerReference;
}

/** Reply to a read of an owner. */
export type OwnerReply =
  | { readonly type: 'found'; readonly object: OwnerObject }
  | { readonly type: 'absent' }
  | { readonly type: 'forbidden' }
  /** The API server did not answer in time, or with an error. */
  | { readonly type: 'unknown' };

/** Returns the Job that controls a Pod; undefined if another kind controls it, or none. */
export function jobOf(pod: KubeObject): OwnerReference | undefined {
  const controller = controllerOf(pod.metadata);
  return controller?.kind === 'Job' && controller.apiVersion === apiVersionOf(jobResource)
    ? controller
    : undefined;
}

/**
 * Returns the owner of the GpuInstance: the Job if the relay may read it, so that an evicted Pod does not end the
 * machine, else the Pod. Other controllers, such as workflows, have several Pods for different work, so their Pods own.
 * Undefined if the reply about the Job is open.
 */
export function ownerOf(pod: KubeObject, job: OwnerReply | undefined): RunOwner | undefined {
  const controller = jobOf(pod);
  if (controller === undefined || job?.type === 'forbidden') return ownerReference(pod, undefined);
  // The Job may be gone while its Pod still starts: the name stays the same, and no other Pod follows.
  if (job === undefined || job.type === 'unknown') return undefined;
  const { apiVersion, kind, name, uid } = controller;
  return {
    reference: { apiVersion, kind, name, uid, blockOwnerDeletion: false },
    ownerUid: uid,
    index: indexOf(pod),
  };
}

function ownerReference({ metadata }: KubeObject, index: number | undefined): RunOwner {
  const { name, uid = '' } = metadata;
  const { kind } = podResource;
  return {
    reference: { apiVersion: apiVersionOf(podResource), kind, name, uid, blockOwnerDeletion: false },
    ownerUid: uid,
    index,
  };
}

function indexOf({ metadata }: KubeObject): number | undefined {
  const text = metadata.annotations?.[INDEX_ANNOTATION];
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

/**
 * Returns the reason why several Pods of a Job would share one machine; undefined if they do not. Without an index the
 * Pods of one Job cannot be told apart.
 */
export function sharedWork({ spec = {} }: OwnerObject): string | undefined {
  const { completionMode, completions = 1, parallelism = 1 } = spec;
  if (completionMode === 'Indexed' || (completions <= 1 && parallelism <= 1)) return undefined;
  return `the Job has completions ${completions} and parallelism ${parallelism}, but its Pods have no index`;
}

/**
 * Returns the reason why the relay would begin again after its own end; undefined if it would not. The kubelet restarts
 * such a program without end, and each failure would rent again.
 */
export function restartsAlways({ metadata: { name }, spec }: OwnerObject): string | undefined {
  return spec?.restartPolicy === 'Always'
    ? `Pod ${name} has restartPolicy Always, and one Pod has one run`
    : undefined;
}

/** Decision about the machine after SIGTERM. */
export interface Ending {
  /** True: request the end of the run by annotation. False: the machine keeps running. */
  readonly cancels: boolean;
  /** Cause, for people. */
  readonly cause: string;
}

/** Conditions of a Job after which it starts no Pod any more. */
const ENDED: readonly string[] = ['Failed', 'FailureTarget', 'Complete', 'SuccessCriteriaMet'];

/**
 * Decides after SIGTERM. The machine ends only if its owner certainly does not continue: deleted, suspended or finished.
 * An eviction, a node shutdown and an unknown cause leave it running.
 */
export function endingOf({ reference }: RunOwner, reply: OwnerReply): Ending {
  const shown = `${reference.kind} ${reference.name}`;
  switch (reply.type) {
    case 'absent':
      return { cancels: true, cause: `${shown} is deleted` };
    case 'forbidden':
      return { cancels: false, cause: `the relay may not read ${shown}` };
    case 'unknown':
      return { cancels: false, cause: `the API server did not answer about ${shown}` };
    case 'found':
      return endingByState(reference, reply.object);
  }
}

function endingByState({ kind, name, uid }: OwnerReference, { metadata, spec, status }: OwnerObject): Ending {
  const shown = `${kind} ${name}`;
  const holds = (type: string): boolean =>
    status?.conditions?.some((one) => one.type === type && one.status === 'True') ?? false;
  if (metadata.uid !== uid) return { cancels: true, cause: `${shown} is deleted` };
  // The Pod of an evicted relay is deleted, too; only its condition tells it from a deletion by a user.
  if (kind === podResource.kind && holds('DisruptionTarget'))
    return { cancels: false, cause: `${shown} is evicted` };
  if (metadata.deletionTimestamp !== undefined) return { cancels: true, cause: `${shown} is being deleted` };
  if (spec?.suspend === true) return { cancels: true, cause: `${shown} is suspended` };
  const ended = ENDED.find(holds);
  if (ended !== undefined) return { cancels: true, cause: `${shown} has condition ${ended}` };
  return { cancels: false, cause: `${shown} continues` };
}
