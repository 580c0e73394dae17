import { Refusal } from '../calls/refusal.ts';
import { isObject } from '../calls/request-body.ts';
import { json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Contract } from '../tables/contracts.ts';
import { endpoint } from './endpoint.ts';
import { contractOfPath } from './instances-change.ts';
import { knownKey, readPublicKey } from './ssh-keys.ts';

/* Keys of one instance: a container can get one after it was rented (specification 4.5). */

function keysOf(contract: Contract): readonly JsonObject[] {
  const keys = contract.notes.sshKeys;
  return Array.isArray(keys) ? (keys as readonly Json[]).filter(isObject) : [];
}

function keep(ctx: RouteContext, contract: Contract, sshKeys: readonly JsonObject[]): void {
  ctx.write.put('contracts', { ...contract, notes: { ...contract.notes, sshKeys } });
}

function list(ctx: RouteContext): Reply {
  return json({ success: true, ssh_keys: keysOf(contractOfPath(ctx)) });
}

/** A key of the account keeps its id there; any other gets one for this instance. */
function attach(ctx: RouteContext): Reply {
  const contract = contractOfPath(ctx);
  const text = readPublicKey(ctx);
  const attached = keysOf(contract).find(({ key }) => key === text);
  const row = attached ?? { id: knownKey(ctx, text)?.id ?? ctx.write.nextId('sshKey'), key: text };
  if (!attached) keep(ctx, contract, [...keysOf(contract), row]);
  return json({ success: true, key: row, msg: 'SSH key added to instance.' });
}

function detach(ctx: RouteContext): Reply {
  const contract = contractOfPath(ctx);
  const rest = keysOf(contract).filter(({ id }) => String(id) !== ctx.params.key);
  if (rest.length === keysOf(contract).length) {
    throw new Refusal(400, 'no_ssh_key', `Instance ${contract.id} has no SSH key ${ctx.params.key}.`);
  }
  keep(ctx, contract, rest);
  return json({ success: true });
}

const WRITE = { category: 'instance_write' } as const;

export const instanceSshRoutes: readonly Route[] = [
  endpoint('GET /api/v0/instances/:id/ssh', { category: 'instance_read' }, list),
  endpoint('POST /api/v0/instances/:id/ssh', WRITE, attach),
  endpoint('PUT /api/v0/instances/:id/ssh', WRITE, attach),
  endpoint('DELETE /api/v0/instances/:id/ssh/:key', WRITE, detach),
];
