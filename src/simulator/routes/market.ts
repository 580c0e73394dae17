import { pathId } from '../calls/path-id.ts';
import { json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import type { JsonObject } from '../json.ts';
import type { Machine } from '../tables/machines.ts';
import type { Offer } from '../tables/offers.ts';
import { endpoint } from './endpoint.ts';

/* What anybody may ask of the market, and the lists of hosts and accounts that public clients read. */

/** Asked at start-up without a key and without a timeout. */
function gpuNames(ctx: RouteContext): Reply {
  const names = new Set(
    Object.values(ctx.world.tables.offers).map((offer) => String(offer.columns.gpu_name)),
  );
  return json({ gpu_names: [...names].sort() });
}

/** Nobody hosts here: a renter has no machines. */
const noMachines = (): Reply => json({ success: true, machines: [] });

/** What is known of any machine: a bare array, which public clients tabulate. */
function machine(ctx: RouteContext): Reply {
  const found = ctx.world.tables.machines[pathId(ctx.params.id)];
  return json(found ? [machineRow(ctx, found)] : []);
}

function machineRow(ctx: RouteContext, row: Machine): JsonObject {
  const offers: readonly Offer[] = Object.values(ctx.world.tables.offers).filter(
    (offer) => offer.machineId === row.id,
  );
  const columns = offers[0]?.columns ?? {};
  return {
    id: row.id,
    machine_id: row.id,
    host_id: row.hostId,
    public_ipaddr: row.publicAddress,
    reliability2: row.reliability,
    listed: row.listed,
    num_gpus: offers.reduce((sum, offer) => sum + Number(offer.columns.num_gpus ?? 0), 0),
    gpu_name: columns.gpu_name ?? null,
    geolocation: columns.geolocation ?? null,
    verification: columns.verification ?? null,
  };
}

const list =
  (name: string): (() => Reply) =>
  () =>
    json({ [name]: [] });
const empty = (): Reply => json([]);

export const marketRoutes: readonly Route[] = [
  endpoint('GET /api/v0/gpu_names/unique', { category: null, access: 'open' }, gpuNames),
  endpoint('GET /api/v0/gpu_types', { category: null, access: 'open' }, gpuNames),
  endpoint('GET /api/v0/machines', { category: 'machine_read' }, noMachines),
  endpoint('GET /api/v0/machines/:id', { category: 'machine_read' }, machine),
  endpoint('GET /api/v0/benchmarks', { category: 'misc' }, list('results')),
  endpoint('GET /api/v0/audit_logs', { category: 'misc' }, empty),
  endpoint('GET /api/v0/commands/schedule_job', { category: 'instance_read' }, empty),
  endpoint('GET /api/v0/users/cloud_integrations', { category: 'user_read' }, empty),
  endpoint('GET /api/v0/users/me/ipaddrs', { category: 'user_read' }, list('results')),
  endpoint('GET /api/v0/subaccounts', { category: 'user_read' }, list('users')),
];
