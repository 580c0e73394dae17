import { idChangeCommand } from '../id-change.ts';

/** Stop machines: the GPU is free, the disk still bills. */
export const stopInstance = idChangeCommand({
  name: 'stop instance',
  kind: 'instance',
  did: 'stopped',
  summary: 'Stop machines: the GPU is free, the disk still bills.',
  description:
    'A machine that carries the label of an operator is refused: set spec.powerState: Stopped of the object that owns it, or the operator starts it again.',
  ownedInstead: 'set its spec.powerState: Stopped, or the operator starts the machine again',
  change: (client, id) => client.instances.stop(id),
});
