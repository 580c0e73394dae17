import { idChangeCommand } from '../id-change.ts';

/** Stop machines: the GPU is free, the disk still bills. */
export const stopInstance = idChangeCommand({
  name: 'stop instance',
  kind: 'instance',
  did: 'stopped',
  summary: 'Stop machines: the GPU is free, the disk still bills.',
  change: (client, id) => client.instances.stop(id),
});
