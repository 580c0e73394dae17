import { idChangeCommand } from '../id-change.ts';

/** Delete volumes that you rent, with everything on them. */
export const deleteVolume = idChangeCommand({
  name: 'delete volume',
  kind: 'volume',
  did: 'deleted',
  summary: 'Delete volumes that you rent, with everything on them.',
  change: (client, id) => client.volumes.delete(id),
});
