import * as z from 'zod';
import { looseInteger, looseMoment, looseText, wireId } from './scalars.ts';

/** Permissions of a scoped key (specification 5): named categories, each with constraints or empty. */
export const keyPermissions = z.looseObject({ api: z.record(z.string(), z.unknown()) });

/** An API key as it is listed, without its secret. */
export const apiKeyRow = z.object({
  id: wireId,
  name: looseText,
  user_id: looseInteger,
  team_id: looseInteger,
  team_name: looseText,
  permissions: keyPermissions.optional().catch(undefined),
  rights: keyPermissions.optional().catch(undefined),
});

export const apiKeysReply = z.object({ apikeys: z.array(apiKeyRow) });

/** Reply of reading one key: the object itself, or inside a list of one. */
export const apiKeyReply = z.union([
  apiKeyRow,
  z.object({ apikeys: z.tuple([apiKeyRow]) }).transform(({ apikeys }) => apikeys[0]),
]);

/** Reply of making a key: the secret is in it this once. */
export const newApiKeyReply = z.object({
  id: looseInteger,
  key: z.string().min(1),
  permissions: keyPermissions.optional().catch(undefined),
});

export const resetApiKeyReply = z.object({ new_api_key: z.string().min(1) });

/** An SSH key as it is listed. */
export const sshKeyRow = z.object({
  id: wireId,
  key: looseText,
  public_key: looseText,
  created_at: looseMoment,
});

/** Services answer a bare array or wrap it. */
export const sshKeysReply = z.union([
  z.array(sshKeyRow),
  z.object({ ssh_keys: z.array(sshKeyRow) }).transform(({ ssh_keys }) => ssh_keys),
]);

export const newSshKeyReply = z.object({ key: z.object({ id: wireId }) });

/** Environment secrets: names with masked values. */
export const secretsReply = z.object({ secrets: z.record(z.string(), z.unknown()) });
