import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { endpointGroupResource, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import type { Command } from '../command.ts';
import { objectChangeCommand, patchObject } from '../object-change.ts';

/** Stops renting and replacing; what runs goes on running and billing. */
export const pauseCommand = pausingCommand({
  verb: 'pause',
  paused: true,
  description:
    'A paused object is still watched and still deleted, and its machine still bills: to stop a machine, use gpu-rent stop. A paused group changes its workers in neither direction.',
});

/** Ends a pause. */
export const resumeCommand = pausingCommand({
  verb: 'resume',
  paused: false,
  description: 'The operator goes on from what is there now.',
});

/** What differs between pausing and resuming. */
interface Pausing {
  readonly verb: 'pause' | 'resume';
  readonly description: string;
  readonly paused: boolean;
}

/** Sets `spec.paused` of an instance, and both directions of `spec.pause` of a group. */
function pausingCommand({ verb, paused, description }: Pausing): Command {
  return objectChangeCommand<GpuInstance | EndpointGroup>({
    ...{ verb, description },
    kinds: [gpuInstanceResource, endpointGroupResource],
    examples: [`gpu-rent ${verb} gpui/trainer`, `gpu-rent ${verb} epg/chat -n serving`],
    async change(target, means) {
      const isGroup = target.resource === endpointGroupResource;
      const spec = isGroup ? { pause: { scaleUp: paused, scaleDown: paused } } : { paused };
      await patchObject(means, target, { spec });
      return paused ? 'paused' : 'resumed';
    },
  });
}
