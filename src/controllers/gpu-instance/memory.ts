import { type Machine, unrecorded } from '../../accounts/beliefs/machine.ts';
import type { Agreement } from '../../accounts/beliefs/sightings.ts';
import type { AccountSession } from '../../accounts/session.ts';
import type { GpuInstance, GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { requestToken } from '../../api/v1alpha1/object.ts';
import { isFailing, isRecorded, isStopped, recordedState } from '../../instance/machine-state.ts';
import type { Clock } from '../../lib/clock.ts';
import { parseTime } from '../../lib/time.ts';
import type { Feed } from '../../market/feed.ts';
import { type CompleteList, listTook } from '../../market/feed-state.ts';
import { compareIds } from '../../market/ids.ts';
import type { MachineRow } from '../../market/machine.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { IntentReading, RentalIntent } from '../../ownership/intent.ts';
import { ownershipOf } from '../../ownership/ownership.ts';
import { findCondition } from '../../runtime/conditions.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import { Retry } from './retry.ts';
import type {
  DestroyMark,
  LeaseView,
  ListedMachine,
  MemoryFields,
  MemoryView,
  ProbeView,
  RunResultView,
  SelfEndView,
  WatchedFields,
} from './types.ts';

/** Interval of the check for changed or deleted children; Secrets may not be watched. */
export const CHILDREN_CHECK_MS = 900_000;

/** An object that waits for an offer is tried this often, not at each of its searches. */
const CHILDREN_TRIED_MS = 300_000;

/**
 * Memory of this process about one object, beyond the cluster. It only saves time and money: record, label and lists
 * restore lost memory.
 */
export class ObjectMemory extends Retry {
  /** Fields that rules see; {@link MemoryFields} describes each. */
  readonly fields: Writable<MemoryFields> = {
    candidates: new Map(),
    destroys: [],
    destroyFailures: 0,
    destroyNotBefore: 0,
    firstSeenAt: Number.POSITIVE_INFINITY,
  };
  probe: ProbeView | undefined;
  lease: LeaseView | undefined;
  selfEnd: SelfEndView | undefined;
  runResult: RunResultView | undefined;
  /** Kinds and names of children that this process has found to be missing, or has deleted. */
  readonly absentChildren = new Set<string>();
  /** Resource version of the object at which its children had it as their owner. */
  ownedChildrenAt: string | undefined;
  /** True if the record of the account contains rentals and costs of this deleted object. */
  isInAccountRecord = false;
  #childrenTried: { readonly generation: number | undefined; readonly at: number } | undefined;
  readonly #watch = new MachineWatch();
  /** Start of the idle time whose warning was recorded. */
  #idleSince: string | undefined;
  /** The service's clock has dated the intent: its deadline stays. */
  #isDeadlineFinal = false;
  #generation: number | undefined;
  #asked: string | undefined;
  /** A person requested a reconcile now, and no list was requested since. */
  asksForList = false;
  /** The search for a machine in place of the present one, which works. */
  readonly replacement = new Retry();

  /** Records that a destroy was answered with success. */
  destroyed(mark: DestroyMark): void {
    const { destroys } = this.fields;
    const isKnown = destroys.some(({ instanceId }) => instanceId === mark.instanceId);
    this.fields.destroys = isKnown
      ? destroys.map((known) => (known.instanceId === mark.instanceId ? mark : known))
      : [...destroys, mark];
    this.#destroysWork();
  }

  /** Records a failed destroy: the next attempt comes after `afterMs`. Other failures do not delay it. */
  destroyFailed(now: number, afterMs: number): void {
    this.fields.destroyFailures++;
    this.fields.destroyNotBefore = now + afterMs;
  }

  #destroysWork(): void {
    this.fields.destroyFailures = 0;
    this.fields.destroyNotBefore = 0;
  }

  /** Records that a machine is proven gone, and that the status contains it. */
  settled(instanceId: string): void {
    this.fields.destroys = this.fields.destroys.filter((mark) => mark.instanceId !== instanceId);
    this.#destroysWork();
    this.#watch.ended();
    this.replacement.succeeded();
    this.fields.stopAskedAt = undefined;
    this.fields.stopAnsweredAt = undefined;
    this.fields.startAnsweredAt = undefined;
    this.fields.startSentAt = undefined;
    this.probe = undefined;
    this.lease = undefined;
    this.selfEnd = undefined;
    this.runResult = undefined;
  }

  override accountChanged(): void {
    super.accountChanged();
    this.replacement.accountChanged();
  }

  /** Clears failures that may be over: a person changed the object, or requested a reconcile. */
  #startOver(): void {
    this.succeeded();
    this.replacement.succeeded();
  }

  /** Records that the children are as desired; they are verified again after {@link CHILDREN_CHECK_MS}. */
  childrenWritten(now: number): void {
    this.fields.childrenDueAt = now + CHILDREN_CHECK_MS;
  }

  /** Records that the children of this generation could be written. */
  childrenTried(generation: number | undefined, now: number): void {
    this.#childrenTried = { generation, at: now };
  }

  /** Returns true if a short while ago the children of this generation could be written. */
  areChildrenTried(generation: number | undefined, now: number): boolean {
    const tried = this.#childrenTried;
    return tried !== undefined && tried.generation === generation && now - tried.at < CHILDREN_TRIED_MS;
  }

  /** Records the observation of a reconcile, before it decides. */
  note({ object, intent, recorded, list, steady, serviceNow }: ObjectObservation): void {
    const { metadata, spec, status } = object;
    if (!Number.isFinite(this.fields.firstSeenAt)) this.fields.foundMachine = status?.instanceId;
    if (!Number.isFinite(this.fields.firstSeenAt)) this.fields.stopAnsweredAt ??= stopOnRecord(status);
    this.fields.firstSeenAt = Math.min(this.fields.firstSeenAt, steady.now());
    // A failure under an older spec may not occur under this one.
    if (this.#generation !== undefined && this.#generation !== metadata.generation) {
      this.#startOver();
      this.fields.destroyNotBefore = 0;
      this.replacement.firstSearch = undefined;
    }
    this.#generation = metadata.generation;
    this.#atRequest(object);
    for (const each of [intent.type === 'intent' ? intent.intent : undefined, this.fields.intent]) {
      if (each) this.#deadline(each, serviceNow, steady);
    }
    // Spreads the checks of children that another process wrote, so that a thousand objects do not read at the same
    // time.
    if (status?.binding)
      this.fields.childrenDueAt ??= steady.now() + CHILDREN_CHECK_MS * spreadOf(uidOf(object));
    // A start ends when it succeeded, or is no longer desired: the next one has its own time.
    const isUp = recorded !== undefined && !isStopped(recorded);
    if (isUp || spec.powerState === 'Stopped') this.fields.startAnsweredAt = undefined;
    if (isUp && isStopped(recordedState(status))) {
      this.fields.stopAnsweredAt = undefined;
      this.fields.stopAskedAt = undefined;
    }
    this.#noteWarning(status, steady);
    this.#watch.note({ status, row: list && recorded, steady });
  }

  /** Records when the warning of an end for idleness came on record, for the process that may carry it out. */
  #noteWarning(status: GpuInstanceStatus | undefined, steady: SteadyClock): void {
    const { since, endsAt } = status?.idle ?? {};
    const warned = endsAt === undefined ? undefined : since;
    if (warned !== this.#idleSince) this.warnedOfIdle(warned, steady.now());
  }

  /** Records that the warning of an end for the idle time since `since` came on record at `at` (steady). */
  warnedOfIdle(since: string | undefined, at: number): void {
    this.#idleSince = since;
    this.fields.idleWarnedAt = since === undefined ? undefined : at;
  }

  /** Resets all backoffs when a person requests a reconcile. */
  #atRequest({ metadata, status }: GpuInstance): void {
    const asked = requestToken(metadata, annotations.requestedAt);
    if (asked === undefined || asked === this.#asked) return;
    this.#asked = asked;
    if (asked === status?.requestedAt) return;
    this.#startOver();
    this.asksForList = true;
  }

  /**
   * Records the deadline of an intent. The service's clock dates the intent once; after that only the monotonic clock
   * counts. Until then the intent counts as issued when this process first read it.
   */
  #deadline(
    { attempt, deadline, issuedAt }: RentalIntent,
    serviceNow: number | undefined,
    steady: SteadyClock,
  ): void {
    const known = this.fields.intentDeadline;
    const isKnown = known !== undefined && attempt <= known.attempt;
    if (isKnown && (this.#isDeadlineFinal || attempt < known.attempt || serviceNow === undefined)) return;
    const ageMs = Math.max(0, (serviceNow ?? issuedAt) - issuedAt);
    this.fields.intentDeadline = { attempt, at: steady.now() - ageMs + (deadline - issuedAt) };
    this.#isDeadlineFinal = serviceNow !== undefined;
  }

  view(now = Number.NEGATIVE_INFINITY): MemoryView {
    const replacement = this.replacement.retryView(now);
    return { ...this.retryView(now), ...this.fields, ...this.#watch.fields, replacement };
  }
}

/** Returns the time of the reply to a stop by an earlier process, if the cost on record does not include it yet. */
function stopOnRecord(status: GpuInstanceStatus | undefined): number | undefined {
  const { answered, cost } = status ?? {};
  const at = answered?.action === 'Stop' ? parseTime(answered.at) : undefined;
  return at !== undefined && at > (parseTime(cost?.since) ?? 0) ? at : undefined;
}

type Writable<T> = { -readonly [Field in keyof T]: T[Field] };

/** Returns a share in [0, 1) that is constant for one object. */
function spreadOf(uid: string): number {
  return (Number.parseInt(uid.slice(0, 4), 16) || 0) / 0x10000;
}

/** Observation of an object and its machine. */
interface ObjectObservation {
  readonly object: GpuInstance;
  readonly intent: IntentReading;
  readonly recorded: Machine | undefined;
  readonly list: CompleteList | undefined;
  readonly steady: SteadyClock;
  /** Time of the marketplace in epoch milliseconds; undefined while its clock is not known. */
  readonly serviceNow: number | undefined;
}

/** The memories of all objects, by uid. */
export class Memories {
  readonly #byUid = new Map<string, ObjectMemory>();

  of(uid: string): ObjectMemory {
    const known = this.#byUid.get(uid);
    if (known) return known;
    const fresh = new ObjectMemory();
    this.#byUid.set(uid, fresh);
    return fresh;
  }

  /** Records a change of the account; no effect if this process has no memory of the object. */
  accountChanged(uid: string): void {
    this.#byUid.get(uid)?.accountChanged();
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }
}

/** Observation of the recorded machine. */
interface MachineObservation {
  readonly status: GpuInstanceStatus | undefined;
  /** Row of the machine in the latest complete list; undefined if it is not listed, or without a list. */
  readonly row: Machine | undefined;
  readonly steady: SteadyClock;
}

/**
 * Times since which this process has observed each state of the present machine, in steady time: a wrong wall clock
 * after a restart must not make a machine lost that has only just turned bad.
 */
export class MachineWatch {
  readonly fields: Writable<WatchedFields> = {};
  #instanceId: string | undefined;
  #progressText: string | undefined;

  note({ status, row, steady }: MachineObservation): void {
    this.#noteMachine(status, steady);
    const text = status?.progressAt;
    if (text !== this.#progressText) {
      this.#progressText = text;
      this.fields.progressOnRecord = text === undefined ? undefined : sinceText(text, steady);
    }
    if (row) this.#seeRow(row, status, steady);
  }

  /** Clears the state: the next machine is a different one. */
  ended(): void {
    this.fields.seenStatus = undefined;
    this.fields.progress = undefined;
    this.fields.badEndedAt = undefined;
  }

  #noteMachine(status: GpuInstanceStatus | undefined, steady: SteadyClock): void {
    const { instanceId, conditions } = status ?? {};
    if (instanceId === this.#instanceId) return;
    const rented = findCondition(conditions, 'Rented')?.lastTransitionTime;
    // A machine that follows another without a pause: its object has been Rented since the first of them.
    const since = this.#instanceId === undefined ? sinceText(rented, steady) : steady.now();
    this.fields.rentedSince = instanceId === undefined ? undefined : since;
    this.fields.watchedSince = instanceId === undefined ? undefined : steady.now();
    this.#instanceId = instanceId;
  }

  #seeRow(row: Machine, status: GpuInstanceStatus | undefined, steady: SteadyClock): void {
    const { state, marketStatus } = row;
    const before = this.fields.seenStatus;
    if (before?.state !== state || before.marketStatus !== marketStatus) {
      const isBad = isFailing(row);
      if (before && isFailing(before) && !isBad) this.fields.badEndedAt = steady.now();
      const isOnRecord = before === undefined && isRecorded(row, status) && !isBad;
      const since = isOnRecord ? sinceText(status?.actualStatusSince, steady) : steady.now();
      this.fields.seenStatus = { state, marketStatus, since };
    }
    if (this.fields.progress?.text === row.statusMessage) return;
    const at = this.fields.progress ? steady.now() : Number.NEGATIVE_INFINITY;
    this.fields.progress = { text: row.statusMessage, at };
  }
}

function sinceText(text: string | undefined, steady: SteadyClock): number {
  const wall = parseTime(text);
  return wall === undefined ? steady.now() : steady.fromWall(wall);
}

/** Maximum number of list times kept per feed, in addition to that of the first list. */
const MAX_LISTS = 256;

/**
 * Elapsed time that no jump of the wall clock changes: milliseconds in the form of epoch time that follow the
 * monotonic clock. Times of lists are translated into it as they arrive, so that "begun after" and "so long apart"
 * remain true when the wall clock is set.
 */
export class SteadyClock {
  readonly #clock: Clock;
  readonly #wall: number;
  readonly #monotonic: number;
  readonly #lists = new WeakMap<Feed, Map<number, number>>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#wall = clock.now();
    this.#monotonic = clock.monotonic();
  }

  now(): number {
    return this.#wall + this.#clock.monotonic() - this.#monotonic;
  }

  /** Returns the steady time of a durable wall time: as long ago as by the present wall clock, never in the future. */
  fromWall(wall: number): number {
    return this.now() - Math.max(0, this.#clock.now() - wall);
  }

  /** Returns the steady time of a monotonic one. */
  fromMonotonic(monotonic: number): number {
    return this.#wall + monotonic - this.#monotonic;
  }

  /** Returns the inverse of {@link fromMonotonic}. */
  toMonotonic(steady: number): number {
    return steady - this.#wall + this.#monotonic;
  }

  /** Records a list that has just arrived. */
  noteList(feed: Feed, list: CompleteList): void {
    const { begunAt } = list;
    const took = listTook(list);
    const begun = took === undefined ? Number.NEGATIVE_INFINITY : this.now() - took;
    const times = this.#lists.get(feed) ?? new Map<number, number>();
    this.#lists.set(feed, times.set(begunAt, begun));
    const [first] = times.keys();
    for (const oldest of times.keys()) {
      if (times.size <= MAX_LISTS + 1) break;
      if (oldest !== first) times.delete(oldest);
    }
  }

  /**
   * Returns the starts of lists, oldest first. One whose arrival was not observed counts as begun before everything.
   */
  listTimes(feed: Feed, begunAt: readonly number[]): readonly number[] {
    const times = this.#lists.get(feed);
    return begunAt.map((begun) => times?.get(begun) ?? Number.NEGATIVE_INFINITY);
  }
}

/** Source of the labels to search for: labels of this installation, on machines of that login. */
type Signer = Pick<AccountSession, 'identity' | 'login'> & {
  readonly agreement: (row: MachineRow) => Agreement;
};

type ByUid = ReadonlyMap<string, readonly ListedMachine[]>;

const NONE: readonly ListedMachine[] = [];

/** Machines by the uid in their label, computed once per list, however many objects request them. */
export class MachineIndex {
  readonly #constants: PurchaseConstants;
  readonly #indexes = new WeakMap<CompleteList, ByUid>();

  constructor(constants: PurchaseConstants) {
    this.#constants = constants;
  }

  /** Rows whose verified label names this uid, lowest id first. */
  labelled(session: Signer, list: CompleteList, uid: string): readonly ListedMachine[] {
    const known = this.#indexes.get(list);
    if (known) return known.get(uid) ?? NONE;
    const index = new Map<string, ListedMachine[]>();
    const context = { identity: session.identity, login: session.login, constants: this.#constants };
    for (const row of [...list.rows.values()].sort((left, right) => compareIds(left.id, right.id))) {
      const ownership = ownershipOf(row, context);
      if (!('facts' in ownership)) continue;
      const machines = index.get(ownership.facts.uid);
      const machine = { row: unrecorded(row, session.agreement(row)), ownership };
      if (machines) machines.push(machine);
      else index.set(ownership.facts.uid, [machine]);
    }
    this.#indexes.set(list, index);
    return index.get(uid) ?? NONE;
  }
}
