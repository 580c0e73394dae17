import { pathId } from '../calls/path-id.ts';
import { Refusal } from '../calls/refusal.ts';
import { BOTH, callerOf, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { readListQuery, selectedColumns } from '../instances/list-query.ts';
import {
  labelCounts,
  listedContracts,
  type StatusFaults,
  shownJson,
  shownRow,
  statusFaults,
  statusOf,
} from '../instances/listing.ts';
import { pageOf } from '../instances/paging.ts';
import { type Json, ownValue } from '../json.ts';
import type { Contract } from '../tables/contracts.ts';
import { contractMicros, creditMicros, ratePerHour, secondOf } from '../world/ledger.ts';
import { endpoint } from './endpoint.ts';

/* Reading instances (specification 4.3 and 4.6), and the lists of the public service. */

/** The caller's contract of that id; undefined where there is none, or it is somebody else's. */
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

/** Columns that the public list computes and does not filter by. */
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
