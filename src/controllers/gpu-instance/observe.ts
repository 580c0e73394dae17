import type { BreakerState, OpenSpan } from '../../accounts/breaker.ts';
import { reporterOf } from '../../accounts/failure-reports.ts';
import type { LabelEcho } from '../../accounts/feed-observer.ts';
import { type AccountDirectory, type AccountLookup, sessionOf } from '../../accounts/registry.ts';
import { serviceNow } from '../../accounts/service-clock.ts';
import type { AccountSession } from '../../accounts/session.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { reasons } from '../../api/v1alpha1/reasons.ts';
import { accountRefOf } from '../../instance/account-ref.ts';
import type { CompleteList } from '../../marketplace/feed/feed-state.ts';
import type { Instance } from '../../marketplace/instances/instance.ts';
import { type IntentReading, readIntent } from '../../ownership/intent.ts';
import { makeLabel, type Remnant, remnantOf } from '../../ownership/label.ts';
import { loginText } from '../../ownership/login.ts';
import { startsInWindow, whose } from '../../ownership/ours.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import type { SharedDeps } from './deps.ts';
import { listedLate } from './facts.ts';
import type { ObjectMemory, SteadyClock } from './memory.ts';
import type { AbsenceView, AccountFacts, AccountView, ListedMachine, ListView, MemoryView, Observed, Outsider } from './types.ts';
import { parseTime } from '../../lib/time.ts';

/** Where `observe` looks. None of it waits: everything is in a cache, in memory or on a clock. */
export type ObserveDeps = Pick<
  SharedDeps,
  'clock' | 'random' | 'instances' | 'constants' | 'index' | 'steady' | 'identity' | 'leaseRemainingMs'
> & {
  readonly accounts: Pick<AccountDirectory, 'get' | 'permits'>;
  readonly withoutStart: ReadonlySet<string>;
  readonly memory: ObjectMemory;
};

function loginsOf({ accounts }: ObserveDeps): LoginOf {
  return (of) => {
    const session = sessionOf(accounts.get(accountRefOf(of)));
    return session && loginText(session.login);
  };
}

function rivals(object: GpuInstance, deps: ObserveDeps): readonly GpuInstance[] {
  return rivalsOf(object, deps.instances.list(), loginsOf(deps));
}

/** Asked only of an object that may take over a machine: what is refused anyway costs nothing. */
function isLeftToOlder(object: GpuInstance, session: AccountSession | undefined, deps: ObserveDeps): boolean {
  const { adopt } = object.spec;
  if (adopt === undefined || session?.adoption() !== 'Unlabelled') return false;
  if (session.permits(object.metadata.namespace ?? '') !== true) return false;
  const claimants = deps.instances.byIndex(BY_ADOPTED, String(adopt.instanceId));
  return hasOlderClaimant(object, claimants, loginsOf(deps));
}

/** Only worth reading when a rule asks for it: then it is read. */
const NOT_ASKED_FOR = {
  offers: new Map(),
  broadOffers: undefined,
  inputs: undefined,
  loginProven: undefined,
  confirmed: undefined,
  published: undefined,
} as const;

/** Everything that one reconcile needs, read once; undefined while this installation does not know who it is. */
export function observe(object: GpuInstance, deps: ObserveDeps): Observed | undefined {
  const { memory } = deps;
  const lookup = deps.accounts.get(accountRefOf(object));
  const session = sessionOf(lookup);
  const identity = session?.identity ?? deps.identity();
  if (!identity) return undefined;
  const intent = readIntent(identity.keys, object.metadata.annotations?.[annotations.rentalIntent]);
  const list = session?.feed.latest();
  const recorded = recordedRow(object, list);
  const listing = session && list && { session, list, intent, recorded };
  memory.look({
    object,
    intent,
    recorded,
    list,
    steady: deps.steady,
    serviceNow: session && list && serviceNow(session.serviceClock.now(), deps.clock.now()),
  });
  const view = listing && listView(object, listing, deps);
  if (view) noteLate(memory, view.labelled, intent);
  return {
    ...NOT_ASKED_FOR,
    now: Math.floor(deps.clock.now()),
    steadyNow: deps.steady.now(),
    object,
    uid: uidOf(object),
    identity,
    constants: deps.constants,
    account: accountView(lookup, object, deps),
    intent,
    list: view,
    listsBegun: session ? deps.steady.listTimes(session.feed, session.feed.listsBegunSince(0)) : [],
    absences: absencesOf(object, { session, memory: memory.view() }, deps.steady),
    memory: memory.view(deps.steady.now()),
    place: session?.queue.place(uidOf(object), object.metadata.generation ?? 0),
    probe: memory.probe,
    olderClaimant: isLeftToOlder(object, session, deps),
    leaseRemainingMs: deps.leaseRemainingMs(),
    jitter: deps.random.next(),
  };
}

/** Remembers a machine that came too late: a list that lacks it later is no proof that it is gone. */
function noteLate(memory: ObjectMemory, labelled: readonly ListedMachine[], reading: IntentReading): void {
  const written = reading.type === 'intent' ? reading.intent : undefined;
  for (const intent of [written, memory.intent]) {
    const machine = intent && listedLate(labelled, intent);
    if (machine) memory.late = { attempt: intent.attempt, issuedAt: intent.issuedAt, machine };
  }
}

function recordedRow(object: GpuInstance, list: CompleteList | undefined): Instance | undefined {
  const id = object.status?.instanceId;
  return id === undefined ? undefined : list?.rows.get(id);
}

function accountView(lookup: AccountLookup, object: GpuInstance, deps: ObserveDeps): AccountView {
  const view = insidersView(lookup, object, deps);
  const outsider = outsiderOf(lookup, object, deps);
  return outsider === undefined ? view : withoutWords(view, outsider);
}

/** Undefined for an object that may use the account, and for every one of the account's own namespace. */
function outsiderOf(lookup: AccountLookup, object: GpuInstance, deps: ObserveDeps): Outsider | undefined {
  const { namespace = '' } = object.metadata;
  const ref = accountRefOf(object);
  if (ref.namespace === namespace) return undefined;
  const permitted = sessionOf(lookup)?.permits(namespace) ?? deps.accounts.permits(ref, namespace);
  if (permitted === undefined) return 'undecided';
  return permitted ? undefined : 'refused';
}

/** What an account says of itself is for those who may use it: this is the only place where its words are let through. */
function withoutWords(view: AccountView, outsider: Outsider): AccountView {
  if (view.state === 'missing') return { ...view, outsider };
  const { facts } = view;
  const silent = facts && { ...facts, breaker: withoutMessage(facts.breaker) };
  if (view.state === 'ready' && silent) return { state: 'ready', facts: silent, outsider };
  const { sentence } = reasons.NamespaceNotAllowed;
  return { state: 'notReady', reason: 'NamespaceNotAllowed', message: sentence, facts: silent, outsider };
}

function withoutMessage(breaker: BreakerState): BreakerState {
  return breaker.type === 'closed' ? breaker : { ...breaker, message: reasons.NamespaceNotAllowed.sentence };
}

function insidersView(lookup: AccountLookup, object: GpuInstance, deps: ObserveDeps): AccountView {
  if (lookup.type === 'missing')
    return { ...(lookup.isUnwatched && { isUnwatched: true }), state: 'missing' };
  if (lookup.type === 'ready') return { state: 'ready', facts: accountFacts(lookup.session, object, deps) };
  const facts = lookup.session && accountFacts(lookup.session, object, deps);
  return { state: 'notReady', reason: lookup.reason, message: lookup.message, facts };
}

function accountFacts(session: AccountSession, object: GpuInstance, deps: ObserveDeps): AccountFacts {
  return {
    login: session.login,
    limits: session.limits,
    breaker: session.observer.breaker,
    heldSpans: session.observer.openSpans.map((span) => steadySpan(span, deps.steady)),
    blames: session.observer.countsHostFailures,
    labelEcho: session.observer.labelEcho,
    permitted: session.permits(object.metadata.namespace ?? ''),
    adoption: session.adoption(),
    mayDestroy: session.user.mayDestroy,
    sshKeyRegistered: session.user.sshKeyRegistered,
    avoided: session.avoid.current(reporterOf(object, '').owner),
    reserved: session.admission.reservedFor(uidOf(object)),
    serviceTime: session.serviceClock.now(),
    startUnsupported: deps.withoutStart.has(session.uid),
  };
}

function steadySpan({ from, until }: OpenSpan, steady: SteadyClock): OpenSpan {
  return {
    from: steady.fromMonotonic(from),
    until: until === undefined ? undefined : steady.fromMonotonic(until),
  };
}

interface Listing {
  readonly session: AccountSession;
  readonly list: CompleteList;
  readonly intent: IntentReading;
  readonly recorded: Instance | undefined;
}

function listView(object: GpuInstance, listing: Listing, deps: ObserveDeps): ListView {
  const { session, list, intent, recorded } = listing;
  const uid = uidOf(object);
  const others = intent.type === 'intent' && intent.intent.uid !== uid ? intent.intent.uid : undefined;
  return {
    begunAt: list.begunAt,
    begunSteady: deps.steady.listTimes(session.feed, [list.begunAt])[0] ?? Number.NEGATIVE_INFINITY,
    recorded,
    labelled: deps.index.labelled(session, list, uid),
    formerSelf: others === undefined ? undefined : formerSelf(deps.index.labelled(session, list, others)),
    adoptTarget: adoptTarget(object, listing, deps),
    ...unownedRows(object, listing, deps),
    ids: [...list.rows.keys()],
  };
}

/** One that only carries a copy of the label is somebody else's, and nobody is asked to end it. */
function formerSelf(machines: readonly ListedMachine[]): Instance | undefined {
  return machines.find(({ ownership }) => ownership.type !== 'labelCopied')?.row;
}

function adoptTarget(
  object: GpuInstance,
  { session, list }: Listing,
  deps: ObserveDeps,
): ListedMachine | undefined {
  const row = object.spec.adopt && list.rows.get(object.spec.adopt.instanceId);
  if (!row) return undefined;
  const recording = deps.instances.byIndex(BY_MACHINE, String(row.id));
  const claims = recording.flatMap(({ metadata, status }) => {
    const { instanceId, claim, attempt = 0 } = status ?? {};
    if (instanceId !== row.id || claim === undefined || metadata.uid === undefined) return [];
    return metadata.uid === object.metadata.uid ? [] : [{ uid: metadata.uid, attempt, instanceId, claim }];
  });
  const context = { identity: session.identity, login: session.login, constants: deps.constants, claims };
  return { row, ownership: whose(row, context) };
}

/**
 * Rows that could be a purchase whose label the service does not give back, or gives back maimed. While it is
 * not known whether labels come back, one without any may as well be somebody's own: then it is doubtful. So is one that
 * another object wants to take over.
 */
function unownedRows(
  object: GpuInstance,
  { session, list, intent: reading }: Listing,
  deps: ObserveDeps,
): Pick<ListView, 'unowned' | 'doubtful'> {
  if (reading.type !== 'intent' || !reading.intent.knownIds) return { unowned: [], doubtful: [] };
  const { intent } = reading;
  const others = rivals(object, deps);
  const held = idsHeldBy(others);
  const wanted = idsWantedBy(others);
  const free = [...list.rows.values()].filter(({ id }) => !held.has(id));
  const echo = session.observer.labelEcho;
  const sent = makeLabel(session.identity, intent);
  const inTime = ({ startedAt }: Instance) =>
    startedAt === undefined || startsInWindow(startedAt, intent.issuedAt, deps.constants);
  const likenessOf = ({ id, label }: Instance) => {
    const seen = likeness(label, { echo, sent });
    return seen === 'recognizable' && wanted.has(id) ? 'doubtful' : seen;
  };
  return {
    unowned: free.filter((row) => likenessOf(row) === 'recognizable' && inTime(row)),
    doubtful: free.filter((row) => likenessOf(row) === 'doubtful' && inTime(row)),
  };
}

/** How much a shown label looks like what a service may have made of the one that was sent. */
function likeness(
  shown: Instance['label'],
  { echo, sent }: { readonly echo: LabelEcho; readonly sent: string },
): Remnant {
  if (shown === undefined) return 'recognizable';
  if (echo === 'echoed') return 'none';
  if (shown) return remnantOf(sent, shown);
  return echo === 'notEchoed' ? 'recognizable' : 'doubtful';
}

function absencesOf(
  object: GpuInstance,
  {
    session,
    memory: { destroys, late },
  }: { readonly session: AccountSession | undefined; readonly memory: MemoryView },
  steady: SteadyClock,
): ReadonlyMap<number, AbsenceView> {
  const ids = new Set([...destroys, object.status].flatMap((machine) => machine?.instanceId ?? []));
  if (late) ids.add(late.machine.id);
  const lists = (id: number) => (session ? steady.listTimes(session.feed, session.feed.absences(id)) : []);
  return new Map([...ids].map((id) => [id, { lists: lists(id), read: undefined }]));
}

/** Tells the login that an object's account proved, as text; undefined where none did. */
type LoginOf = (object: GpuInstance) => string | undefined;

/** Every other object but those of another login: there the same id names another machine. */
function rivalsOf(
  object: GpuInstance,
  all: readonly GpuInstance[],
  loginOf: LoginOf,
): readonly GpuInstance[] {
  const own = loginOf(object);
  return all.filter((other) => {
    if (other.metadata.uid === object.metadata.uid) return false;
    const theirs = loginOf(other);
    return own === undefined || theirs === undefined || own === theirs;
  });
}

/** Ids that objects record. */
function idsHeldBy(objects: readonly GpuInstance[]): ReadonlySet<number | undefined> {
  return new Set(objects.map(({ status }) => status?.instanceId));
}

/** Ids that objects want to take over, whether or not they may. */
function idsWantedBy(objects: readonly GpuInstance[]): ReadonlySet<number | undefined> {
  return new Set(objects.map(({ spec }) => spec.adopt?.instanceId));
}

/** The index of a cache: GpuInstances by the id of the machine that they record. */
export const BY_MACHINE = 'instanceId';
/** GpuInstances by the id of the machine that they want to take over. */
export const BY_ADOPTED = 'adopt';

/** The indexes by which other objects are found, without a walk over all of them. */
export const machineIndexes: Readonly<Record<string, (object: GpuInstance) => readonly string[]>> = {
  [BY_MACHINE]: ({ status }) => (status?.instanceId === undefined ? [] : [String(status.instanceId)]),
  [BY_ADOPTED]: ({ spec }) => (spec.adopt === undefined ? [] : [String(spec.adopt.instanceId)]),
};

/**
 * Whether one of those that want the same machine is older and of the same login; of two equally old ones the lower uid
 * is the older. Logins are asked for older ones alone, up to the first that counts.
 */
function hasOlderClaimant(
  object: GpuInstance,
  claimants: readonly GpuInstance[],
  loginOf: LoginOf,
): boolean {
  const born = parseTime(object.metadata.creationTimestamp) ?? 0;
  const isOlder = ({ metadata }: GpuInstance): boolean => {
    const age = parseTime(metadata.creationTimestamp) ?? 0;
    return age < born || (age === born && uidOf({ metadata }) < uidOf(object));
  };
  return claimants.some((other) => isOlder(other) && rivalsOf(object, [other], loginOf).length > 0);
}
