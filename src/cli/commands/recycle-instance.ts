import { idChangeCommand } from '../id-change.ts';

/** Make the container anew from its image. */
export const recycleInstance = idChangeCommand({
  name: 'recycle instance',
  kind: 'instance',
  did: 'recycled',
  summary: 'Make the container anew from its image.',
  question: (ids) => `Recycle instance ${ids}? What its container wrote is lost.`,
  change: (client, id) => client.instances.recycle(id),
});
