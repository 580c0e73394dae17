import { reporterOf } from '../../accounts/avoid-list.ts';
import type { QueuePosition } from '../../accounts/queue/admission-queue.ts';
import { type AccountDirectory, type AccountLookup, sessionOf } from '../../accounts/registry.ts';
import { serviceNow } from '../../accounts/service-clock.ts';
import type { AccountSession } from '../../accounts/session.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { reasons } from '../../api/v1alpha1/reasons.ts';
import { accountRefOf } from '../../instance/account-ref.ts';
import { parseTime } from '../../lib/time.ts';
import type { CompleteList } from '../../marketplace/feed/feed-state.ts';
import type { Instance } from '../../marketplace/instances/instance.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { Identity } from '../../ownership/identity.ts';
import { type IntentReading, readIntent } from '../../ownership/intent.ts';
import { makeLabel, remnantOf } from '../../ownership/label.ts';
import { loginText } from '../../ownership/login.ts';
import { ownershipOf, startsInWindow } from '../../ownership/ownership.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import type { SharedDeps } from './deps.ts';
import { listedLate, listedLateBefore } from './facts.ts';
import type { ObjectMemory, SteadyClock } from './memory.ts';
import type {
  AbsenceView,
  AccountFacts,
  AccountView,
  ListedMachine,
  ListView,
  MemoryView,
  Observed,
  Outsider,
} from './types.ts';

/**
 * What surrounds an object at one moment. The operator takes it from its caches, `explain` from one list; nothing in it
 * waits.
 */
export interface Snapshot {
  /** Epoch milliseconds, by our own wall clock. */
  readonly now: number;
  /** In [0, 1): spreads retries. */
  readonly jitter: number;
  readonly leaseRemainingMs: number;
  readonly constants: PurchaseConstants;
  readonly identity: Identity;
  readonly account: AccountLookup<LoginSnapshot>;
  /** Whether the object's namespace may use the account; undefined while that is being found out. */
  readonly isAllowed: boolean | undefined;
  readonly others: OtherObjects;
}

/** The login that an account proved. Times are steady. */
interface LoginSnapshot {
  readonly facts: AccountFacts;
  /** The latest complete list. */
  readonly list: CompleteList | undefined;
  /** When that list was begun; minus infinity if it is not known. */
  readonly begunSteady: number;
  /** When the known complete lists were begun, oldest first. */
  readonly listsBegun: readonly number[];
  /** When the complete lists were begun since which that machine is missing. */
  readonly absences: (instanceId: string) => readonly number[];
  /** Rows of the list whose verified label names this uid, lowest id first. */
  readonly labelled: (uid: string) => readonly ListedMachine[];
  /** Of the object, in the queue of the login. */
  readonly place: QueuePosition | undefined;
}

/** The GpuInstances of the cluster, the observed one included. */
export interface OtherObjects {
  all(): readonly GpuInstance[];
  /** Those whose status names that machine. */
  recording(instanceId: string): readonly GpuInstance[];
  /** Those that are to take over that machine. */
  adopting(instanceId: string): readonly GpuInstance[];
  readonly loginOf: LoginOf;
}

// Snapshot

/** Where the operator takes a snapshot. */
type SnapshotDeps = Pick<
  SharedDeps,
  'clock' | 'random' | 'instances' | 'constants' | 'index' | 'steady' | 'identity' | 'leaseRemainingMs'
> & {
  readonly accounts: Pick<AccountDirectory, 'get' | 'permits'>;
  readonly withoutStart: ReadonlySet<string>;
};

/** From caches, sessions and clocks, without waiting. Undefined while the identity of this installation is not known. */
function takeSnapshot(object: GpuInstance, deps: SnapshotDeps): Snapshot | undefined {
  const { accounts, instances, clock, constants, random } = deps;
  const { namespace = '' } = object.metadata;
  const ref = accountRefOf(object);
  const lookup = accounts.get(ref);
  const session = sessionOf(lookup);
  const identity = session?.identity ?? deps.identity();
  if (!identity) return undefined;
  return {
    now: clock.now(),
    jitter: random.next(),
    leaseRemainingMs: deps.leaseRemainingMs(),
    constants,
    identity,
    account: withLogin(lookup, (proven) => loginSnapshot(proven, object, deps)),
    // Every object of the account's own namespace may use it.
    isAllowed:
      ref.namespace === namespace || (session?.permits(namespace) ?? accounts.permits(ref, namespace)),
    others: {
      all: () => instances.list(),
      recording: (id) => instances.byIndex(BY_MACHINE, id),
      adopting: (id) => instances.byIndex(BY_ADOPTED, id),
      loginOf: (other) => {
        const proven = sessionOf(accounts.get(accountRefOf(other)));
        return proven && loginText(proven.login);
      },
    },
  };
}

function withLogin(
  lookup: AccountLookup,
  loginOf: (session: AccountSession) => LoginSnapshot,
): AccountLookup<LoginSnapshot> {
  switch (lookup.type) {
    case 'missing':
      return lookup;
    case 'ready':
      return { type: 'ready', session: loginOf(lookup.session) };
    case 'notReady':
      return { ...lookup, session: lookup.session && loginOf(lookup.session) };
  }
}

function loginSnapshot(session: AccountSession, object: GpuInstance, deps: SnapshotDeps): LoginSnapshot {
  const { steady, index, withoutStart } = deps;
  const { feed, observer, user } = session;
  const list = feed.latest();
  const times = (begunAt: readonly number[]) => steady.listTimes(feed, begunAt);
  const openSpans = observer.openSpans.map(({ from, until }) => ({
    from: steady.fromMonotonic(from),
    until: until === undefined ? undefined : steady.fromMonotonic(until),
  }));
  return {
    facts: {
      login: session.login,
      limits: session.limits,
      breaker: observer.breaker,
      openSpans,
      countsHostFailures: observer.countsHostFailures,
      labelEcho: observer.labelEcho,
      permitted: session.permits(object.metadata.namespace ?? ''),
      adoption: session.adoption(),
      mayDestroy: user.mayDestroy,
      sshKeyRegistered: user.sshKeyRegistered,
      avoided: session.avoid.current(reporterOf(object, '').owner),
      reserved: session.admission.reservedFor(uidOf(object)),
      serviceTime: session.serviceClock.now(),
      startUnsupported: withoutStart.has(session.uid),
    },
    list,
    begunSteady: (list && times([list.begunAt])[0]) ?? Number.NEGATIVE_INFINITY,
    listsBegun: times(feed.listsBegunSince(0)),
    absences: (id) => times(feed.absences(id)),
    labelled: (uid) => (list ? index.labelled(session, list, uid) : []),
    place: session.queue.place(uidOf(object), object.metadata.generation ?? 0),
  };
}

// Observe

/** What this process remembers of the object, and the clock by which it does. */
interface Remembered {
  readonly memory: ObjectMemory;
  readonly steady: SteadyClock;
}

/** Where the operator takes a snapshot, and what it remembers. */
export type ObserveDeps = SnapshotDeps & Remembered;

/** Only worth reading when a rule asks for it: then it is read. */
const NOT_ASKED_FOR = {
  offers: new Map(),
  broadOffers: undefined,
  inputs: undefined,
  loginProven: undefined,
  confirmed: undefined,
  published: undefined,
} as const;

/** Everything that one reconcile needs, as it is now. Undefined while the identity of this installation is not known. */
export function observe(object: GpuInstance, deps: ObserveDeps): Observed | undefined {
  const snapshot = takeSnapshot(object, deps);
  return snapshot && observeSnapshot(object, snapshot, deps);
}

/** Everything that one reconcile needs, of the snapshot and of memory, which notes what the snapshot shows. */
export function observeSnapshot(
  object: GpuInstance,
  snapshot: Snapshot,
  { memory, steady }: Remembered,
): Observed {
  const { identity, others } = snapshot;
  const login = sessionOf(snapshot.account);
  const intent = readIntent(identity.keys, object.metadata.annotations?.[annotations.rentalIntent]);
  const list = login?.list;
  const instanceId = object.status?.instanceId;
  const recorded = instanceId === undefined ? undefined : list?.rows.get(instanceId);
  memory.note({
    object,
    intent,
    recorded,
    list,
    steady,
    serviceNow: login && list && serviceNow(login.facts.serviceTime, snapshot.now),
  });
  const view = login && list && listView(object, { login, list, intent, recorded }, snapshot);
  if (view) noteLate(memory, view.labelled, intent);
  return {
    ...NOT_ASKED_FOR,
    now: Math.floor(snapshot.now),
    steadyNow: steady.now(),
    object,
    uid: uidOf(object),
    identity,
    constants: snapshot.constants,
    account: accountView(snapshot),
    intent,
    list: view,
    listsBegun: login?.listsBegun ?? [],
    absences: absencesOf(object, login, memory.view()),
    memory: memory.view(steady.now()),
    place: login?.place,
    probe: memory.probe,
    olderClaimant: isLeftToOlder(object, login?.facts, others),
    leaseRemainingMs: snapshot.leaseRemainingMs,
    jitter: snapshot.jitter,
  };
}

/** Remembers a machine that came too late: a list that lacks it later is no proof that it is gone. */
function noteLate(memory: ObjectMemory, labelled: readonly ListedMachine[], reading: IntentReading): void {
  const written = reading.type === 'intent' ? reading.intent : undefined;
  for (const intent of [written, memory.intent]) {
    const machine = intent && listedLate(labelled, intent);
    if (machine) memory.late = { attempt: intent.attempt, issuedAt: intent.issuedAt, machine };
  }
  const newest = Math.max(written?.attempt ?? 0, memory.intent?.attempt ?? 0);
  if (memory.late?.attempt !== newest) memory.late = listedLateBefore(labelled, newest)[0] ?? memory.late;
}

function accountView({ account, isAllowed }: Snapshot): AccountView {
  const view = insidersView(account);
  const outsider = isAllowed === undefined ? 'undecided' : isAllowed ? undefined : 'refused';
  return outsider === undefined ? view : withoutWords(view, outsider);
}

function insidersView(lookup: AccountLookup<LoginSnapshot>): AccountView {
  if (lookup.type === 'missing')
    return { ...(lookup.isUnwatched && { isUnwatched: true }), state: 'missing' };
  if (lookup.type === 'ready') return { state: 'ready', facts: lookup.session.facts };
  const { reason, message, session } = lookup;
  return { state: 'notReady', reason, message, facts: session?.facts };
}

/** What an account says of itself is for those who may use it: this is the only place where its words are let through. */
function withoutWords(view: AccountView, outsider: Outsider): AccountView {
  if (view.state === 'missing') return { ...view, outsider };
  const { sentence } = reasons.NamespaceNotAllowed;
  const { facts } = view;
  const breaker =
    facts && (facts.breaker.type === 'closed' ? facts.breaker : { ...facts.breaker, message: sentence });
  const silent = facts && breaker && { ...facts, breaker };
  if (view.state === 'ready' && silent) return { state: 'ready', facts: silent, outsider };
  return { state: 'notReady', reason: 'NamespaceNotAllowed', message: sentence, facts: silent, outsider };
}

interface Listing {
  readonly login: LoginSnapshot;
  readonly list: CompleteList;
  readonly intent: IntentReading;
  readonly recorded: Instance | undefined;
}

function listView(object: GpuInstance, listing: Listing, snapshot: Snapshot): ListView {
  const { login, list, intent, recorded } = listing;
  const uid = uidOf(object);
  const others = intent.type === 'intent' && intent.intent.uid !== uid ? intent.intent.uid : undefined;
  return {
    begunAt: list.begunAt,
    begunSteady: login.begunSteady,
    recorded,
    labelled: login.labelled(uid),
    // One that only carries a copy of the label is somebody else's, and nobody is asked to end it.
    formerSelf:
      others === undefined
        ? undefined
        : login.labelled(others).find(({ ownership }) => ownership.type !== 'labelCopied')?.row,
    adoptTarget: adoptTarget(object, listing, snapshot),
    ...unownedRows(object, listing, snapshot),
    ids: [...list.rows.keys()],
  };
}

function adoptTarget(
  object: GpuInstance,
  { login, list }: Listing,
  { identity, constants, others }: Snapshot,
): ListedMachine | undefined {
  const row = object.spec.adopt && list.rows.get(object.spec.adopt.instanceId);
  if (!row) return undefined;
  const recording = others.recording(row.id);
  const claims = recording.flatMap(({ metadata, status }) => {
    const { instanceId, claim, attempt = 0 } = status ?? {};
    if (instanceId !== row.id || claim === undefined || metadata.uid === undefined) return [];
    return metadata.uid === object.metadata.uid ? [] : [{ uid: metadata.uid, attempt, instanceId, claim }];
  });
  const context = { identity, login: login.facts.login, constants, claims };
  return { row, ownership: ownershipOf(row, context) };
}

/**
 * Rows that could be a purchase whose label the service does not give back, or gives back maimed. While it is
 * not known whether labels come back, one without any may as well be somebody's own: then it is doubtful. So is one that
 * another object wants to take over.
 */
function unownedRows(
  object: GpuInstance,
  { login, list, intent: reading }: Listing,
  { identity, constants, others }: Snapshot,
): Pick<ListView, 'unowned' | 'doubtful'> {
  if (reading.type !== 'intent' || !reading.intent.knownIds) return { unowned: [], doubtful: [] };
  const { intent } = reading;
  const rivals = rivalsOf(object, others.all(), others.loginOf);
  const recorded = new Set(rivals.map(({ status }) => status?.instanceId));
  const adopted = new Set(rivals.map(({ spec }) => spec.adopt?.instanceId));
  const free = [...list.rows.values()].filter(({ id }) => !recorded.has(id));
  const echo = login.facts.labelEcho;
  const sent = makeLabel(identity, intent);
  const inTime = ({ startedAt }: Instance) =>
    startedAt === undefined || startsInWindow(startedAt, intent.issuedAt, constants);
  /** How much a shown label looks like what a service may have made of the one that was sent. */
  const likeness = ({ label }: Instance) => {
    if (label === undefined) return 'recognizable';
    if (echo === 'echoed') return 'none';
    if (label) return remnantOf(sent, label);
    return echo === 'notEchoed' ? 'recognizable' : 'doubtful';
  };
  const likenessOf = (row: Instance) => {
    const seen = likeness(row);
    return seen === 'recognizable' && adopted.has(row.id) ? 'doubtful' : seen;
  };
  return {
    unowned: free.filter((row) => likenessOf(row) === 'recognizable' && inTime(row)),
    doubtful: free.filter((row) => likenessOf(row) === 'doubtful' && inTime(row)),
  };
}

function absencesOf(
  object: GpuInstance,
  login: LoginSnapshot | undefined,
  { destroys, late }: MemoryView,
): ReadonlyMap<string, AbsenceView> {
  const ids = new Set([...destroys, object.status].flatMap((machine) => machine?.instanceId ?? []));
  if (late) ids.add(late.machine.id);
  return new Map([...ids].map((id) => [id, { lists: login?.absences(id) ?? [], read: undefined }]));
}

// Other objects

/**
 * Whether an older object of the same login wants the same machine; of two equally old ones the lower uid is the older.
 * Asked only of an object that may take over a machine: what is refused anyway costs nothing. Logins are asked for older
 * ones alone, up to the first that counts.
 */
function isLeftToOlder(
  object: GpuInstance,
  facts: AccountFacts | undefined,
  { adopting, loginOf }: OtherObjects,
): boolean {
  const { adopt } = object.spec;
  if (adopt === undefined || facts?.adoption !== 'Unlabelled' || facts.permitted !== true) return false;
  const born = parseTime(object.metadata.creationTimestamp) ?? 0;
  return adopting(adopt.instanceId).some((other) => {
    const age = parseTime(other.metadata.creationTimestamp) ?? 0;
    const isOlder = age < born || (age === born && uidOf(other) < uidOf(object));
    return isOlder && rivalsOf(object, [other], loginOf).length > 0;
  });
}

/** The login that an object's account proved, as text; undefined if none did. */
export type LoginOf = (object: GpuInstance) => string | undefined;

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

/** The index of a cache: GpuInstances by the id of the machine that they record. */
export const BY_MACHINE = 'instanceId';
/** GpuInstances by the id of the machine that they want to take over. */
export const BY_ADOPTED = 'adopt';

/** The indexes by which other objects are found, without a walk over all of them. */
export const machineIndexes: Readonly<Record<string, (object: GpuInstance) => readonly string[]>> = {
  [BY_MACHINE]: ({ status }) => (status?.instanceId === undefined ? [] : [status.instanceId]),
  [BY_ADOPTED]: ({ spec }) => (spec.adopt === undefined ? [] : [spec.adopt.instanceId]),
};
