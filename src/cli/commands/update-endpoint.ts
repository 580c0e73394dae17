import type { Command } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { ENDPOINT_STATE, endpointOptionList, endpointOptions } from '../options/endpoint-flags.ts';
import { parseId } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Changes an endpoint group; what is not given stays. */
export const updateEndpoint: Command = {
  name: 'update endpoint',
  summary: 'Change an endpoint group; what is not given stays.',
  examples: [
    'gpu-rent update endpoint 12 --max_workers 4',
    'gpu-rent update endpoint 12 --endpoint-state suspended',
  ],
  args: [{ name: '<id>', description: 'The endpoint group.' }],
  options: [...endpointOptionList('update'), ENDPOINT_STATE],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const id = parseId(input.args[0], 'endpoint');
    const changes = endpointOptions(input.options, false);
    if (Object.values(changes).every((value) => value === undefined)) {
      throw usageError('Nothing to change was given.', 'Give at least one option, e.g. --max_workers 4.');
    }
    await withMarketplace(input, context, ({ client }) => client.endpointGroups.update(id, changes));
    await createOutput(input, context).changed([{ kind: 'endpoint', name: id, did: 'updated' }]);
    return 0;
  },
};
