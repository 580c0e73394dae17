import * as z from 'zod';
import type { CallOptions } from '../../market/call-options.ts';
import type { MarketplaceId } from '../../market/ids.ts';
import { type ChangeAnswer, type Requester, sendChange } from './http/call.ts';
import { pathId, toId, toWireId } from './ids.ts';
import { looseMoment, looseText, wireId } from './scalars.ts';

/** A public key registered on the account. */
export interface SshKey {
  readonly id: MarketplaceId;
  readonly publicKey: string;
  /** Epoch milliseconds. */
  readonly createdAt: number | undefined;
}

/** SSH keys of the account, and of one container. A virtual machine accepts only keys registered before renting. */
export interface SshKeysResource {
  list(options?: CallOptions): Promise<SshKey[]>;
  /** Registers a public key and returns its id. */
  create(publicKey: string, options?: CallOptions): Promise<MarketplaceId>;
  update(id: MarketplaceId, publicKey: string, options?: CallOptions): Promise<ChangeAnswer>;
  delete(id: MarketplaceId, options?: CallOptions): Promise<ChangeAnswer>;
  /** Adds a key to a running container. */
  attach(instanceId: MarketplaceId, publicKey: string, options?: CallOptions): Promise<ChangeAnswer>;
  detach(instanceId: MarketplaceId, keyId: MarketplaceId, options?: CallOptions): Promise<ChangeAnswer>;
}

/** An SSH key in a list. */
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

const KEYS = '/api/v0/ssh/';
const ACCOUNT = { area: 'account', endpointClass: 'account' } as const;

/** Creates the SSH key calls over one requester. */
export function createSshKeys(requester: Requester): SshKeysResource {
  return {
    list: (options) => list(requester, options),
    async create(publicKey, bounds) {
      const { value } = await requester.send({
        ...ACCOUNT,
        operation: 'register an SSH key',
        effect: 'write',
        method: 'POST',
        path: KEYS,
        body: { ssh_key: publicKey },
        reply: newSshKeyReply,
        bounds,
      });
      return toId(value.key.id);
    },
    update: async (id, publicKey, bounds) =>
      sendChange(requester, {
        ...ACCOUNT,
        operation: 'change an SSH key',
        method: 'PUT',
        path: `${KEYS}${pathId(id, 'keyId')}/`,
        body: { id: toWireId(id, 'keyId'), ssh_key: publicKey },
        bounds,
      }),
    delete: async (id, bounds) => remove(requester, { path: `${KEYS}${pathId(id, 'keyId')}/`, bounds }),
    attach: async (instanceId, publicKey, bounds) =>
      sendChange(requester, {
        ...ACCOUNT,
        operation: 'add an SSH key to an instance',
        method: 'POST',
        path: `/api/v0/instances/${pathId(instanceId, 'instanceId')}/ssh/`,
        body: { ssh_key: publicKey },
        bounds,
      }),
    detach: async (instanceId, keyId, bounds) =>
      remove(requester, {
        path: `/api/v0/instances/${pathId(instanceId, 'instanceId')}/ssh/${pathId(keyId, 'keyId')}/`,
        bounds,
      }),
  };
}

async function list(requester: Requester, bounds: CallOptions | undefined): Promise<SshKey[]> {
  const { value } = await requester.send({
    ...ACCOUNT,
    operation: 'list SSH keys',
    effect: 'read',
    method: 'GET',
    path: KEYS,
    reply: sshKeysReply,
    bounds,
  });
  return value.map((row) => ({
    id: toId(row.id),
    publicKey: row.key ?? row.public_key ?? '',
    createdAt: row.created_at,
  }));
}

function remove(
  requester: Requester,
  { path, bounds }: { path: string; bounds: CallOptions | undefined },
): Promise<ChangeAnswer> {
  return sendChange(requester, {
    ...ACCOUNT,
    operation: 'remove an SSH key',
    method: 'DELETE',
    path,
    body: {},
    bounds,
  });
}
