import type { Random } from '../../lib/random.ts';
import { between, type FieldValues, fieldsOf, integer, number, required, text } from '../calls/fields.ts';
import type { Route } from '../calls/route.ts';
import {
  type FaultEntry,
  type FaultName,
  type FaultTarget,
  faultEntry,
  type WorldFaultName,
} from '../fault-catalogue.ts';
import type { Json, JsonObject } from '../json.ts';
import { badRequest } from '../refusal.ts';
import type { Contract } from '../tables/contracts.ts';
import type { ActiveFault } from '../tables/faults.ts';
import type { Machine } from '../tables/market.ts';
import { chance } from '../world/chance.ts';
import type { World } from '../world/world.ts';
import type { WorldStore } from '../world/world-store.ts';
import { readWrongField } from './wrong-field.ts';

/* Faults in force, and the decision whether a fault affects a call. They are rows of the world. */

/** A call, for the matching of faults. */
export interface FaultScope {
  readonly route: Route;
  /** Path as sent, without query. */
  readonly path: string;
}

/** The call that a fault may affect, and its subject. */
interface FaultedCall {
  readonly scope: FaultScope;
  readonly target: FaultTarget | undefined;
  /** Returns true if the fault would change anything; otherwise it is kept for another call. */
  readonly changes?: (fault: ActiveFault) => boolean;
}

/**
 * Returns and uses up the fault of that name that applies. If `target` is undefined the caller checks instance and
 * host itself.
 */
export function takeFault(
  source: { store: WorldStore; random: Random },
  name: FaultName,
  call: FaultedCall,
): ActiveFault | undefined {
  const world = source.store.current();
  for (const fault of Object.values(world.tables.faults)) {
    if (fault.name !== name || !concerns(fault, call, world.now)) continue;
    if (call.changes?.(fault) === false) continue;
    if (fault.probability !== null && source.random.next() >= fault.probability) continue;
    useUp(source.store, fault);
    return fault;
  }
  return undefined;
}

function concerns(fault: ActiveFault, call: FaultedCall, now: number): boolean {
  if (fault.expiresAt !== null && fault.expiresAt <= now) return false;
  if (fault.endpoint !== null && !matchesEndpoint(fault.endpoint, call.scope)) return false;
  if (!call.target) return true;
  if (fault.instance !== null && fault.instance !== call.target.instance) return false;
  return fault.host === null || fault.host === call.target.host;
}

function useUp(store: WorldStore, fault: ActiveFault): void {
  if (fault.remaining === null) return;
  if (fault.remaining <= 1) store.remove('faults', fault.id);
  else store.put('faults', { ...fault, remaining: fault.remaining - 1 });
}

/**
 * Returns true if the endpoint matches. It is named by its class (`rent`, `list`, `get`, `search` …), by its method in
 * capitals (`GET`), by method and path template (`PUT /api/v0/asks/:id`, also with `{id}`, without prefix or with a
 * final slash), by path alone, or by the path as sent.
 */
export function matchesEndpoint(endpoint: string, scope: FaultScope): boolean {
  const [first = '', second] = endpoint.trim().split(/\s+/);
  if (second === undefined && first === scope.route.pause) return true;
  const path = second ?? first;
  if (second !== undefined && first.toUpperCase() !== scope.route.method) return false;
  if (second === undefined && !first.startsWith('/')) return first === scope.route.method;
  return plain(path) === plain(scope.route.path) || bare(path) === bare(scope.path);
}

/** Returns true if calls of that name exist: any other fault would never apply. */
export function isEndpoint(endpoint: string, routes: readonly Route[]): boolean {
  const path = endpoint.trim().split(/\s+/).at(-1) ?? '';
  return routes.some((route) =>
    matchesEndpoint(endpoint, { route, path: fits(bare(path), route) ? path : route.path }),
  );
}

/** Returns true if a sent path matches the route. */
function fits(path: string, route: Route): boolean {
  const [sent, pattern] = [path.split('/'), bare(route.path).split('/')];
  return (
    sent.length === pattern.length &&
    pattern.every((part, index) => part.startsWith(':') || part === sent[index])
  );
}

const bare = (path: string): string =>
  path
    .replace(/^\/+/, '/')
    .replace(/^\/api\/v0(?=\/)/, '')
    .replace(/\/+$/, '');
const plain = (path: string): string => bare(path).replace(/\{[^}]*\}|:[A-Za-z_]+/g, ':');

/**
 * Reads `{"name","endpoint"?,"count"?,"probability"?,"seconds"?,"instance"?,"host"?}`, and
 * `{"field"?,"change"?,"value"?}` of a `wrong-field`. Throws a 400 `bad_request` Refusal for an unknown name and for an
 * invalid field.
 */
export function readFault(world: World, id: number, given: JsonObject): ActiveFault {
  const body = fieldsOf(FAULT, () => given);
  const { name } = body;
  const entry = faultEntry(name);
  if (!entry)
    throw badRequest(`There is no fault "${name}". GET /sim/faults lists their names under "catalogue".`);
  return {
    id,
    name,
    endpoint: body.endpoint ?? null,
    instance: body.instance ?? null,
    host: body.host ?? null,
    createdAt: world.now,
    ...readExtent(entry, body, world.now),
    ...(name === 'wrong-field' ? { wrong: readWrongField(given) } : {}),
    ...(isOfThePast(name, given.change) ? { snapshot: Object.values(world.tables.contracts) } : {}),
  };
}

/** Returns true if replies show contracts as they are when the fault is set. */
const isOfThePast = (name: string, change: Json | undefined): boolean =>
  name === 'stale-list' || (name === 'wrong-field' && change === 'stale');

/** Up to three centuries, so that the end is a valid date. */
const FAULT_SECONDS = { min: 0, max: 1e10 };

/** The fields of a fault, without those of a `wrong-field`. */
export const FAULT = {
  name: required(text),
  endpoint: text,
  instance: integer,
  host: integer,
  seconds: between(FAULT_SECONDS),
  probability: number.refine(
    (value) => value === undefined || (value >= 0 && value <= 1),
    'must lie between 0 and 1.',
  ),
  count: integer.refine(
    (value) => value === undefined || value >= 1,
    'must be a whole number of at least 1.',
  ),
};

/** Returns the number of uses and the duration: one use, unless a count, a probability or a time is given. */
function readExtent(
  entry: FaultEntry,
  body: FieldValues<typeof FAULT>,
  now: number,
): Pick<ActiveFault, 'seconds' | 'probability' | 'remaining' | 'expiresAt'> {
  const seconds = body.seconds ?? null;
  const probability = entry.stage === 'world' ? null : (body.probability ?? null);
  const lasts = seconds !== null && entry.seconds === undefined;
  const isOnce = !lasts && probability === null && entry.stays !== true;
  return {
    seconds,
    probability,
    remaining: body.count ?? (isOnce ? 1 : null),
    expiresAt: lasts ? now + seconds * 1000 : null,
  };
}

/** Returns the row of a fault in `/sim/faults`. */
export function faultRow(fault: ActiveFault): JsonObject {
  return {
    id: fault.id,
    name: fault.name,
    endpoint: fault.endpoint,
    count: fault.remaining,
    probability: fault.probability,
    seconds: fault.seconds,
    instance: fault.instance,
    host: fault.host,
    ...(fault.wrong ? { ...fault.wrong } : {}),
    ...(fault.targets ? { targets: { ...fault.targets } } : {}),
    at: fault.createdAt / 1000,
  };
}

/* Whom a fault of the world strikes; settled once, when it is set. PURE. */

/** Ids of the contracts and machines that a fault of the world affects. */
export interface FaultTargets {
  readonly contracts: readonly number[];
  readonly machines: readonly number[];
}

/** A fault of the world before it takes effect. `share` is its `probability`. */
export interface WorldFault {
  readonly fault: ActiveFault & { readonly name: WorldFaultName };
  readonly share: number | null;
}

/**
 * Returns the targets of the fault: the named instance, or all of the named host. Without either it selects, by the
 * seed, as many live instances as its count (default one), or each with its probability. Refuses an unknown name, and
 * an empty selection.
 */
export function targetsOf(world: World, given: WorldFault): FaultTargets {
  const { fault, share } = given;
  if (fault.name === 'credit-out') return { contracts: [], machines: [] };
  if (fault.name === 'mass-outage') {
    const machines = Object.values(world.tables.machines);
    return {
      contracts: [],
      machines: idsOf(machines.filter(({ id }) => draw(world, fault, id) < (share ?? 1))),
    };
  }
  if (fault.host !== null) return hostTargets(world, fault.host);
  return contractTargets(
    fault.instance === null ? randomContracts(world, given) : named(world, fault.instance),
  );
}

const idsOf = (rows: readonly { readonly id: number }[]): readonly number[] => rows.map(({ id }) => id);

const draw = (world: World, fault: ActiveFault, id: number): number => chance(world.seed, id, fault.id);

function hostTargets(world: World, host: number): FaultTargets {
  const machines = Object.values(world.tables.machines).filter(({ hostId }) => hostId === host);
  if (machines.length === 0) throw badRequest(`host: there is no host ${host}.`);
  const contracts = Object.values(world.tables.contracts).filter(({ hostId }) => hostId === host);
  return { contracts: idsOf(contracts), machines: idsOf(machines) };
}

function contractTargets(contracts: readonly Contract[]): FaultTargets {
  return { contracts: idsOf(contracts), machines: [...new Set(contracts.map(({ machineId }) => machineId))] };
}

function named(world: World, instance: number): readonly Contract[] {
  const contract = world.tables.contracts[instance];
  if (!contract) throw badRequest(`instance: there is no live instance ${instance}.`);
  return [contract];
}

function randomContracts(world: World, { fault, share }: WorldFault): readonly Contract[] {
  const live = Object.values(world.tables.contracts).filter(({ isBid }) => isBid || fault.name !== 'outbid');
  if (live.length === 0) {
    const kind = fault.name === 'outbid' ? 'live instance that was rented with a bid' : 'live instance';
    throw badRequest(`${fault.name}: there is no ${kind} to strike; rent one, or name a host.`);
  }
  const lots = live.map((contract) => ({ contract, lot: draw(world, fault, contract.id) }));
  const hit =
    share === null
      ? lots.toSorted((left, right) => left.lot - right.lot).slice(0, fault.remaining ?? 1)
      : lots.filter(({ lot }) => lot < share);
  return hit.map(({ contract }) => contract);
}

/** Returns the present machines that a fault affects. */
export function targetMachines(world: World, { machines }: FaultTargets): readonly Machine[] {
  return machines.flatMap((id) => world.tables.machines[id] ?? []);
}

/** Returns the live contracts that a fault affects. */
export function targetContracts(world: World, { contracts }: FaultTargets): readonly Contract[] {
  return contracts.flatMap((id) => world.tables.contracts[id] ?? []);
}
