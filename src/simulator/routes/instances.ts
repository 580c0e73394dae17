import { integer, list, pathId, readField, text } from '../calls/fields.ts';
import { BOTH, callerOf, endpoint, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import {
  endContract,
  rebootContract,
  recycleContract,
  startContract,
  stopContract,
} from '../instances/contract-state.ts';
import {
  labelCounts,
  listedContracts,
  pageOf,
  readListQuery,
  type StatusFaults,
  selectedColumns,
  shownJson,
  shownRow,
  statusFaults,
  statusOf,
} from '../instances/listing.ts';
import { type Json, ownValue } from '../json.ts';
import { badRequest, Refusal } from '../refusal.ts';
import type { Contract } from '../tables/contracts.ts';
import { contractMicros, creditMicros, ratePerHour, secondOf } from '../world/ledger.ts';

/* Reading instances (specification 4.3 and 4.6), and the lists of the public service. */

/** Returns the caller's contract with that id; undefined if it does not exist, or belongs to another account. */
export function ownContract(ctx: RouteContext, id: number): Contract | undefined {
  const contract = ctx.world.tables.contracts[id];
  return contract?.userId === callerOf(ctx).user.id ? contract : undefined;
}

function listAll(ctx: RouteContext): Reply {
  if (ctx.settings.lists.v0Gone && ctx.profile === 'public') {
    throw new Refusal(410, 'gone', 'This list has ended; use GET /api/v1/instances/.');
  }
  const contracts = listedContracts(ctx);
  const faults = statusFaults(ctx);
  const rows = contracts.map((contract) => shownJson(ctx, contract, faults));
  const success = ctx.profile === 'public' ? '"success":true,' : '';
  const body = `{${success}"instances_found":${rows.length},"instances":[${rows.join(',')}]}`;
  return { type: 'json-text', status: 200, body };
}

/** Columns that the public list computes and cannot filter by. */
const COMPUTED: ReadonlySet<string> = new Set([
  'dph_total',
  'num_gpus',
  'duration',
  'uptime_mins',
  'status_msg',
]);

/** Columns that can be read without rendering the row. */
const LIGHT: Readonly<Record<string, (ctx: RouteContext, contract: Contract, faults: StatusFaults) => Json>> =
  {
    id: (_ctx, contract) => contract.id,
    machine_id: (_ctx, contract) => contract.machineId,
    host_id: (_ctx, contract) => contract.hostId,
    label: (_ctx, contract) => contract.label,
    actual_status: statusOf,
    intended_status: (_ctx, contract) => contract.intendedStatus,
    start_date: (_ctx, contract) => secondOf(contract.createdAt),
    gpu_name: (ctx, contract) => offerColumn(ctx, contract, 'gpu_name'),
    num_gpus: (ctx, contract) => offerColumn(ctx, contract, 'num_gpus'),
    verification: (ctx, contract) => offerColumn(ctx, contract, 'verification'),
  };

const offerColumn = (ctx: RouteContext, contract: Contract, name: string): Json =>
  ctx.world.tables.offers[contract.offerId]?.columns[name] ?? null;

function listPage(ctx: RouteContext): Reply {
  const query = readListQuery(ctx.query, ctx.settings.lists, COMPUTED);
  const contracts = listedContracts(ctx);
  const faults = statusFaults(ctx);
  const read = (contract: Contract, column: string): Json | undefined =>
    ownValue(LIGHT, column)?.(ctx, contract, faults) ?? ownValue(shownRow(ctx, contract, faults), column);
  const page = pageOf(contracts, query, read);
  const rows = page.rows.map((contract) =>
    query.columns
      ? JSON.stringify(selectedColumns(shownRow(ctx, contract, faults), query.columns))
      : shownJson(ctx, contract, faults),
  );
  const rest = JSON.stringify({
    instances_found: page.found,
    total_instances: contracts.length,
    label_counts: labelCounts(contracts),
    next_token: page.nextToken,
  });
  return {
    type: 'json-text',
    status: 200,
    body: `{"success":true,"instances":[${rows.join(',')}],${rest.slice(1)}`,
  };
}

function filterValues(ctx: RouteContext): Reply {
  const faults = statusFaults(ctx);
  const filters = listedContracts(ctx).map((contract) => ({
    actual_status: statusOf(ctx, contract, faults),
    verification: offerColumn(ctx, contract, 'verification'),
    gpu_name: offerColumn(ctx, contract, 'gpu_name'),
  }));
  return json({ filters });
}

function readOne(ctx: RouteContext): Reply {
  const contract = ownContract(ctx, pathId(ctx.params.id));
  if (contract) return json({ instances: shownRow(ctx, contract, statusFaults(ctx, contract)) });
  if (ctx.settings.market.absentRead === '404') {
    throw new Refusal(404, 'no_such_instance', `Instance ${ctx.params.id} not found.`);
  }
  return json({ instances: null });
}

function balance(ctx: RouteContext): Reply {
  const contract = ownContract(ctx, pathId(ctx.params.id));
  if (!contract) throw new Refusal(404, 'no_such_instance', `Instance ${ctx.params.id} not found.`);
  return json({
    success: true,
    instance_id: contract.id,
    balance: contract.prepaidMicros / 1e6,
    charged: contractMicros(contract, ctx.now) / 1e6,
    dph_total: ratePerHour(contract) / 1e6,
    credit: creditMicros(ctx.world, callerOf(ctx).user, ctx.now) / 1e6,
  });
}

const lists = { category: 'instance_read', pause: 'list' } as const;

export const instanceReadRoutes: readonly Route[] = [
  endpoint('GET /api/v0/instances', { ...lists, profiles: BOTH, written: {} }, listAll),
  endpoint('GET /api/v1/instances', lists, listPage),
  endpoint('GET /api/v0/instances/filters', lists, filterValues),
  endpoint('GET /api/v0/instances/count', lists, (ctx) =>
    json({ success: true, count: listedContracts(ctx).length }),
  ),
  endpoint(
    'GET /api/v0/instances/:id',
    { category: 'instance_read', pause: 'get', profiles: BOTH, written: {} },
    readOne,
  ),
  endpoint('GET /api/v0/instances/balance/:id', { category: 'instance_read' }, balance),
];

/* Stop, start, label, reboot, recycle and destroy (specification 4.6 and 4.7). */

const SUCCESS = json({ success: true });

/** Returns the caller's contract. Throws 404 `no_such_instance`. */
function requireContract(ctx: RouteContext, id: number): Contract {
  const contract = ownContract(ctx, id);
  if (!contract)
    throw new Refusal(404, 'no_such_instance', `Instance ${Number.isNaN(id) ? 'id' : id} not found.`);
  return contract;
}

/** Returns the caller's contract with the id of the path. Throws a refusal. */
export const contractOfPath = (ctx: RouteContext): Contract => requireContract(ctx, pathId(ctx.params.id));

const CHANGE = { state: text, label: text };

/** Stops, starts or labels: one path, and the key of the body selects. */
function change(ctx: RouteContext<typeof CHANGE>): Reply {
  const contract = contractOfPath(ctx);
  const label = ctx.profile === 'public' ? newLabel(ctx) : undefined;
  const state = ctx.body.state;
  if (state === undefined && label === undefined)
    throw badRequest(
      ctx.profile === 'public'
        ? 'The body must contain state ("running" or "stopped") or label.'
        : 'state must be "stopped".',
    );
  if (state !== undefined) setState(ctx, contract, state);
  if (label !== undefined) relabel(ctx, requireContract(ctx, contract.id), label);
  return SUCCESS;
}

/** Returns the label of the body; undefined if it has none. Throws before any change if it is too long. */
function newLabel(ctx: RouteContext<typeof CHANGE>): string | undefined {
  const label = ctx.body.label;
  if (label !== undefined && label.length > ctx.settings.limits.label) {
    throw new Refusal(
      400,
      'label_too_long',
      `label has ${label.length} characters; ${ctx.settings.limits.label} are allowed.`,
    );
  }
  return label;
}

function relabel(ctx: RouteContext, contract: Contract, label: string): void {
  const kept = ctx.settings.market.keepLabels && label !== '' ? label : null;
  ctx.write.put('contracts', { ...contract, label: kept });
}

/** Stops or starts. The specification has no start request: only the public profile accepts `running`. */
function setState(ctx: RouteContext, contract: Contract, state: string): void {
  if (state === 'stopped') {
    ctx.write.put('contracts', stopContract(contract, ctx.now, ctx.settings));
  } else if (state === 'running' && ctx.profile === 'public') {
    start(ctx, contract);
  } else {
    throw badRequest(
      ctx.profile === 'public' ? 'state must be "running" or "stopped".' : 'state must be "stopped".',
    );
  }
}

function start(ctx: RouteContext, contract: Contract): void {
  if (creditMicros(ctx.world, callerOf(ctx).user, ctx.now) <= 0) {
    throw new Refusal(400, 'missing_billing', 'Your credit is used up. Add credit to start this instance.');
  }
  if (
    contract.intendedStatus === 'running' &&
    contract.blockedBy === null &&
    contract.actualStatus !== 'exited'
  )
    return;
  if (ctx.fault('cannot-start', { instance: contract.id, host: contract.hostId })) {
    ctx.write.put('contracts', { ...contract, intendedStatus: 'running', blockedBy: 'cannot-start' });
    return;
  }
  ctx.write.put('contracts', startContract(contract, ctx.now, ctx.settings));
}

const CHANGES = { ids: list, state: text };

function changeMany(ctx: RouteContext<typeof CHANGES>): Reply {
  const ids = idsOf(ctx.body, 'ids');
  const state = ctx.body.state;
  if (state === undefined) throw badRequest('state must be "running" or "stopped".');
  for (const contract of ids.map((id) => requireContract(ctx, id))) setState(ctx, contract, state);
  return SUCCESS;
}

/** Returns each id once. */
function idsOf<Name extends string>(body: Readonly<Record<Name, readonly Json[] | undefined>>, name: Name) {
  const ids = body[name] ?? [];
  if (ids.length === 0) throw badRequest(`${name} must name at least one instance.`);
  return [...new Set(ids.map((id) => readField(integer, { [name]: id }, name) ?? Number.NaN))];
}

/** Ends the contract, frees its offer and its restricted key. */
export function destroy(ctx: RouteContext, contract: Contract): void {
  if (ctx.fault('delete-ignored', { instance: contract.id, host: contract.hostId })) return;
  const user = ctx.world.tables.users[contract.userId];
  const ended = endContract(contract, ctx.now);
  ctx.write.remove('contracts', contract.id);
  ctx.write.put('endedContracts', ended);
  if (user) ctx.write.put('users', { ...user, settledMicros: user.settledMicros + ended.dollarsMicros });
  const offer = ctx.world.tables.offers[contract.offerId];
  if (offer?.rentedBy === contract.id) ctx.write.put('offers', { ...offer, rentedBy: null });
  const keys = Object.values(ctx.world.tables.apiKeys).filter((key) => key.instanceId === contract.id);
  for (const key of keys) ctx.write.remove('apiKeys', key.id);
}

function destroyOne(ctx: RouteContext): Reply {
  destroy(ctx, contractOfPath(ctx));
  return ctx.profile === 'public'
    ? json({ success: true, msg: `destroying instance ${ctx.params.id}.` })
    : SUCCESS;
}

const DESTROYED = { instance_ids: list };

function destroyMany(ctx: RouteContext<typeof DESTROYED>): Reply {
  const contracts = idsOf(ctx.body, 'instance_ids').map((id) => requireContract(ctx, id));
  for (const contract of contracts) destroy(ctx, contract);
  return json({ success: true, msg: `destroying ${contracts.length} instances.` });
}

function reboot(ctx: RouteContext): Reply {
  const contract = contractOfPath(ctx);
  if (contract.intendedStatus !== 'running' || contract.blockedBy !== null) {
    return json({ success: false, error: 'not_running', msg: `Instance ${contract.id} does not run.` });
  }
  ctx.write.put('contracts', rebootContract(contract, ctx.now, ctx.settings));
  return SUCCESS;
}

function recycle(ctx: RouteContext): Reply {
  const contract = contractOfPath(ctx);
  const machine = ctx.world.tables.machines[contract.machineId];
  if (!machine)
    throw new Refusal(404, 'no_such_instance', `Instance ${contract.id} has no machine any more.`);
  const options = { now: ctx.now, settings: ctx.settings, seed: ctx.world.seed, machine };
  ctx.write.put('contracts', recycleContract(contract, options));
  return SUCCESS;
}

const changes = { category: 'instance_write', pause: 'change' } as const;
const destroys = { category: 'instance_write', pause: 'destroy' } as const;

export const instanceChangeRoutes: readonly Route[] = [
  endpoint(
    'PUT /api/v0/instances/:id',
    { ...changes, profiles: BOTH, written: { state: 'text' }, body: CHANGE },
    change,
  ),
  endpoint('PUT /api/v0/instances', { ...changes, body: CHANGES }, changeMany),
  endpoint('DELETE /api/v0/instances/:id', { ...destroys, profiles: BOTH, written: {} }, destroyOne),
  endpoint('DELETE /api/v0/instances', { ...destroys, body: DESTROYED }, destroyMany),
  endpoint('PUT /api/v0/instances/reboot/:id', { category: 'instance_write' }, reboot),
  endpoint('PUT /api/v0/instances/recycle/:id', { category: 'instance_write' }, recycle),
];
