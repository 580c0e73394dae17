import { idChangeCommand } from '../id-change.ts';

/** Delete API keys: whoever uses them is refused from then on. */
export const deleteApiKey = idChangeCommand({
  name: 'delete api-key',
  kind: 'api-key',
  did: 'deleted',
  summary: 'Delete API keys: whoever uses them is refused from then on.',
  question: (ids) => `Delete api-key ${ids}? Whoever uses it is refused from then on.`,
  change: (client, id) => client.apiKeys.delete(id),
});
