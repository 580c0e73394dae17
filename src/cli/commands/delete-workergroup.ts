import { idChangeCommand } from '../id-change.ts';

/** Delete worker groups. */
export const deleteWorkergroup = idChangeCommand({
  name: 'delete workergroup',
  kind: 'workergroup',
  did: 'deleted',
  summary: 'Delete worker groups.',
  description: 'The machines of a worker group need not go with it: look at list instances afterwards.',
  change: (client, id) => client.workerGroups.delete(id),
});
