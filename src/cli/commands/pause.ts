import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { endpointGroupResource, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { ALL, FleetChanges, listFleet, meansAll } from '../fleet.ts';
import { type ChangedObject, type ChangeMeans, objectChangeCommand, patchObject } from '../object-change.ts';
import { dueText } from '../power-change.ts';
import { withCluster } from '../sessions/cluster-session.ts';

/** Pauses renting and replacing; running machines keep running and billing. */
export const pauseCommand = pausingCommand({
  verb: 'pause',
  paused: true,
  description:
    'A paused object is still watched and still deleted, and its machine still bills: to stop a machine, use gpu-rent stop. A paused group neither adds nor removes workers.',
});

/** Ends a pause. */
export const resumeCommand = pausingCommand({
  verb: 'resume',
  paused: false,
  description: 'The operator continues from the present state.',
});

/** Differences between pausing and resuming. */
interface Pausing {
  readonly verb: 'pause' | 'resume';
  readonly description: string;
  readonly paused: boolean;
}

/** Sets `spec.paused` of an instance, and both directions of `spec.pause` of a group. */
function pausingCommand({ verb, paused, description }: Pausing): Command {
  const did = paused ? 'paused' : 'resumed';
  const change = async (target: ChangedObject<GpuInstance | EndpointGroup>, means: ChangeMeans) => {
    const isGroup = target.resource === endpointGroupResource;
    const spec = isGroup ? { pause: { scaleUp: paused, scaleDown: paused } } : { paused };
    await patchObject(means, target, { spec });
    if (isGroup) return did;
    return `${did}${dueText(target.object as GpuInstance, paused ? 'after gpu-rent resume' : 'now')}`;
  };
  const named = objectChangeCommand<GpuInstance | EndpointGroup>({
    ...{ verb, description, change },
    kinds: [gpuInstanceResource, endpointGroupResource],
    examples: [`gpu-rent ${verb} gpui/trainer`, `gpu-rent ${verb} epg/chat -n serving`],
  });
  return {
    ...named,
    examples: [...(named.examples ?? []), `gpu-rent ${verb} --all -n team`],
    args: [{ name: '[object...]', description: 'gpui/name or epg/name.' }],
    options: [ALL],
    run: (input, context) =>
      meansAll(input, verb) ? changeAll(change, input, context) : named.run(input, context),
  };
}

/** Workers follow their group. */
async function changeAll(
  change: (target: ChangedObject<GpuInstance | EndpointGroup>, means: ChangeMeans) => Promise<string>,
  input: CommandInput,
  context: CommandContext,
): Promise<number> {
  return withCluster(input, context, async (cluster) => {
    const { instances, groups } = await listFleet(cluster);
    const changes = new FleetChanges(input, context);
    const means = { cluster, input, context };
    await changes.each<GpuInstance | EndpointGroup>([...groups, ...instances], (target) =>
      change(target, means),
    );
    const { outcome, output, isOneDocument } = changes;
    if (isOneDocument) await output.value(outcome, '');
    else if (outcome.done.length + outcome.refused.length === 0)
      context.stderr.write('No GpuInstance or EndpointGroup exists.\n');
    return changes.exitCode;
  });
}
