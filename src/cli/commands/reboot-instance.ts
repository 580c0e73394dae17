import { idChangeCommand } from '../id-change.ts';

/** Restart the container; its disk stays. */
export const rebootInstance = idChangeCommand({
  name: 'reboot instance',
  kind: 'instance',
  did: 'rebooted',
  summary: 'Restart the container; its disk stays.',
  change: (client, id) => client.instances.reboot(id),
});
