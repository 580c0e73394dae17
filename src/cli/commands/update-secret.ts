import { secretChangeCommand } from '../secrets/secret-change.ts';

/** Gives a variable of the account another value. */
export const updateSecret = secretChangeCommand({
  verb: 'update',
  did: 'updated',
  summary: 'Give a secret variable of the account another value.',
  change: (client, name, value) => client.secrets.update(name, value),
});
