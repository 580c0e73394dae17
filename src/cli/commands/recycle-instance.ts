import { idChangeCommand } from '../id-change.ts';

/** Make the container anew from its image. */
export const recycleInstance = idChangeCommand({
  name: 'recycle instance',
  kind: 'instance',
  did: 'recycled',
  summary: 'Make the container anew from its image.',
  change: (client, id) => client.instances.recycle(id),
});
