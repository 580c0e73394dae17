import { assertTermCount, pathId } from '../calls/fields.ts';
import { BOTH, endpoint, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { BULK, bulkIds, noSuchAsk, type Rental, rentalReply, rentOffer } from '../instances/rent.ts';
import { isObject, type Json, type JsonObject, textOf } from '../json.ts';
import { badRequest, Refusal } from '../refusal.ts';
import { columnReader, offerJson, specifiedOffer } from '../supply/offer-row.ts';
import { matching, viewOf } from '../supply/search.ts';
import { readSearch } from '../supply/search-query.ts';
import type { Machine, Offer } from '../tables/market.ts';

/* Searching offers (specification 4.4) and renting them (4.5). */

function search(ctx: RouteContext, filters: JsonObject): Reply {
  const query = readSearch(filters, ctx.settings, ctx.profile);
  const view = viewOf(ctx.world, query, ctx.caller?.user.id);
  if (ctx.profile === 'specification') {
    return json({ offers: matching(query, view).map((offer) => specifiedOffer(offer, view)) });
  }
  const rows = matching(query, view).map((offer) => offerJson(offer, view));
  return { type: 'json-text', status: 200, body: `{"offers":[${rows.join(',')}]}` };
}

/** Reads `{"select_cols": […], "q": {…}}`; the filters may also be at the top level. */
function searchAsks(ctx: RouteContext): Reply {
  const inner = ctx.json.q;
  if (inner !== undefined && inner !== null && !isObject(inner))
    throw badRequest('q must be an object of filters.');
  const filters = isObject(inner) ? inner : ctx.json;
  const columns = ctx.json.select_cols;
  if (!Array.isArray(columns) || columns.includes('*') || columns.length === 0) return search(ctx, filters);
  assertTermCount(columns.length, 'select_cols');
  const readers = (columns as readonly Json[]).map(textOf).map((name) => [name, columnReader(name)] as const);
  const query = readSearch(filters, ctx.settings);
  const view = viewOf(ctx.world, query, ctx.caller?.user.id);
  const row = (offer: Offer): JsonObject =>
    Object.fromEntries(readers.map(([name, read]) => [name, read(offer, view) ?? null]));
  return json({ offers: matching(query, view).map(row) });
}

/** Searches by GET, with the filters in the query as JSON text. */
function searchByQuery(ctx: RouteContext): Reply {
  const text = ctx.query.get('q');
  if (text === null) return search(ctx, ctx.json);
  try {
    const filters = JSON.parse(text) as Json;
    if (isObject(filters)) return search(ctx, filters);
  } catch {
    // Refused below like every other text that is no object.
  }
  throw badRequest('q must be a JSON object of filters.');
}

function rent(ctx: RouteContext): Reply {
  const offerId = pathId(ctx.params.id);
  if (Number.isNaN(offerId)) throw noSuchAsk(ctx.params.id ?? '', false);
  const rental = rentOffer(ctx, offerId, ctx.json);
  const reply = rentalReply(rental);
  return json(ctx.profile === 'public' ? { ...reply, ask_id: offerId } : reply);
}

/** Rents many offers with one body: each is rented or refused on its own. */
function rentBulk(ctx: RouteContext<typeof BULK>): Reply {
  const results = bulkIds(ctx).map((id) => attempt(ctx, id));
  const rented = results.filter((result) => result.success === true);
  return json({
    success: rented.length === results.length,
    results,
    new_contracts: rented.map((result) => result.new_contract ?? null),
    ...(rented.length === results.length
      ? {}
      : { msg: `${results.length - rented.length} offers could not be rented.` }),
  });
}

function attempt(ctx: RouteContext, id: number): Record<string, Json> {
  try {
    return { ask_id: id, ...rentalReply(rentOffer(ctx, id, ctx.json)) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { ask_id: id, success: false, error: error.code, msg: error.message };
  }
}

/** Searches and rents the first available offer. */
function launch(ctx: RouteContext): Reply {
  const filters = isObject(ctx.json.q) ? ctx.json.q : ctx.json;
  const query = readSearch(filters, ctx.settings);
  for (const offer of matching(query, viewOf(ctx.world, query, ctx.caller?.user.id))) {
    const rental = rentIfThere(ctx, offer.id);
    if (rental) return json(rentalReply(rental));
  }
  throw new Refusal(404, 'no_such_ask', 'No offer matches these filters.');
}

function rentIfThere(ctx: RouteContext, offerId: number): Rental | undefined {
  try {
    return rentOffer(ctx, offerId, ctx.json);
  } catch (error) {
    if (error instanceof Refusal && (error.status === 404 || error.status === 410)) return undefined;
    throw error;
  }
}

const searches = { category: 'misc', pause: 'search' } as const;
const rents = { category: 'instance_write', pause: 'rent' } as const;
/** Specification 4.5. */
const writtenRent = {
  profiles: BOTH,
  written: { image: 'text', disk: 'number', onstart: 'text' },
} as const;

export const offerRoutes: readonly Route[] = [
  endpoint('POST /api/v0/bundles', { ...searches, profiles: BOTH }, (ctx) => search(ctx, ctx.json)),
  endpoint('GET /api/v0/bundles', searches, searchByQuery),
  endpoint('PUT /api/v0/search/asks', searches, searchAsks),
  endpoint('GET /api/v0/search/asks', searches, searchByQuery),
  endpoint('PUT /api/v0/asks/:id', { ...rents, ...writtenRent }, rent),
  endpoint('POST /api/v0/asks/:id', { ...rents, ...writtenRent }, rent),
  endpoint('POST /api/v0/asks/bulk', { ...rents, body: BULK }, rentBulk),
  endpoint('PUT /api/v0/launch_instance', { category: 'misc', pause: 'rent' }, launch),
];

/* Market queries that any caller may make, and the lists of hosts and accounts that public clients read. */

/** Returns the GPU names, which clients request at start-up without a key and without a timeout. */
function gpuNames(ctx: RouteContext): Reply {
  const names = new Set(
    Object.values(ctx.world.tables.offers).map((offer) => String(offer.columns.gpu_name)),
  );
  return json({ gpu_names: [...names].sort() });
}

/** Returns an empty list: a renter hosts no machines. */
const noMachines = (): Reply => json({ success: true, machines: [] });

/** Returns the known fields of any machine: a bare array, which public clients tabulate. */
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
