import type { Command } from '../command.ts';
import { endpointOptionList, endpointOptions } from '../options/endpoint-flags.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Creates an endpoint group that the marketplace itself scales (specification 4.9). */
export const createEndpoint: Command = {
  name: 'create endpoint',
  summary: 'Create an endpoint group that the marketplace scales.',
  description:
    "Options are spelt as in the service's own interface; dashes do as well. For a group that the operator scales, apply an EndpointGroup instead.",
  examples: [
    'gpu-rent create endpoint --endpoint_name chat --min_load 100 --max_workers 8',
    'gpu-rent create endpoint --endpoint-name chat --target-util 0.8 --inactivity-timeout 600',
  ],
  options: endpointOptionList('create'),
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const group = endpointOptions(input.options, true);
    const id = await withMarketplace(input, context, ({ client }) => client.endpointGroups.create(group));
    await createOutput(input, context).changed([{ kind: 'endpoint', name: id, did: 'created' }]);
    return 0;
  },
};
