import { type ChangeAnswer, pathId, sendChange } from './http/change.ts';
import type { Requester } from './http/request.ts';
import type { CallOptions } from './offers/offers.ts';
import { newSshKeyReply, sshKeysReply } from './wire/account.ts';

/** A public key registered on the account. */
export interface SshKey {
  readonly id: number;
  readonly publicKey: string;
  /** Epoch milliseconds. */
  readonly createdAt: number | undefined;
}

/** SSH keys of the account, and of one container. A virtual machine takes only those registered before renting. */
export interface SshKeysResource {
  list(options?: CallOptions): Promise<SshKey[]>;
  /** Registers a public key and answers its id. */
  create(publicKey: string, options?: CallOptions): Promise<number>;
  update(id: number, publicKey: string, options?: CallOptions): Promise<ChangeAnswer>;
  delete(id: number, options?: CallOptions): Promise<ChangeAnswer>;
  /** Adds a key to a running container. */
  attach(instanceId: number, publicKey: string, options?: CallOptions): Promise<ChangeAnswer>;
  detach(instanceId: number, keyId: number, options?: CallOptions): Promise<ChangeAnswer>;
}

const KEYS = '/api/v0/ssh/';
const ACCOUNT = { area: 'account', endpointClass: 'account' } as const;

/** SSH keys over one requester. */
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
      return value.key.id;
    },
    update: async (id, publicKey, bounds) =>
      sendChange(requester, {
        ...ACCOUNT,
        operation: 'change an SSH key',
        method: 'PUT',
        path: `${KEYS}${pathId(id)}/`,
        body: { id, ssh_key: publicKey },
        bounds,
      }),
    delete: async (id, bounds) => remove(requester, { path: `${KEYS}${pathId(id)}/`, bounds }),
    attach: async (instanceId, publicKey, bounds) =>
      sendChange(requester, {
        ...ACCOUNT,
        operation: 'add an SSH key to an instance',
        method: 'POST',
        path: `/api/v0/instances/${pathId(instanceId)}/ssh/`,
        body: { ssh_key: publicKey },
        bounds,
      }),
    detach: async (instanceId, keyId, bounds) =>
      remove(requester, { path: `/api/v0/instances/${pathId(instanceId)}/ssh/${pathId(keyId)}/`, bounds }),
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
    id: row.id,
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
