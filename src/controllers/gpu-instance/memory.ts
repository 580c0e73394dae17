import type { AccountSession } from '../../accounts/session.ts';
import type { GpuInstance, GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { requestToken } from '../../api/v1alpha1/object.ts';
import { isFailing, isStopped } from '../../instance/status-class.ts';
import type { Clock } from '../../lib/clock.ts';
import { parseTime } from '../../lib/time.ts';
import type { Feed } from '../../marketplace/feed/feed.ts';
import type { CompleteList } from '../../marketplace/feed/feed-state.ts';
import { compareIds } from '../../marketplace/ids.ts';
import type { Instance } from '../../marketplace/instances/instance.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { IntentReading, RentalIntent } from '../../ownership/intent.ts';
import { ownershipOf } from '../../ownership/ownership.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import { actualStatusOf } from './status.ts';
import type {
  DestroyMark,
  IntentMark,
  ListedMachine,
  MemoryView,
  ProbeView,
  QueueNotice,
  Refusal,
  RentedFacts,
} from './types.ts';

/** How often it is looked at whether someone changed or deleted a child; Secrets may not be watched. */
export const CHILDREN_CHECK_MS = 900_000;

/** Why nothing matches is looked for at most this often. */
export const EXPLAINED_MS = 600_000;

/**
 * What this process knows of one object beyond the cluster. It only saves time and money: whatever is lost
 * here is found again from the record, the label and the lists.
 */
export class ObjectMemory {
  rented: RentedFacts | undefined;
  intent: RentalIntent | undefined;
  refused: IntentMark | undefined;
  /** A machine that came too late for its purchase, as a list last showed it. */
  late: MemoryView['late'];
  refusal: Refusal | undefined;
  /** What was last said of its place in the queue. */
  queued: QueueNotice | undefined;
  failures = 0;
  notBefore = 0;
  stopAskedAt: number | undefined;
  stopAnsweredAt: number | undefined;
  startAnsweredAt: number | undefined;
  relabelledAt: number | undefined;
  destroyFailures = 0;
  destroyNotBefore = 0;
  probe: ProbeView | undefined;
  /** Kinds and names of children that this process has found to be missing, or has deleted. */
  readonly absentChildren = new Set<string>();
  /** The version of the object at which its children were seen to have it as their owner. */
  ownedChildrenAt: string | undefined;
  /** The brake has been told what this object leaves. */
  folded = false;
  #firstSeenAt: number | undefined;
  #childrenDueAt: number | undefined;
  readonly #destroys = new Map<string, DestroyMark>();
  readonly #watch = new MachineWatch();
  #intentDeadline: { readonly attempt: number; readonly at: number; readonly isFinal: boolean } | undefined;
  #generation: number | undefined;
  #asked: string | undefined;
  /** A person has asked to look now, and no list was asked for since. */
  asksForList = false;
  /** When this process saw the last request to look now, on `clock.monotonic()`. */
  askedAt: number | undefined;
  #waitsForAccount = false;
  #explained: { readonly refusal: Refusal; readonly at: number } | undefined;

  /** A destroy was answered with success. */
  destroyed(mark: DestroyMark): void {
    this.#destroys.set(mark.instanceId, mark);
    this.#destroysWork();
  }

  /** A destroy failed: none is tried again before `afterMs` have passed. Whatever else failed keeps none waiting. */
  destroyFailed(now: number, afterMs: number): void {
    this.destroyFailures++;
    this.destroyNotBefore = now + afterMs;
  }

  #destroysWork(): void {
    this.destroyFailures = 0;
    this.destroyNotBefore = 0;
  }

  /** A machine is proven gone, and the record says so. */
  settled(instanceId: string): void {
    this.#destroys.delete(instanceId);
    this.#destroysWork();
    this.#watch.ended();
    this.stopAskedAt = undefined;
    this.stopAnsweredAt = undefined;
    this.startAnsweredAt = undefined;
    this.probe = undefined;
  }

  /** Something failed: it is not tried again before `afterMs` have passed. */
  backOff(now: number, afterMs: number, refusal?: Refusal): void {
    this.#waitsForAccount = false;
    this.failures++;
    this.notBefore = now + afterMs;
    this.refusal = refusal;
  }

  /** The account has no room, or may not be used: asked again after that time, or as soon as the account changes. */
  refusedByAccount(now: number, afterMs: number, refusal: Refusal): void {
    this.backOff(now, afterMs, refusal);
    this.#waitsForAccount = true;
  }

  /** A limit, the key or the credit of the account is another one: what it refused may be allowed now. */
  accountChanged(): void {
    if (this.#waitsForAccount) this.succeeded();
  }

  /** The children are as they should be; they are looked at again after {@link CHILDREN_CHECK_MS}. */
  childrenWritten(now: number): void {
    this.#childrenDueAt = now + CHILDREN_CHECK_MS;
  }

  /** What was tried worked. */
  succeeded(): void {
    this.#waitsForAccount = false;
    this.failures = 0;
    this.notBefore = 0;
    this.refusal = undefined;
    this.#explained = undefined;
  }

  /** A search of everything said why nothing matches: that holds for {@link EXPLAINED_MS}. */
  explain(refusal: Refusal, now: number): void {
    this.#explained = { refusal, at: now };
  }

  /** Notes what a reconcile sees, before it decides. */
  note({ object, intent, recorded, list, steady, serviceNow }: ObjectObservation): void {
    const { metadata, spec, status } = object;
    this.#firstSeenAt ??= steady.now();
    // What failed by an older spec may work by this one.
    if (this.#generation !== undefined && this.#generation !== metadata.generation) {
      this.succeeded();
      this.destroyNotBefore = 0;
    }
    this.#generation = metadata.generation;
    this.#atRequest(object);
    for (const each of [intent.type === 'intent' ? intent.intent : undefined, this.intent]) {
      if (each) this.#deadline(each, serviceNow, steady);
    }
    // Children that another process wrote: their turns are spread, so that a thousand objects do not ask at once.
    if (status?.binding) this.#childrenDueAt ??= steady.now() + CHILDREN_CHECK_MS * spreadOf(uidOf(object));
    // A start is over once it worked, or is not wanted any more: the next one has its own time.
    const isUp = recorded !== undefined && !isStopped(actualStatusOf(recorded));
    if (isUp || spec.powerState === 'Stopped') this.startAnsweredAt = undefined;
    if (isUp && isStopped(status?.actualStatus)) this.stopAnsweredAt = undefined;
    this.#watch.note({ status, row: list && recorded, steady });
  }

  /** A person asks to look now: whatever waits to be tried again is tried at once. */
  #atRequest({ metadata, status }: GpuInstance): void {
    const asked = requestToken(metadata, annotations.requestedAt);
    if (asked === undefined || asked === this.#asked) return;
    this.#asked = asked;
    if (asked === status?.requestedAt) return;
    this.succeeded();
    this.asksForList = true;
  }

  /**
   * The service's clock says once how long ago an intent was issued; after that only the monotonic one counts. Until it
   * says so, the intent is as young as this process's first look at it.
   */
  #deadline(
    { attempt, deadline, issuedAt }: RentalIntent,
    serviceNow: number | undefined,
    steady: SteadyClock,
  ): void {
    const known = this.#intentDeadline;
    const isKnown = known !== undefined && attempt <= known.attempt;
    if (isKnown && (known.isFinal || attempt < known.attempt || serviceNow === undefined)) return;
    this.#intentDeadline = {
      attempt,
      at: steady.now() - Math.max(0, (serviceNow ?? issuedAt) - issuedAt) + (deadline - issuedAt),
      isFinal: serviceNow !== undefined,
    };
  }

  view(now = Number.NEGATIVE_INFINITY): MemoryView {
    const deadline = this.#intentDeadline;
    const explained = this.#explained;
    return {
      rented: this.rented,
      intent: this.intent,
      refused: this.refused,
      late: this.late,
      refusal: this.refusal,
      askedAt: this.askedAt,
      explained: explained && now - explained.at < EXPLAINED_MS ? explained.refusal : undefined,
      queued: this.queued,
      destroys: [...this.#destroys.values()],
      intentDeadline: deadline && { attempt: deadline.attempt, at: deadline.at },
      firstSeenAt: this.#firstSeenAt ?? Number.POSITIVE_INFINITY,
      ...this.#watch.view(),
      startAnsweredAt: this.startAnsweredAt,
      relabelledAt: this.relabelledAt,
      failures: this.failures,
      notBefore: this.notBefore,
      stopAskedAt: this.stopAskedAt,
      stopAnsweredAt: this.stopAnsweredAt,
      destroyFailures: this.destroyFailures,
      destroyNotBefore: this.destroyNotBefore,
      childrenDueAt: this.#childrenDueAt,
    };
  }
}

/** A share in [0, 1) that is always the same for one object. */
function spreadOf(uid: string): number {
  return (Number.parseInt(uid.slice(0, 4), 16) || 0) / 0x10000;
}

/** What a reconcile sees of an object and its machine. */
interface ObjectObservation {
  readonly object: GpuInstance;
  readonly intent: IntentReading;
  readonly recorded: Instance | undefined;
  readonly list: CompleteList | undefined;
  readonly steady: SteadyClock;
  /** undefined: not to be told at this moment. */
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

  /** Nothing where this process has no memory of that object. */
  accountChanged(uid: string): void {
    this.#byUid.get(uid)?.accountChanged();
  }

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }
}

/** What a reconcile sees of the recorded machine. */
interface MachineObservation {
  readonly status: GpuInstanceStatus | undefined;
  /** As the latest complete list shows it; undefined where it does not, or there is none yet. */
  readonly row: Instance | undefined;
  readonly steady: SteadyClock;
}

/**
 * Since when this process has seen what of the present machine, in steady time: a wall clock that is wrong after a
 * restart must not make a machine lost that has only just turned bad.
 */
export class MachineWatch {
  #recorded:
    | { readonly instanceId: string; readonly since: number; readonly watchedSince: number }
    | undefined;
  #progressOnRecord: Translated | undefined;
  #badEndedAt: number | undefined;
  #seenStatus: { readonly actualStatus: string; readonly since: number } | undefined;
  #progress: { readonly text: string | undefined; readonly at: number } | undefined;

  note({ status, row, steady }: MachineObservation): void {
    this.#noteMachine(status, steady);
    const text = status?.progressAt;
    if (text !== this.#progressOnRecord?.text)
      this.#progressOnRecord = text === undefined ? undefined : { text, at: sinceText(text, steady) };
    if (row) this.#seeRow(row, status, steady);
  }

  /** The machine is gone; the next one is another. */
  ended(): void {
    this.#seenStatus = undefined;
    this.#progress = undefined;
    this.#badEndedAt = undefined;
  }

  view(): Pick<
    MemoryView,
    'rentedSince' | 'watchedSince' | 'badEndedAt' | 'seenStatus' | 'progress' | 'progressOnRecord'
  > {
    return {
      rentedSince: this.#recorded?.since,
      watchedSince: this.#recorded?.watchedSince,
      badEndedAt: this.#badEndedAt,
      seenStatus: this.#seenStatus,
      progress: this.#progress,
      progressOnRecord: this.#progressOnRecord?.at,
    };
  }

  #noteMachine(status: GpuInstanceStatus | undefined, steady: SteadyClock): void {
    const { instanceId, conditions } = status ?? {};
    if (instanceId === undefined) this.#recorded = undefined;
    else if (this.#recorded?.instanceId !== instanceId) {
      const rented = conditions?.find(({ type }) => type === 'Rented')?.lastTransitionTime;
      // One that follows another without a pause: its object has been Rented since the first of them.
      const since = this.#recorded ? steady.now() : sinceText(rented, steady);
      this.#recorded = { instanceId, since, watchedSince: steady.now() };
    }
  }

  #seeRow(row: Instance, status: GpuInstanceStatus | undefined, steady: SteadyClock): void {
    const actualStatus = actualStatusOf(row);
    const before = this.#seenStatus?.actualStatus;
    if (before !== actualStatus) {
      const isBad = isFailing(actualStatus);
      if (isFailing(before) && !isBad) this.#badEndedAt = steady.now();
      const isOnRecord = before === undefined && status?.actualStatus === actualStatus && !isBad;
      const since = isOnRecord ? sinceText(status.actualStatusSince, steady) : steady.now();
      this.#seenStatus = { actualStatus, since };
    }
    if (this.#progress?.text === row.statusMessage) return;
    const at = this.#progress ? steady.now() : Number.NEGATIVE_INFINITY;
    this.#progress = { text: row.statusMessage, at };
  }
}

/** A time of the record, and what it was in steady time when this process first read it. */
interface Translated {
  readonly text: string;
  readonly at: number;
}

function sinceText(text: string | undefined, steady: SteadyClock): number {
  const wall = parseTime(text);
  return wall === undefined ? steady.now() : steady.fromWall(wall);
}

/** Times of lists that are remembered per feed. */
const MAX_LISTS = 256;
/** A list that seems to have taken longer was cut by a jump of the clock: nobody knows when it began. */
const MAX_LIST_MS = 600_000;

/**
 * Elapsed time that no jump of the wall clock changes: milliseconds that look like those since the epoch and
 * run with the monotonic clock. Times of lists are translated into it as they arrive, so that "begun after"
 * and "so long apart" stay true when the wall clock is set.
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

  /** The steady time of a durable wall time: as long ago as the wall clock says now, never in the future. */
  fromWall(wall: number): number {
    return this.now() - Math.max(0, this.#clock.now() - wall);
  }

  /** The steady time of a monotonic one. */
  fromMonotonic(monotonic: number): number {
    return this.#wall + monotonic - this.#monotonic;
  }

  /** A list has just arrived. */
  noteList(feed: Feed, { begunAt, endedAt }: CompleteList): void {
    const took = endedAt - begunAt;
    const begun = took < 0 || took > MAX_LIST_MS ? Number.NEGATIVE_INFINITY : this.now() - took;
    const times = this.#lists.get(feed) ?? new Map<number, number>();
    this.#lists.set(feed, times.set(begunAt, begun));
    for (const oldest of times.keys()) {
      if (times.size <= MAX_LISTS) break;
      times.delete(oldest);
    }
  }

  /** When lists were begun, oldest first. One that was not seen to arrive counts as begun before everything. */
  listTimes(feed: Feed, begunAt: readonly number[]): readonly number[] {
    const times = this.#lists.get(feed);
    return begunAt.map((begun) => times?.get(begun) ?? Number.NEGATIVE_INFINITY);
  }
}

/** Whose labels are looked for: those of this installation, on machines of that login. */
type Signer = Pick<AccountSession, 'identity' | 'login'>;

type ByUid = ReadonlyMap<string, readonly ListedMachine[]>;

const NONE: readonly ListedMachine[] = [];

/** Machines by the uid in their label, worked out once per list however many objects ask. */
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
      if (machines) machines.push({ row, ownership });
      else index.set(ownership.facts.uid, [{ row, ownership }]);
    }
    this.#indexes.set(list, index);
    return index.get(uid) ?? NONE;
  }
}
