import { type Clock, sleep } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import type { Answer, HttpReply, SimRequest } from './calls/answer.ts';
import { callerWith, permits, refusedKey, requireLogin, sentKey } from './calls/authenticate.ts';
import { readBody } from './calls/body.ts';
import { fieldsOf, pathId, writtenBody } from './calls/fields.ts';
import { bodyLimit } from './calls/incoming-request.ts';
import { createRateLimit } from './calls/rate-limit.ts';
import { rateLimitResponse, refusalResponse, responseOf, stamped } from './calls/reply.ts';
import {
  type Caller,
  createRouter,
  type Profile,
  type Route,
  type RouteContext,
  type Router,
} from './calls/route.ts';
import { catchUp, type SimulatedTime, stillBehind } from './catch-up.ts';
import { CALL_FAULTS, type FaultName, type FaultTarget, REPLY_FAULTS } from './fault-catalogue.ts';
import { type FaultScope, takeFault } from './faults/active-faults.ts';
import { type CallPlan, PLAIN_PLAN, planOf } from './faults/call-faults.ts';
import { appliesTo, changesReply, mutateReply } from './faults/reply-faults.ts';
import type { JsonObject } from './json.ts';
import type { MachineDisks } from './machine-files.ts';
import { Refusal } from './refusal.ts';
import type { Settings } from './settings.ts';
import type { ActiveFault } from './tables/faults.ts';
import { callWriter, type WorldStore } from './world/world-store.ts';

/*
 * Steps of a request: advance the time, find the route, look up faults, check the key, read the body, check
 * permissions and rate, run the endpoint, write the reply.
 */

export interface ServiceOptions {
  readonly store: WorldStore;
  readonly time: SimulatedTime;
  /** Clock for delays of faults, which count in the caller's time. */
  readonly clock: Clock;
  readonly random: Random;
  readonly profile: Profile;
  readonly routes: readonly Route[];
  /** Disks of machines that run as processes, once they do. */
  readonly disks?: () => MachineDisks | undefined;
  /** Called after each change of the world, including a used fault, before the reply is sent. */
  readonly saved: () => void;
}

/** Answers requests; synchronous unless a fault delays. Never rejects: every failure is an answer. */
export interface Service {
  answer(request: SimRequest): Answer | Promise<Answer>;
  /** Returns the reply to a request that was abandoned before it could be answered. */
  refusal(refusal: Refusal): HttpReply;
}

/** A routed request. */
interface Visit {
  readonly request: SimRequest;
  readonly route: Route;
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly scope: FaultScope;
}

export function createService(options: ServiceOptions): Service {
  const router = createRouter(options.routes, options.profile);
  const rates = createRateLimit(() => options.store.current().settings);
  const visitor = createVisitor(options, rates);
  return {
    answer: (request) => answerRequest({ options, router, visitor }, request),
    refusal: (refusal) => refusalResponse(options.time.now(), refusal, options.profile),
  };
}

interface Parts {
  readonly options: ServiceOptions;
  readonly router: Router;
  readonly visitor: (visit: Visit) => HttpReply;
}

function answerRequest(parts: Parts, request: SimRequest): Answer | Promise<Answer> {
  const { options, router, visitor } = parts;
  const behind = catchUpRefusal(options);
  if (behind) return behind;
  const path = pathOf(request.url);
  const found = router.find(request.method, path);
  if (found.type === 'refused') return refused(options, found.refusal);
  const visit: Visit = { request, ...found, scope: { route: found.route, path } };
  const plan = planFor(options, visit);
  if (plan === PLAIN_PLAN) return withReplyFaults(options, visit, visitor(visit));
  options.saved();
  return carryOut(options, plan, () => visitor(visit)).then((answer) =>
    answer.type === 'reply' ? withReplyFaults(options, visit, stamped(nowOf(options), answer)) : answer,
  );
}

/** Runs the endpoint as a fault requires: not at all, late, twice. */
async function carryOut(options: ServiceOptions, plan: CallPlan, run: () => HttpReply): Promise<Answer> {
  if (plan.delayBeforeMs > 0) {
    await sleep(options.clock, plan.delayBeforeMs);
    const behind = catchUpRefusal(options);
    if (behind) return behind;
  }
  const reply = plan.runs > 0 ? run() : undefined;
  if (plan.runs > 1) run();
  if (plan.delayAfterMs > 0) await sleep(options.clock, plan.delayAfterMs);
  return plan.answer(reply);
}

/** Returns the answer of a market that is still behind after the maximum wait of one call; its progress is saved. */
function catchUpRefusal(options: ServiceOptions): HttpReply | undefined {
  if (catchUp(options)) return undefined;
  options.saved();
  return refused(options, stillBehind(options));
}

const refused = (options: ServiceOptions, refusal: Refusal): HttpReply =>
  refusalResponse(nowOf(options), refusal, options.profile);

const nowOf = ({ store }: ServiceOptions): number => store.current().now;

const pathOf = (url: string): string => {
  const mark = url.indexOf('?');
  return mark === -1 ? url : url.slice(0, mark);
};

/** Returns the plan of the first fault that affects this call. */
function planFor(options: ServiceOptions, visit: Visit): CallPlan {
  if (isControl(visit) || !hasFaults(options)) return PLAIN_PLAN;
  const target = targetOf(options, visit);
  for (const name of CALL_FAULTS) {
    const fault = takeFault(options, name, { scope: visit.scope, target });
    if (fault) return planOf({ ...fault, name });
  }
  return PLAIN_PLAN;
}

function withReplyFaults(options: ServiceOptions, visit: Visit, reply: HttpReply): Answer {
  if (isControl(visit) || !hasFaults(options)) return reply;
  const target = targetOf(options, visit);
  const present = new Set(Object.values(options.store.current().tables.faults).map(({ name }) => name));
  for (const name of REPLY_FAULTS) {
    if (!present.has(name) || !appliesTo(name, reply)) continue;
    const { scope } = visit;
    const { clock, store } = options;
    const changes = (fault: ActiveFault) => changesReply(reply, fault, store.current());
    // The rows of a reply show their machine.
    const call = name === 'wrong-field' ? { scope, target: undefined, changes } : { scope, target };
    const fault = takeFault(options, name, call);
    if (!fault) continue;
    options.saved();
    return mutateReply(reply, { ...fault, name }, { clock, world: store.current() });
  }
  return reply;
}

/** Faults affect the marketplace, never the control endpoints. */
const isControl = (visit: Visit): boolean => visit.route.path.startsWith('/sim/');

function hasFaults({ store }: ServiceOptions): boolean {
  for (const _id in store.current().tables.faults) return true;
  return false;
}

/** Returns the instance or host of a call, by its path. */
function targetOf({ store }: ServiceOptions, visit: Visit): FaultTarget {
  const id = pathId(visit.params.id);
  if (!Number.isInteger(id)) return {};
  const { tables } = store.current();
  if (visit.route.path.includes('/instances/')) {
    const host = tables.contracts[id]?.hostId;
    return host === undefined ? { instance: id } : { instance: id, host };
  }
  const host = visit.route.path.includes('/asks/') ? tables.offers[id]?.hostId : undefined;
  return host === undefined ? {} : { host };
}

/** Creates the function between a found route and its reply; it never throws. */
function createVisitor(options: ServiceOptions, rates: ReturnType<typeof createRateLimit>) {
  const visitOnce = (visit: Visit): HttpReply => {
    const { request, route } = visit;
    const { settings, now } = options.store.current();
    const query = queryOf(request.url);
    const body = readBody(request, route, bodyLimit(options.store.current(), request.url, true));
    const { profile, store } = options;
    const secret = sentKey(request, { profile, store, query, body: body.value });
    const caller = route.access === 'open' ? undefined : callerWith(options.store, secret, now);
    if (route.access === 'key' && !caller) throw refusedKey(options.store, secret);
    if (caller) requireLogin(caller, route, settings);
    if (body.refusal) throw body.refusal;
    checkRights(caller, { ...visit, query, body: body.value }, settings);
    const tooSoon = rates.check({ route, identity: secret ?? request.address, now });
    if (tooSoon) return rateLimitResponse(now, tooSoon, { profile, body: settings.pauses.body });
    const write = callWriter(store);
    const read = { query, body: body.value, caller, sentKey: secret, write };
    try {
      return responseOf(nowOf(options), route.handler(contextOf(options, visit, read)));
    } catch (error) {
      write.undo();
      throw error;
    }
  };
  return (visit: Visit): HttpReply => {
    try {
      const reply = visitOnce(visit);
      options.saved();
      return reply;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // A refused call may have kept writes: a wrong code counts.
      options.saved();
      return refused(options, error);
    }
  };
}

const EMPTY_QUERY = new URLSearchParams();

function queryOf(url: string): URLSearchParams {
  const mark = url.indexOf('?');
  return mark === -1 ? EMPTY_QUERY : new URLSearchParams(url.slice(mark + 1));
}

function checkRights(
  caller: Caller | undefined,
  call: Parameters<typeof permits>[1],
  settings: Settings,
): void {
  if (!caller || permits(caller.key, call, settings)) return;
  const needed = call.route.category ?? 'full access';
  throw new Refusal(403, 'forbidden', `This API key lacks the permission ${needed}.`);
}

function contextOf(options: ServiceOptions, visit: Visit, read: ReadCall): RouteContext<never> {
  const { store, random, profile } = options;
  const { written, fields } = visit.route;
  const { body, ...call } = read;
  let json = profile === 'specification' && written ? undefined : body;
  // Read on access by the endpoint, after it checked its caller.
  const jsonOf = () => {
    json ??= writtenBody(written ?? {}, body);
    return json;
  };
  return {
    ...call,
    get json() {
      return jsonOf();
    },
    body: fieldsOf(fields, jsonOf) as never,
    get world() {
      return store.current();
    },
    now: store.current().now,
    settings: store.current().settings,
    profile,
    params: visit.params,
    random,
    fault: (name: FaultName, target?: FaultTarget) =>
      hasFaults(options) ? takeFault(options, name, { scope: visit.scope, target }) : undefined,
    origin: visit.request.origin,
    disks: options.disks?.(),
  };
}

/** The read parts of a request before its endpoint runs. */
interface ReadCall extends Pick<RouteContext, 'query' | 'caller' | 'sentKey' | 'write'> {
  readonly body: JsonObject;
}
