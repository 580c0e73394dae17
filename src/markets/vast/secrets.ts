import * as z from 'zod';
import type { Secret } from '../../lib/secret.ts';
import type { CallOptions } from '../../market/call-options.ts';
import { type ChangeAnswer, type Requester, sendChange } from './http/call.ts';

/** Environment secrets of the account: they are set in every container that it rents. */
export interface SecretsResource {
  /** Returns the names. The service never returns values. */
  list(options?: CallOptions): Promise<string[]>;
  create(name: string, value: Secret, options?: CallOptions): Promise<ChangeAnswer>;
  update(name: string, value: Secret, options?: CallOptions): Promise<ChangeAnswer>;
  delete(name: string, options?: CallOptions): Promise<ChangeAnswer>;
}

/** Environment secrets: names with masked values. */
export const secretsReply = z.object({ secrets: z.record(z.string(), z.unknown()) });

const SECRETS = { area: 'account', endpointClass: 'account', path: '/api/v0/secrets/' } as const;

/** Returns the environment secrets over one requester. */
export function createSecrets(requester: Requester): SecretsResource {
  return {
    async list(bounds) {
      const { value } = await requester.send({
        ...SECRETS,
        operation: 'list environment secrets',
        effect: 'read',
        method: 'GET',
        reply: secretsReply,
        bounds,
      });
      return Object.keys(value.secrets).sort();
    },
    create: (name, value, bounds) =>
      sendChange(requester, {
        ...SECRETS,
        operation: 'create an environment secret',
        method: 'POST',
        body: { key: name, value: value.reveal() },
        bounds,
      }),
    update: (name, value, bounds) =>
      sendChange(requester, {
        ...SECRETS,
        operation: 'change an environment secret',
        method: 'PUT',
        body: { key: name, value: value.reveal() },
        bounds,
      }),
    delete: (name, bounds) =>
      sendChange(requester, {
        ...SECRETS,
        operation: 'delete an environment secret',
        method: 'DELETE',
        body: { key: name },
        bounds,
      }),
  };
}
