import { idChangeCommand } from '../id-change.ts';

/** Delete endpoint groups; their worker groups go too. */
export const deleteEndpoint = idChangeCommand({
  name: 'delete endpoint',
  kind: 'endpoint',
  did: 'deleted',
  summary: 'Delete endpoint groups; their worker groups go too.',
  question: (ids) => `Delete endpoint ${ids} with its worker groups?`,
  change: (client, id) => client.endpointGroups.delete(id),
});
