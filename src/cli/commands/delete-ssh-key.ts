import { idChangeCommand } from '../id-change.ts';

/** Delete SSH keys of the account. */
export const deleteSshKey = idChangeCommand({
  name: 'delete ssh-key',
  kind: 'ssh-key',
  did: 'deleted',
  summary: 'Delete SSH keys of the account.',
  change: (client, id) => client.sshKeys.delete(id),
});
