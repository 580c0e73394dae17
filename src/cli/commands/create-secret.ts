import { secretChangeCommand } from '../secrets/secret-change.ts';

/** Sets a variable in every container that the account rents from now on. */
export const createSecret = secretChangeCommand({
  verb: 'create',
  did: 'created',
  summary: 'Set a secret variable in every container that the account rents.',
  change: (client, name, value) => client.secrets.create(name, value),
});
