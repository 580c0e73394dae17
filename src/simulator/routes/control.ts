import type { Clock } from '../../lib/clock.ts';
import { pathId } from '../calls/path-id.ts';
import { badRequest, Refusal } from '../calls/refusal.ts';
import { numberField, stringField } from '../calls/request-body.ts';
import { BOTH, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { catchUp, stillBehind } from '../catch-up.ts';
import { faultRow, isEndpoint, readFault, shareOf } from '../faults/fault-book.ts';
import { FAULTS, faultEntry, isWorldFault } from '../faults/faults.ts';
import { applyWorldFault, endOutage } from '../faults/world-faults.ts';
import type { SimulatedTime } from '../simulated-time.ts';
import type { ActiveFault } from '../tables/faults.ts';
import { ledger } from '../world/ledger.ts';
import { readWorld, worldJson } from '../world/world-document.ts';
import type { WorldStore } from '../world/world-store.ts';
import { tfaControlRoutes } from './tfa-control.ts';

/* The hand behind the curtain: time, ledger, faults and the world itself. Served only with --control. */

/** Dates beyond have no four-digit year, which HTTP demands. */
const LAST_TIME = Date.UTC(9999, 11, 31);

const SUCCESS = json({ success: true });

/** What the control endpoints need beside the context of a call. */
export interface ControlParts {
  readonly store: WorldStore;
  readonly time: SimulatedTime;
  /** Tells how long a push of the clock takes. */
  readonly clock: Clock;
  /** The endpoints that a fault may name. */
  readonly routes: readonly Route[];
}

/** The endpoints under `/sim/`. */
export function controlRoutes(parts: ControlParts): readonly Route[] {
  const control = { category: null, access: 'open', profiles: BOTH } as const;
  return [
    { ...control, method: 'POST', path: '/sim/clock', handler: (ctx) => pushClock(ctx, parts) },
    { ...control, method: 'GET', path: '/sim/clock', handler: (ctx) => json({ now: ctx.now / 1000 }) },
    { ...control, method: 'GET', path: '/sim/ledger', handler: showLedger },
    { ...control, method: 'GET', path: '/sim/faults', handler: listFaults },
    { ...control, method: 'POST', path: '/sim/faults', handler: (ctx) => setFault(ctx, parts) },
    {
      ...control,
      method: 'DELETE',
      path: '/sim/faults/:id',
      handler: (ctx) => deleteFault(ctx, parts.store),
    },
    { ...control, method: 'DELETE', path: '/sim/faults', handler: (ctx) => deleteFaults(ctx, parts.store) },
    { ...control, method: 'GET', path: '/sim/world', handler: showWorld },
    { ...control, method: 'PUT', path: '/sim/world', handler: (ctx) => putWorld(ctx, parts.store) },
    ...tfaControlRoutes,
  ];
}

function pushClock(ctx: RouteContext, parts: ControlParts): Reply {
  const seconds = numberField(ctx.body, 'advanceSeconds');
  if (seconds === undefined || seconds < 0)
    throw badRequest('advanceSeconds must be a number of seconds, 0 or more.');
  if (ctx.now + seconds * 1000 > LAST_TIME) {
    throw badRequest('advanceSeconds: simulated time ends with the year 9999.');
  }
  parts.time.advance(seconds * 1000);
  if (!catchUp(parts)) throw stillBehind(parts);
  return json({ now: ctx.world.now / 1000 });
}

function showLedger(ctx: RouteContext): Reply {
  const { now, dollars, billing, contracts } = ledger(ctx.world);
  return json({ now, dollars, billing, contracts: contracts.map((row) => ({ ...row })) });
}

function listFaults(ctx: RouteContext): Reply {
  const faults = Object.values(ctx.world.tables.faults).map(faultRow);
  const catalogue = Object.keys(FAULTS).map((name) => ({ name, ...faultEntry(name) }));
  return json({ faults, catalogue });
}

function setFault(ctx: RouteContext, { store, routes }: ControlParts): Reply {
  const endpoint = stringField(ctx.body, 'endpoint');
  if (endpoint && !isEndpoint(endpoint, routes)) {
    throw badRequest(
      `endpoint: no call is named "${endpoint}"; give a class such as list or rent, or a method and path.`,
    );
  }
  const fault = readFault(ctx.world, ctx.write.nextId('fault'), ctx.body);
  ctx.write.put('faults', carriedOut(ctx, store, fault));
  return json({ id: fault.id });
}

/** A fault of the world happens at once; every other waits for its call. */
function carriedOut(ctx: RouteContext, store: WorldStore, fault: ActiveFault): ActiveFault {
  const { name } = fault;
  if (!isWorldFault(name)) return fault;
  const after = applyWorldFault(ctx.world, { fault: { ...fault, name }, share: shareOf(ctx.body) });
  store.replace({ ...after.world, nextEventAt: 0 });
  return after.fault;
}

function deleteFault(ctx: RouteContext, store: WorldStore): Reply {
  const id = pathId(ctx.params.id);
  const fault = ctx.world.tables.faults[id];
  if (!fault) throw new Refusal(404, 'not_found', `There is no fault ${ctx.params.id} in force.`);
  endFault(ctx, store, fault);
  return SUCCESS;
}

/** Takes a fault away; an outage that it caused ends. */
function endFault(ctx: RouteContext, store: WorldStore, fault: ActiveFault): void {
  store.replace({ ...endOutage(ctx.world, fault), nextEventAt: 0 });
  ctx.write.remove('faults', fault.id);
}

function deleteFaults(ctx: RouteContext, store: WorldStore): Reply {
  for (const fault of Object.values(ctx.world.tables.faults)) endFault(ctx, store, fault);
  return SUCCESS;
}

function showWorld(ctx: RouteContext): Reply {
  return { type: 'json-text', status: 200, body: worldJson(ctx.world) };
}

/** Tables and settings of the document take the place of those of the world; what it leaves out stays. */
function putWorld(ctx: RouteContext, store: WorldStore): Reply {
  store.replace(readWorld(ctx.world, ctx.body));
  return SUCCESS;
}
