import type { Command } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { idChangeCommand } from '../id-change.ts';
import { ENDPOINT_STATE, endpointOptionList, endpointOptions } from '../options/endpoint-flags.ts';
import { parseId, textOption } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { reserveSecretFile } from '../secrets/secret-file.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';
import { endpointRow, endpointView } from '../views/groups.ts';

/** Shows the endpoint groups that the marketplace scales. */
export const listEndpoints: Command = {
  examples: ['gpu-rent list endpoints -o wide'],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const groups = await withMarketplace(input, context, ({ client }) => client.endpointGroups.list());
    await createOutput(input, context).rows(endpointView, groups.map(endpointRow));
    return 0;
  },
};

/** Shows one endpoint group. */
export const getEndpoint: Command = {
  examples: ['gpu-rent get endpoint 12', 'gpu-rent get endpoint 12 --save-key endpoint.key'],
  args: [{ name: '<id>', description: 'The endpoint group.' }],
  options: [
    {
      flags: '--save-key <file>',
      description: "Write the endpoint's own key, which routing needs, to a file of mode 0600.",
    },
  ],
  optionSets: ['output', 'marketplace'],
  async run(input, context) {
    const id = parseId(input.args[0], 'endpoint');
    const path = textOption(input.options, '--save-key');
    await using file = path === undefined ? undefined : await reserveSecretFile(path, '--save-key');
    const group = await withMarketplace(input, context, ({ client }) => client.endpointGroups.get(id));
    if (group.apiKey) await file?.write(group.apiKey);
    await createOutput(input, context).row(endpointView, endpointRow(group));
    return 0;
  },
};

/** Creates an endpoint group that the marketplace itself scales (specification 4.9). */
export const createEndpoint: Command = {
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

/** Changes an endpoint group; what is not given stays. */
export const updateEndpoint: Command = {
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

export const deleteEndpoint = idChangeCommand({
  verb: 'delete',
  kind: 'endpoint',
  did: 'deleted',
  question: (ids) => `Delete endpoint ${ids} with its worker groups?`,
  change: (client, id) => client.endpointGroups.delete(id),
});
