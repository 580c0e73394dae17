import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../api/v1alpha1/names.ts';
import { requestedReplacement } from '../instance/replace-request.ts';
import type { ChangedObject, ObjectPatch } from './object-change.ts';

/** A change of an object, and what was done in words. */
interface WordedPatch {
  readonly patch: ObjectPatch | undefined;
  readonly did: string;
}

/**
 * Withdraws a requested replacement: a person who stops or holds a machine keeps its disk. Sent without looking, since a
 * request may be written at the same moment.
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

/** Returns the change that starts the machine of an object. */
export function starting({ object }: ChangedObject<GpuInstance>): WordedPatch {
  const isSo = object.spec.powerState === 'Running';
  const did = `powerState ${isSo ? 'is' : 'set to'} Running${dueText(object, 'then')}`;
  return { patch: isSo ? undefined : { spec: { powerState: 'Running' } }, did };
}

/** Returns the change that keeps the machine of an object. */
export function holding({ object }: ChangedObject<GpuInstance>): WordedPatch {
  return {
    patch: { annotations: { [annotations.hold]: 'true', ...WITHDRAWN } },
    did: `on hold${withdrawnText(object)}`,
  };
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
