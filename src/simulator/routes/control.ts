import type { Clock } from '../../lib/clock.ts';
import { number, pathId } from '../calls/fields.ts';
import { BOTH, endpoint, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { catchUp, type SimulatedTime, stillBehind } from '../catch-up.ts';
import { FAULTS, faultEntry, isWorldFault } from '../fault-catalogue.ts';
import { FAULT, faultRow, isEndpoint, readFault } from '../faults/active-faults.ts';
import { applyWorldFault, endOutage } from '../faults/world-faults.ts';
import { badRequest, notFound } from '../refusal.ts';
import type { ActiveFault } from '../tables/faults.ts';
import { ledger } from '../world/ledger.ts';
import { readWorld, worldJson } from '../world/world-document.ts';
import type { WorldStore } from '../world/world-store.ts';
import { tfaControlRoutes } from './tfa.ts';

/* Control of the simulator: time, ledger, faults and the world itself. Served only with --control. */

/** Maximum date: later ones have no four-digit year, which HTTP requires. */
const LAST_TIME = Date.UTC(9999, 11, 31);

const SUCCESS = json({ success: true });

/** Parts that the control endpoints need in addition to the context of a call. */
export interface ControlParts {
  readonly store: WorldStore;
  readonly time: SimulatedTime;
  /** Clock that measures how long an advance of time takes. */
  readonly clock: Clock;
  /** The endpoints that a fault may name. */
  readonly routes: readonly Route[];
}

const CONTROL = { category: null, access: 'open', profiles: BOTH } as const;

/** Returns the endpoints under `/sim/`. */
export function controlRoutes(parts: ControlParts): readonly Route[] {
  return [
    endpoint('POST /sim/clock', { ...CONTROL, body: PUSH }, (ctx) => pushClock(ctx, parts)),
    endpoint('GET /sim/clock', CONTROL, (ctx) => json({ now: ctx.now / 1000 })),
    endpoint('GET /sim/ledger', CONTROL, showLedger),
    endpoint('GET /sim/faults', CONTROL, listFaults),
    endpoint('POST /sim/faults', { ...CONTROL, body: FAULT }, (ctx) => setFault(ctx, parts)),
    endpoint('DELETE /sim/faults/:id', CONTROL, (ctx) => deleteFault(ctx, parts.store)),
    endpoint('DELETE /sim/faults', CONTROL, (ctx) => deleteFaults(ctx, parts.store)),
    endpoint('GET /sim/world', CONTROL, showWorld),
    endpoint('PUT /sim/world', CONTROL, (ctx) => putWorld(ctx, parts.store)),
    ...tfaControlRoutes,
  ];
}

const PUSH = { advanceSeconds: number };

function pushClock(ctx: RouteContext<typeof PUSH>, parts: ControlParts): Reply {
  const seconds = ctx.body.advanceSeconds;
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

function setFault(ctx: RouteContext<typeof FAULT>, { store, routes }: ControlParts): Reply {
  const { endpoint: named } = ctx.body;
  if (named && !isEndpoint(named, routes)) {
    throw badRequest(
      `endpoint: no call is named "${named}"; give a class such as list or rent, or a method and path.`,
    );
  }
  const fault = readFault(ctx.world, ctx.write.nextId('fault'), ctx.json);
  ctx.write.put('faults', carriedOut(ctx, store, fault));
  return json({ id: fault.id });
}

/** Returns a fault of the world after its effect; every other fault waits for its call. */
function carriedOut(ctx: RouteContext<typeof FAULT>, store: WorldStore, fault: ActiveFault): ActiveFault {
  const { name } = fault;
  if (!isWorldFault(name)) return fault;
  const after = applyWorldFault(ctx.world, {
    fault: { ...fault, name },
    share: ctx.body.probability ?? null,
  });
  store.replace({ ...after.world, nextEventAt: 0 });
  return after.fault;
}

function deleteFault(ctx: RouteContext, store: WorldStore): Reply {
  const id = pathId(ctx.params.id);
  const fault = ctx.world.tables.faults[id];
  if (!fault) throw notFound(`There is no fault ${ctx.params.id} in force.`);
  endFault(ctx, store, fault);
  return SUCCESS;
}

/** Removes a fault; an outage that it caused ends. */
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

/** Replaces tables and settings of the world by those of the document; missing ones stay. */
function putWorld(ctx: RouteContext, store: WorldStore): Reply {
  store.replace(readWorld(ctx.world, ctx.json));
  return SUCCESS;
}

/**
 * A self-signed certificate for clients that load one first. Its private key was discarded: simulated workers are
 * reached without TLS.
 */
const ROOT_CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIDKTCCAhGgAwIBAgIUV4F5w1KpfGYoRWKWf7jlhcz22IwwDQYJKoZIhvcNAQEL
BQAwJDEiMCAGA1UEAwwZR1BVIHJlbnRhbCBzaW11bGF0b3Igcm9vdDAeFw0yNjEx
MjEwMjQ2NDRaFw00NjExMTYwMjQ2NDRaMCQxIjAgBgNVBAMMGUdQVSByZW50YWwg
c2ltdWxhdG9yIHJvb3QwggEiMA0GCSqGSIb3DQEBAQUAA4IBDwAwggEKAoIBAQDK
BMZQUgowGls/pY0JT5PgMfPzdn8one2dIYVbJEtgZmEICU77v2T6gcsTUm5szqHs
yP0eLRm/KTwMlu/4I2ZoutER3jBE90HMCwrZylxKCvrxNuaOErMIaRQITVKZVGq0
yWlVcvvex5UqudnJ99RmWP/n5R3w+ZG+qynYVpI6R7Yx5PMlaX3IAcj84Gz6/gem
YKHzSkZlV4qqvOnYmPYPdofIw23h1/mgeRm299cRfuYaYkSWELVip+clfBPNaKZD
ZzE/MfKe+KEKNgzEV/3xRfoemzcj53IFiDo/5ZkDwOuhGN21okctZtjhiJU2Fdec
CkB9ASDZLVYXAta8GFeZAgMBAAGjUzBRMB0GA1UdDgQWBBRZpWrM3oP/MCaKkxNB
1oJwkWTfmjAfBgNVHSMEGDAWgBRZpWrM3oP/MCaKkxNB1oJwkWTfmjAPBgNVHRMB
Af8EBTADAQH/MA0GCSqGSIb3DQEBCwUAA4IBAQDCCr2vuQ3glHQ/AKjOuxPLxdz5
l4NFNvlcWCx2QZs8ka5A3WIyHBGkQJ4MzGCk6hhT07c2ivjw1BCoadXSd8hrMpam
/ruq46KmEYValJyvoO8vHiXg6f/BeE4vjsIJOQGomctyI/+b5VrCalkAAOhUg6y+
Zjvqu/OL4qGbnw9JZ5POcMUOopBwWFa+R7I7HTtRjcMn97Bi5jQUp2fvj1IyFdnY
h2Q0IiDgfI4s7qWU6mD5mX+mC2S9IPsBKbTkHXSgXQzzMOV/2LGRDTLPd8vEoCjI
PPKutbYQGUexuuVedjhIA4uB+Kj+589fvSGkUmNAVufCJzTqV9Qt1qwZL1J4
-----END CERTIFICATE-----
`;

export const rootCertificateRoutes: readonly Route[] = [
  endpoint('GET /static/jvastai_root.cer', { category: null, access: 'open' }, () => ({
    type: 'text',
    status: 200,
    body: ROOT_CERTIFICATE,
    contentType: 'application/x-x509-ca-cert',
  })),
];
