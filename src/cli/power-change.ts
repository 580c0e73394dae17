import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../api/v1alpha1/names.ts';
import { idlePolicy } from '../instance/idle.ts';
import { endsText } from '../instance/machine-fuses.ts';
import { requestedReplacement } from '../instance/replace-request.ts';
import { formatTime, parseTime } from '../lib/time.ts';
import type { ChangedObject, ObjectPatch } from './object-change.ts';

/** A change of an object, with its description in words. */
interface WordedPatch {
  readonly patch: ObjectPatch | undefined;
  readonly did: string;
}

/**
 * Withdraws a requested replacement: a person who stops or holds a machine keeps its disk. Sent unconditionally,
 * since a request may be written at the same moment.
 */
const WITHDRAWN = { [annotations.replaceAt]: null };

/** Returns the change that stops the machine of an object. */
export function stopping({ object }: ChangedObject<GpuInstance>): WordedPatch {
  const isSo = object.spec.powerState === 'Stopped';
  const withdrawn = withdrawnText(object);
  const did = `powerState ${isSo ? 'is' : 'set to'} Stopped${withdrawn}`;
  if (isSo && withdrawn === '') return { patch: undefined, did };
  return { patch: { spec: { powerState: 'Stopped' }, annotations: WITHDRAWN }, did };
}

/**
 * Returns the change that starts the machine of an object at `now` (epoch milliseconds). If the machine ended because
 * it was idle, or is about to, it may be idle for `spec.idle.after` from then on.
 */
export function starting({ object }: ChangedObject<GpuInstance>, now: number): WordedPatch {
  const isSo = object.spec.powerState === 'Running';
  const until = idleUntil(object, now);
  const idle = until === undefined ? '' : `; not ended for idleness before ${until}`;
  const did = `powerState ${isSo ? 'is' : 'set to'} Running${idle}${dueText(object, 'then')}`;
  if (isSo && until === undefined) return { patch: undefined, did };
  return {
    patch: {
      ...(!isSo && { spec: { powerState: 'Running' } }),
      ...(until !== undefined && { annotations: { [annotations.idleExtendUntil]: until } }),
    },
    did,
  };
}

/** Returns the extension that starts a machine again after an idle end; undefined if none is due. */
function idleUntil(object: GpuInstance, now: number): string | undefined {
  const policy = idlePolicy(object);
  const endedAt = parseTime(object.status?.idleEndedAt);
  if (!policy || (endedAt === undefined && object.status?.idle === undefined)) return undefined;
  // The operator's clock may be ahead of the caller's.
  return formatTime(Math.max(now, endedAt ?? now) + policy.afterMs);
}

/** Returns the change that keeps the machine of an object. */
export function holding({ object }: ChangedObject<GpuInstance>): WordedPatch {
  return {
    patch: { annotations: { [annotations.hold]: 'true', ...WITHDRAWN } },
    did: `on hold${withdrawnText(object)}${fuseText(object)}`,
  };
}

/** Returns `; machine 7 still ends itself after 2h of running`; empty for a machine without a fuse. */
function fuseText({ status }: GpuInstance): string {
  const { selfEnd, instanceId } = status ?? {};
  return selfEnd === undefined || instanceId === undefined
    ? ''
    : `; machine ${instanceId} still ends itself after ${endsText(selfEnd)}`;
}

/** `; the request to replace machine 7 is withdrawn`; empty without such a request. */
function withdrawnText(object: GpuInstance): string {
  return requestedReplacement(object) === undefined
    ? ''
    : `; the request to replace ${machineText(object)} is withdrawn, its disk is kept`;
}

/** Returns the effect of a requested replacement when no condition blocks it; empty without such a request. */
export function dueText(object: GpuInstance, when: string): string {
  return requestedReplacement(object) === undefined
    ? ''
    : `; ${machineText(object)} is replaced ${when}, as requested: gpu-rent hold keeps it and its disk`;
}

function machineText({ status }: GpuInstance): string {
  return `machine ${status?.instanceId ?? 'unknown'}`;
}
