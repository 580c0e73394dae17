import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../../api/v1alpha1/names.ts';

/**
 * Whether a person has changed what an object asks for since `decidedOn` was read: its spec, its deletion, or that its
 * machine is held. `newest` is the copy as it is now; one that is gone, or older, changes nothing.
 */
export function isWishChanged(decidedOn: GpuInstance, newest: GpuInstance | undefined): boolean {
  if (!newest) return false;
  const isNewer = (newest.metadata.generation ?? 0) > (decidedOn.metadata.generation ?? 0);
  return isNewer || (isHeld(newest) && !isHeld(decidedOn));
}

const isHeld = ({ metadata }: GpuInstance): boolean => metadata.annotations?.[annotations.hold] !== undefined;
