import { idChangeCommand } from '../id-change.ts';

/** Delete volumes that you rent, with everything on them. */
export const deleteVolume = idChangeCommand({
  name: 'delete volume',
  kind: 'volume',
  did: 'deleted',
  summary: 'Delete volumes that you rent, with everything on them.',
  question: (ids) => `Delete volume ${ids} with everything on it?`,
  change: (client, id) => client.volumes.delete(id),
});
