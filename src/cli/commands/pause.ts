import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import { endpointGroupResource, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import type { Command } from '../command.ts';
import { getObject } from '../objects/cluster-objects.ts';
import { parseObject, shownName } from '../objects/object-name.ts';
import { changeOneByOne } from '../output/one-by-one.ts';
import { createOutput } from '../output/output.ts';
import { withCluster } from '../sessions/cluster-session.ts';

/** Stops renting and replacing; what runs goes on running and billing. */
export const pauseCommand = pausingCommand({
  verb: 'pause',
  paused: true,
  description:
    'A paused object is still watched and still deleted, and its machine still bills: to stop a machine, set powerState: Stopped. A paused group changes its workers in neither direction.',
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
  const did = paused ? 'paused' : 'resumed';
  return {
    description,
    examples: [`gpu-rent ${verb} gpui/trainer`, `gpu-rent ${verb} epg/chat -n serving`],
    args: [{ name: '<object...>', description: 'gpui/name or epg/name.' }],
    optionSets: ['output', 'cluster'],
    async run(input, context) {
      const objectOf = (text: string) => parseObject(text, gpuInstanceResource, endpointGroupResource);
      // Check every argument before the first change, so that a usage error changes nothing.
      input.args.forEach(objectOf);
      const output = createOutput(input, context);
      await withCluster(input, context, async (cluster) => {
        await changeOneByOne(output, input.args, async (text) => {
          const { resource, name: object } = objectOf(text);
          await getObject<EndpointGroup>(cluster, resource, object);
          const isGroup = resource === endpointGroupResource;
          const spec = isGroup ? { pause: { scaleUp: paused, scaleDown: paused } } : { paused };
          const ref = { namespace: cluster.namespace, name: object };
          await cluster.kube.patch(resource, ref, {
            type: 'merge',
            body: { spec },
            fieldManager: 'gpu-rent',
          });
          const [kind = ''] = shownName(resource, object).split('/');
          return { kind, name: object, did };
        });
      });
      return 0;
    },
  };
}
