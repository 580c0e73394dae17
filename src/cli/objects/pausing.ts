import type { EndpointGroup } from '../../api/v1alpha1/endpoint-group.ts';
import { endpointGroupResource, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import type { Command } from '../command.ts';
import { changeOneByOne } from '../output/one-by-one.ts';
import { createOutput } from '../output/output.ts';
import { withCluster } from '../sessions/cluster-session.ts';
import { getObject } from './cluster-objects.ts';
import { parseObject, shownName } from './object-name.ts';

/** Pausing and resuming differ in one value. */
export interface Pausing {
  readonly name: 'pause' | 'resume';
  readonly summary: string;
  readonly description: string;
  readonly paused: boolean;
}

/** The command of such a change: of an instance `spec.paused`, of a group both directions of scaling. */
export function pausingCommand({ name, paused, ...texts }: Pausing): Command {
  const did = paused ? 'paused' : 'resumed';
  return {
    name,
    ...texts,
    examples: [`gpu-rent ${name} gpui/trainer`, `gpu-rent ${name} epg/chat -n serving`],
    args: [{ name: '<object...>', description: 'gpui/name or epg/name.' }],
    optionSets: ['output', 'cluster'],
    async run(input, context) {
      const objectOf = (text: string) => parseObject(text, gpuInstanceResource, endpointGroupResource);
      // Each, before the first is changed: a wrong word is told while nothing has happened.
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
