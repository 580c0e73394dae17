import { idChangeCommand } from '../id-change.ts';

/** Start stopped machines. */
export const startInstance = idChangeCommand({
  name: 'start instance',
  kind: 'instance',
  did: 'started',
  summary: 'Start stopped machines.',
  change: (client, id) => client.instances.start(id),
});
