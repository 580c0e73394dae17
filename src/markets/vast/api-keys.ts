import * as z from 'zod';
import { Secret } from '../../lib/secret.ts';
import type { CallOptions } from '../../market/call-options.ts';
import type { MarketplaceId } from '../../market/ids.ts';
import { type ChangeAnswer, type Requester, sendChange } from './http/call.ts';
import { pathId, toId } from './ids.ts';
import { looseInteger, looseText, wireId } from './scalars.ts';

/** Permissions of a key: `{api: {<category>: {<constraints>}}}` (specification 5). */
export interface KeyPermissions {
  readonly api: Readonly<Record<string, unknown>>;
}

/** A key without its secret. */
export interface ApiKey {
  readonly id: MarketplaceId;
  readonly name: string | undefined;
  readonly userId: MarketplaceId | undefined;
  readonly teamId: MarketplaceId | undefined;
  readonly teamName: string | undefined;
  /** Undefined: full access, or not reported. */
  readonly permissions: KeyPermissions | undefined;
}

/** A new key. Its secret is only shown in this reply. */
export interface NewApiKey {
  readonly id: MarketplaceId | undefined;
  readonly key: Secret;
  readonly permissions: KeyPermissions | undefined;
}

/** Settings of a new key. */
export interface NewKeyRequest {
  readonly name?: string;
  readonly permissions: KeyPermissions;
  /** Values for the wildcards of the permissions. */
  readonly keyParams?: string;
}

/** API keys of the account (specification 5). */
export interface ApiKeysResource {
  list(options?: CallOptions): Promise<ApiKey[]>;
  get(id: MarketplaceId, options?: CallOptions): Promise<ApiKey>;
  create(request: NewKeyRequest, options?: CallOptions): Promise<NewApiKey>;
  delete(id: MarketplaceId, options?: CallOptions): Promise<ChangeAnswer>;
  /** Replaces the key in use; the old one stops working. */
  reset(options?: CallOptions): Promise<Secret>;
}

/** Permissions of a scoped key (specification 5): named categories, each with constraints or empty. */
export const keyPermissions = z.looseObject({ api: z.record(z.string(), z.unknown()) });

/** An API key in a list, without its secret. */
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

/** Reply of reading one key: the object itself, or a list with one entry. */
export const apiKeyReply = z.union([
  apiKeyRow,
  z.object({ apikeys: z.tuple([apiKeyRow]) }).transform(({ apikeys }) => apikeys[0]),
]);

/** Reply of creating a key; the only one with the secret. */
export const newApiKeyReply = z.object({
  id: looseInteger,
  key: z.string().min(1),
  permissions: keyPermissions.optional().catch(undefined),
});

export const resetApiKeyReply = z.object({ new_api_key: z.string().min(1) });

const KEYS = '/api/v0/auth/apikeys/';
const ACCOUNT = { area: 'account', endpointClass: 'account' } as const;
const READ = { ...ACCOUNT, effect: 'read', method: 'GET' } as const;

/** Creates the API key calls over one requester. */
export function createApiKeys(requester: Requester): ApiKeysResource {
  return {
    async list(bounds) {
      const call = { ...READ, operation: 'list API keys', path: KEYS, reply: apiKeysReply, bounds };
      return (await requester.send(call)).value.apikeys.map(toApiKey);
    },
    async get(id, bounds) {
      const path = `${KEYS}${pathId(id, 'keyId')}/`;
      const { value } = await requester.send({
        ...READ,
        operation: 'read an API key',
        path,
        reply: apiKeyReply,
        bounds,
      });
      return toApiKey(value);
    },
    create: (request, options) => createKey(requester, request, options),
    delete: async (id, bounds) =>
      sendChange(requester, {
        ...ACCOUNT,
        operation: 'delete an API key',
        method: 'DELETE',
        path: `${KEYS}${pathId(id, 'keyId')}/`,
        body: {},
        bounds,
      }),
    reset: (options) => resetKey(requester, options),
  };
}

async function createKey(
  requester: Requester,
  request: NewKeyRequest,
  bounds: CallOptions | undefined,
): Promise<NewApiKey> {
  const { value } = await requester.send({
    ...ACCOUNT,
    operation: 'create an API key',
    effect: 'write',
    method: 'POST',
    path: KEYS,
    body: { name: request.name, permissions: request.permissions, key_params: request.keyParams },
    reply: newApiKeyReply,
    bounds,
  });
  return { id: toId(value.id), key: new Secret(value.key), permissions: value.permissions };
}

async function resetKey(requester: Requester, bounds: CallOptions | undefined): Promise<Secret> {
  const { value } = await requester.send({
    ...ACCOUNT,
    operation: 'reset the API key',
    effect: 'write',
    method: 'PUT',
    path: '/api/v0/commands/reset_apikey/',
    body: { client_id: 'me' },
    reply: resetApiKeyReply,
    bounds,
  });
  return new Secret(value.new_api_key);
}

function toApiKey(row: z.infer<typeof apiKeyRow>): ApiKey {
  return {
    id: toId(row.id),
    name: row.name,
    userId: toId(row.user_id),
    teamId: toId(row.team_id),
    teamName: row.team_name,
    permissions: row.permissions ?? row.rights,
  };
}
