import { reporterOf } from '../../accounts/avoid-list.ts';
import { believe, type Machine, type MachineRecord, unrecorded } from '../../accounts/beliefs/machine.ts';
import type { Agreement } from '../../accounts/beliefs/sightings.ts';
import type { QueuePosition } from '../../accounts/queue/admission-queue.ts';
import { type AccountDirectory, type AccountLookup, sessionOf } from '../../accounts/registry.ts';
import { serviceNow } from '../../accounts/service-clock.ts';
import type { AccountSession } from '../../accounts/session.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { reasons } from '../../api/v1alpha1/reasons.ts';
import { accountRefOf } from '../../instance/account-ref.ts';
import { type IdlePolicy, idlePolicy } from '../../instance/idle.ts';
import { parseTime } from '../../lib/time.ts';
import type { CompleteList } from '../../market/feed-state.ts';
import type { MachineRow } from '../../market/machine.ts';
import { claimVerifies } from '../../ownership/claim.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { Identity } from '../../ownership/identity.ts';
import { type IntentReading, type RentalIntent, readIntent } from '../../ownership/intent.ts';
import { makeLabel, remnantOf } from '../../ownership/label.ts';
import { loginText } from '../../ownership/login.ts';
import { ownershipOf, type RecordedClaim, startsInWindow } from '../../ownership/ownership.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import { accountFacts } from './account-facts.ts';
import { candidatesAfter } from './candidates.ts';
import type { SharedDeps } from './deps.ts';
import { listedLate, listedLateBefore } from './facts.ts';
import type { ObjectMemory, SteadyClock } from './memory.ts';
import type {
  AbsenceView,
  AccountFacts,
  AccountView,
  IdleView,
  LeaseView,
  ListedMachine,
  ListView,
  MemoryView,
  Observed,
  Outsider,
} from './types.ts';

/**
 * Surroundings of an object at one moment. The operator reads them from its caches, `explain` from one list; reading
 * them never waits.
 */
export interface Snapshot {
  /** Epoch milliseconds, by the operator's wall clock. */
  readonly now: number;
  /** In [0, 1): spreads retries. */
  readonly jitter: number;
  readonly constants: PurchaseConstants;
  readonly identity: Identity;
  readonly account: AccountLookup<LoginSnapshot>;
  /** Text of the SpendBudget that stops the machines of the namespace; undefined if none does. */
  readonly budgetStop?: string | undefined;
  /** True if the object's namespace may use the account; undefined while that is being found out. */
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
  /** Agreement of complete lists on a row. */
  readonly agreement: (row: MachineRow) => Agreement;
  /** Idle time of that machine by a policy. */
  readonly idle: (instanceId: string, policy: IdlePolicy) => IdleView | undefined;
  /** Position of the object in the queue of the login. */
  readonly place: QueuePosition | undefined;
}

/** The GpuInstances of the cluster, the observed one included. */
export interface OtherObjects {
  all(): readonly GpuInstance[];
  /** Returns the objects whose status names that machine. */
  recording(instanceId: string): readonly GpuInstance[];
  /** Returns the objects that request to adopt that machine. */
  adopting(instanceId: string): readonly GpuInstance[];
  /** Returns the objects whose machine was rented by that offer. */
  rentedBy(offerId: string): readonly GpuInstance[];
  readonly loginOf: LoginOf;
}

// Snapshot

/** Sources of a snapshot for the operator. */
type SnapshotDeps = Pick<
  SharedDeps,
  'clock' | 'random' | 'instances' | 'budgets' | 'constants' | 'index' | 'steady' | 'identity'
> & {
  readonly accounts: Pick<AccountDirectory, 'get' | 'permits'>;
  readonly withoutStart: ReadonlySet<string>;
};

/**
 * Takes a snapshot of caches, sessions and clocks, without waiting. Undefined while the identity of this installation
 * is unknown.
 */
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
    constants,
    identity,
    account: withLogin(lookup, (proven) => loginSnapshot(proven, object, deps)),
    budgetStop: deps.budgets.stop(namespace),
    // Every object of the account's own namespace may use it.
    isAllowed:
      ref.namespace === namespace || (session?.permits(namespace) ?? accounts.permits(ref, namespace)),
    others: {
      all: () => instances.list(),
      recording: (id) => instances.byIndex(BY_MACHINE, id),
      adopting: (id) => instances.byIndex(BY_ADOPTED, id),
      rentedBy: (id) => instances.byIndex(BY_OFFER, id),
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
    facts: accountFacts({
      login: session.login,
      market: session.market.about,
      limits: session.limits,
      breaker: observer.breaker,
      labelEcho: observer.labelEcho,
      credit: user.credit,
      suspended: session.admission.isSuspended,
      permitted: session.permits(object.metadata.namespace ?? ''),
      adoption: session.adoption(),
      mayDestroy: user.mayDestroy,
      sshKeyRegistered: user.sshKeyRegistered,
      avoided: session.avoid.current(reporterOf(object, '').owner),
      reserved: session.admission.reservedFor(uidOf(object)),
      watched: {
        openSpans,
        countsHostFailures: observer.countsHostFailures,
        serviceTime: session.serviceClock.now(),
        startUnsupported: withoutStart.has(session.uid),
        isEndJudged: observer.isEndJudged(uidOf(object)),
      },
    }),
    list,
    begunSteady: (list && times([list.begunAt])[0]) ?? Number.NEGATIVE_INFINITY,
    listsBegun: times(feed.listsBegunSince(0)),
    absences: (id) => times(feed.absences(id)),
    labelled: (uid) => (list ? index.labelled(session, list, uid) : []),
    agreement: (row) => session.agreement(row),
    idle: (id, policy) => idleView(session, steady, { id, policy }),
    place: session.queue.place(uidOf(object), object.metadata.generation ?? 0),
  };
}

function idleView(
  { utilization }: Pick<AccountSession, 'utilization'>,
  steady: SteadyClock,
  { id, policy: { below, afterMs } }: { readonly id: string; readonly policy: IdlePolicy },
): IdleView | undefined {
  const spell = utilization.idleSpell(id, below);
  if (!spell) return undefined;
  const now = steady.toMonotonic(steady.now());
  const from = Math.max(spell.since, now - afterMs);
  const covered = now > from ? utilization.coveredMs(from, now) / (now - from) : 0;
  return { since: steady.fromMonotonic(spell.since), lists: spell.lists, covered };
}

// Observe

/** Memory of this process about the object, and the clock that dates it. */
interface Remembered {
  readonly memory: ObjectMemory;
  readonly steady: SteadyClock;
}

/** Sources of a snapshot for the operator, with its memory. */
export type ObserveDeps = SnapshotDeps & Remembered;

/** Reads of machines that no rule has requested yet. */
const NO_READS = {
  confirmed: undefined,
  labelReads: new Map(),
  loginProven: undefined,
  published: undefined,
} as const;

/** Searches and inputs that no rule has requested yet. */
const NO_SEARCHES = { inputs: undefined, offers: new Map(), broadOffers: undefined } as const;

/** Returns the present inputs of one reconcile. Undefined while the identity of this installation is unknown. */
export function observe(object: GpuInstance, deps: ObserveDeps): Observed | undefined {
  const snapshot = takeSnapshot(object, deps);
  return snapshot && observeSnapshot(object, snapshot, deps);
}

/** Returns the inputs of one reconcile, from the snapshot and from memory, which is updated by the snapshot. */
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
  const policy = idlePolicy(object);
  const row = instanceId === undefined ? undefined : list?.rows.get(instanceId);
  const recorded = row && login && believe(row, login.agreement(row), recordOf(object, intent));
  memory.note({
    object,
    intent,
    recorded,
    list,
    steady,
    serviceNow: login && list && serviceNow(login.facts.serviceTime, snapshot.now),
  });
  const view = login && list && listView(object, { login, list, intent, recorded }, snapshot);
  if (view) noteSightings(memory, view, { object, intent });
  return {
    object,
    machine: {
      ...NO_READS,
      list: view,
      listsBegun: login?.listsBegun ?? [],
      absences: absencesOf(object, login, memory.view()),
      probe: memory.probe,
      lease: leaseView(memory.lease, steady),
      selfEnd: memory.selfEnd,
      runResult: memory.runResult,
      idle: policy && instanceId !== undefined ? login?.idle(instanceId, policy) : undefined,
      isOfferSoldBefore: isSoldBefore(object, others),
      olderClaimant: isLeftToOlder(object, login?.facts, others),
    },
    account: accountView(snapshot),
    budgetStop: snapshot.budgetStop,
    purchase: { ...NO_SEARCHES, uid: uidOf(object), identity, intent, place: login?.place },
    clock: {
      now: Math.floor(snapshot.now),
      steadyNow: steady.now(),
      constants: snapshot.constants,
      jitter: snapshot.jitter,
    },
    memory: memory.view(steady.now()),
  };
}

/** Returns a lease whose renewal has a steady time: the memory has the monotonic one. */
function leaseView(lease: LeaseView | undefined, steady: SteadyClock): LeaseView | undefined {
  if (lease?.renewedAt === undefined) return lease;
  return { ...lease, renewedAt: steady.fromMonotonic(lease.renewedAt) };
}

/** Records the purchases that a list shows, since a later list may lack them. */
function noteSightings(
  memory: ObjectMemory,
  view: ListView,
  { object, intent }: { readonly object: GpuInstance; readonly intent: IntentReading },
): void {
  noteLate(memory, view.labelled, intent);
  const { candidates: known, intent: newest = writtenIntent(intent) } = memory.fields;
  memory.fields.candidates = candidatesAfter({ known, view, object, newest });
}

function writtenIntent(reading: IntentReading): RentalIntent | undefined {
  return reading.type === 'intent' ? reading.intent : undefined;
}

/** Records a machine that appeared too late: a later list that lacks it is no proof that it is gone. */
function noteLate(memory: ObjectMemory, labelled: readonly ListedMachine[], reading: IntentReading): void {
  const written = writtenIntent(reading);
  for (const intent of [written, memory.fields.intent]) {
    const row = intent && listedLate(labelled, intent);
    if (row) memory.fields.late = { attempt: intent.attempt, issuedAt: intent.issuedAt, row };
  }
  const newest = Math.max(written?.attempt ?? 0, memory.fields.intent?.attempt ?? 0);
  if (memory.fields.late?.attempt !== newest)
    memory.fields.late = listedLateBefore(labelled, newest)[0] ?? memory.fields.late;
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
  const { reason, message, outage, session } = lookup;
  return { state: 'notReady', reason, message, outage, facts: session?.facts };
}

/**
 * Returns the view of an account without its messages, which only permitted namespaces may read. No other place passes
 * them on.
 */
function withoutWords(view: AccountView, outsider: Outsider): AccountView {
  if (view.state === 'missing') return { ...view, outsider };
  const { sentence } = reasons.NotAllowedByAccount;
  const { facts } = view;
  const breaker =
    facts && (facts.breaker.type === 'closed' ? facts.breaker : { ...facts.breaker, message: sentence });
  const silent = facts && breaker && { ...facts, breaker };
  if (view.state === 'ready' && silent) return { state: 'ready', facts: silent, outsider };
  return { state: 'notReady', reason: 'NotAllowedByAccount', message: sentence, facts: silent, outsider };
}

/** Returns the object's record of its machine. An intent of another attempt dates another machine. */
function recordOf({ status = {} }: GpuInstance, reading: IntentReading): MachineRecord {
  const isOwn = reading.type === 'intent' && reading.intent.attempt === status.attempt;
  return { status, issuedAt: isOwn ? reading.intent.issuedAt : undefined };
}

interface Listing {
  readonly login: LoginSnapshot;
  readonly list: CompleteList;
  readonly intent: IntentReading;
  readonly recorded: Machine | undefined;
}

function listView(object: GpuInstance, listing: Listing, snapshot: Snapshot): ListView {
  const { login, list, intent, recorded } = listing;
  const uid = uidOf(object);
  const isFree = ({ row }: ListedMachine) => claimOfOther(object, row.id, login, snapshot) === undefined;
  const others = intent.type === 'intent' && intent.intent.uid !== uid ? intent.intent.uid : undefined;
  return {
    begunAt: list.begunAt,
    begunSteady: login.begunSteady,
    recorded,
    labelled: login.labelled(uid).filter(isFree),
    // A machine with a copied label belongs to another owner and is never ended.
    formerSelf:
      others === undefined
        ? undefined
        : login.labelled(others).find(({ ownership }) => ownership.type !== 'labelCopied')?.row,
    copiedFrom: others === undefined ? undefined : originalOf(others, snapshot),
    adoptTarget: adoptTarget(object, listing, snapshot),
    ...unownedRows(object, listing, snapshot),
    ids: [...list.rows.keys()],
  };
}

/** Returns the original of a copied intent among all objects; a copy is rare, and other intents cause no search. */
function originalOf(uid: string, { others }: Snapshot): string | undefined {
  const original = others.all().find(({ metadata }) => metadata.uid === uid);
  return original && `${original.metadata.namespace}/${original.metadata.name}`;
}

function adoptTarget(
  object: GpuInstance,
  { login, list }: Listing,
  { identity, constants, others }: Snapshot,
): ListedMachine | undefined {
  const row = object.spec.adopt && list.rows.get(object.spec.adopt.instanceId);
  if (!row) return undefined;
  const claims = claimsOfOthers(object, row.id, others);
  const context = { identity, login: login.facts.login, constants, claims };
  return { row: unrecorded(row, login.agreement(row)), ownership: ownershipOf(row, context) };
}

/** Claims that other objects, of any account, have recorded on that machine. */
function claimsOfOthers(
  { metadata: { uid: own } }: GpuInstance,
  machineId: string,
  { recording }: OtherObjects,
): readonly RecordedClaim[] {
  return recording(machineId).flatMap(({ metadata: { uid }, status }) => {
    const { claim, attempt = 0 } = status ?? {};
    if (claim === undefined || uid === undefined || uid === own) return [];
    return [{ uid, attempt, instanceId: machineId, claim }];
  });
}

/**
 * Returns another object's verified claim to that machine: whatever its label is, the machine belongs to that object.
 */
function claimOfOther(
  object: GpuInstance,
  machineId: string,
  { facts: { login } }: LoginSnapshot,
  { identity, others }: Snapshot,
): RecordedClaim | undefined {
  return claimsOfOthers(object, machineId, others).find((facts) =>
    claimVerifies(identity.keys, { ...facts, login }, facts.claim),
  );
}

/**
 * Returns the rows that could be a purchase whose label the service drops or changes. While it is unknown whether
 * labels are echoed, a row without one may belong to a person: it is doubtful. A row that another object requests to
 * adopt is doubtful, too.
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
  const inTime = ({ startedAt }: MachineRow) =>
    startedAt === undefined || startsInWindow(startedAt, intent.issuedAt, constants);
  /** Returns the similarity of a shown label to the sent label, as the service may have changed it. */
  const likeness = ({ label }: MachineRow) => {
    if (label === undefined) return 'recognizable';
    if (echo === 'echoed') return 'none';
    if (label) return remnantOf(sent, label);
    return echo === 'notEchoed' ? 'recognizable' : 'doubtful';
  };
  const likenessOf = (row: MachineRow) => {
    const seen = likeness(row);
    return seen === 'recognizable' && adopted.has(row.id) ? 'doubtful' : seen;
  };
  const alike = (likeness: ReturnType<typeof likenessOf>) =>
    free
      .filter((row) => likenessOf(row) === likeness && inTime(row))
      .map((row) => unrecorded(row, login.agreement(row)));
  return { unowned: alike('recognizable'), doubtful: alike('doubtful') };
}

function absencesOf(
  object: GpuInstance,
  login: LoginSnapshot | undefined,
  { destroys, late, candidates }: MemoryView,
): ReadonlyMap<string, AbsenceView> {
  const recorded = [...destroys, object.status].flatMap((machine) => machine?.instanceId ?? []);
  const ids = new Set([...recorded, ...candidates.keys()]);
  if (late) ids.add(late.row.id);
  return new Map([...ids].map((id) => [id, { lists: login?.absences(id) ?? [], read: undefined }]));
}

// Other objects

/**
 * Returns true if an older object of the same login may adopt the same machine; of two equally old objects the lower
 * uid is the older. Called only for an object that may adopt, so a refused adoption costs no lookup. It lists older
 * objects of the login only, up to the first that counts.
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

/**
 * Returns true if an object of the same login has an earlier machine of the same offer and the same physical machine.
 */
function isSoldBefore(object: GpuInstance, { rentedBy, loginOf }: OtherObjects): boolean {
  const { offerId, machineId, rentedAt } = object.status ?? {};
  const at = parseTime(rentedAt);
  if (offerId === undefined || machineId === undefined || at === undefined) return false;
  return rivalsOf(object, rentedBy(offerId), loginOf).some(({ status }) => {
    const earlier = parseTime(status?.rentedAt);
    return status?.machineId === machineId && earlier !== undefined && earlier < at;
  });
}

/** Returns the login that an object's account proved, as text; undefined if there is none. */
export type LoginOf = (object: GpuInstance) => string | undefined;

/** Returns every other object except those of other logins, for which the same id names another machine. */
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
/** GpuInstances by the id of the machine that they request to adopt. */
export const BY_ADOPTED = 'adopt';
/** GpuInstances by the offer that their machine was rented by. */
const BY_OFFER = 'offer';

/** Indexes that find other objects without a scan of all. */
export const machineIndexes: Readonly<Record<string, (object: GpuInstance) => readonly string[]>> = {
  [BY_MACHINE]: ({ status }) => (status?.instanceId === undefined ? [] : [status.instanceId]),
  [BY_OFFER]: ({ status }) =>
    status?.offerId === undefined || status.instanceId === undefined ? [] : [status.offerId],
  [BY_ADOPTED]: ({ spec }) => (spec.adopt === undefined ? [] : [spec.adopt.instanceId]),
};
