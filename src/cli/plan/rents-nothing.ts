import type { PlannedObject } from './manifests.ts';

/** Why a manifest rents nothing, whatever is offered. */
export interface RentsNothing {
  readonly reason: 'Adopted' | 'Stopped' | 'Paused';
  /** What holds, and what to do to have a machine rented. */
  readonly detail: string;
}

/** What the spec itself says, in the operator's order; undefined where it asks for a rental. */
export function rentsNothing({ spec, isPaused, object }: PlannedObject): RentsNothing | undefined {
  const { adopt, powerState } = spec;
  if (adopt) {
    const detail = `it takes machine ${adopt.instanceId} over, which is rented already (spec.adopt, policy ${adopt.policy}).`;
    return { reason: 'Adopted', detail };
  }
  if (powerState === 'Stopped') {
    const detail =
      'none is wanted while spec.powerState is Stopped. Set it to Running, or leave it out, to have one rented.';
    return { reason: 'Stopped', detail };
  }
  if (!isPaused) return undefined;
  const field = object.startsWith('epg/') ? 'spec.pause.scaleUp or paused of the template' : 'spec.paused';
  return { reason: 'Paused', detail: `it is paused (${field}). Set that to false to have one rented.` };
}
