import { parseDuration } from '../../../src/lib/time.ts';
import { calledOf } from '../kubectl.ts';
import { isObject, type JsonObject, metadataOf, objectAt } from '../memory-kube/json.ts';
import { readPurchase } from '../oracle/purchase.ts';
import type { Violation } from '../oracle/scene.ts';
import { statusAt } from '../status-at.ts';
import type { SimulatedWorld } from '../world.ts';
import type { Arrival, FuseMachine, FuseMachines, SelfEnd } from './machines.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
/** I7: what a machine may run beyond `maxLifetime`, and beyond its lease. */
const LIFE_GRACE_MS = 11 * MINUTE;
const LEASE_GRACE_MS = MINUTE;
/** I8: time after `maxLifetime` that the operator has alone. */
const OPERATOR_MS = 10 * MINUTE;
/** Time after half of a lease until its condition shows the risk: tries are that far apart at most. */
const WARNED_MS = 3 * MINUTE;
/** A call that found no marketplace, or that a restart or a frozen host cut off, is repeated by then. */
const REPEATED_MS = 2 * MINUTE;
/** A rental may be of a version of its object that old. */
const DECIDED_MS = 3 * MINUTE;

/** Spec of the object when it rented the machine; several versions are possible. */
interface Terms {
  /** namespace/name without the usual namespace. */
  readonly called: string;
  readonly isByProgram: boolean;
  /** True if a version of the object lets the operator destroy the machine. */
  readonly isDestroyed: boolean;
  /** True if no version keeps it. */
  readonly isNeverKept: boolean;
  /** The first rental of the object. */
  readonly firstRentedAt: number;
  readonly rentedAt: number;
  readonly life: Range | undefined;
  readonly lease: Range | undefined;
}

/** Milliseconds. */
interface Range {
  readonly min: number;
  readonly max: number;
}

interface Version {
  readonly at: number;
  readonly object: JsonObject;
}

export interface FuseJudgeOptions {
  readonly world: SimulatedWorld;
  readonly machines: () => FuseMachines;
  /** Returns true if no component may renew the lease of a machine any more. */
  readonly mayBeSilent: (terms: { readonly called: string; readonly isByProgram: boolean }) => boolean;
  /** False if a clock of the operator was ever wrong: it then gives a machine its whole life. */
  readonly hasTrueClocks: () => boolean;
  /** Returns true if an operator has worked for long enough to show a lease at risk. */
  readonly mustWarn: () => boolean;
}

/** Judges the machines of a world that end themselves, or do not (I7 to I9), by its own time and the specs of objects. */
export class FuseJudge {
  readonly violations: Violation[] = [];
  /** Machines that ended themselves, and those that did so without a reason. */
  ended = 0;
  falseKills = 0;
  readonly #options: FuseJudgeOptions;
  readonly #versions = new Map<string, Version[]>();
  /** Present objects by the ID of their machine. */
  readonly #objects = new Map<string, JsonObject>();
  readonly #firstRentedAt = new Map<string, number>();
  readonly #terms = new Map<number, Terms>();
  #checkedAt = 0;

  constructor(options: FuseJudgeOptions) {
    this.#options = options;
    options.world.kube.store.onCommit(({ kind, object }) => {
      if (kind.plural !== 'gpuinstances') return;
      this.#note(object);
      this.#objects.set(String(objectAt(objectAt(object, 'status'), 'machine')['id']), object);
    });
  }

  #note(object: JsonObject): void {
    const uid = String(metadataOf(object)['uid']);
    const versions = this.#versions.get(uid) ?? [];
    this.#versions.set(uid, versions);
    const last = versions.at(-1);
    if (last && metadataOf(last.object)['generation'] === metadataOf(object)['generation']) return;
    versions.push({ at: this.#options.world.now, object });
  }

  /** Checks all machines, a few times a minute. Returns false after the first violation. */
  check(): boolean {
    const { world, machines } = this.#options;
    if (world.now - this.#checkedAt >= 5 * SECOND) {
      this.#checkedAt = world.now;
      for (const machine of machines().all()) {
        this.#checkOverdue(machine);
        this.#checkWarned(machine);
        this.#checkShown(machine);
        this.#checkRecord(machine);
      }
    }
    return this.violations.length === 0;
  }

  /** I7: a machine that could end itself, and had to. */
  #checkOverdue(machine: FuseMachine): void {
    const { machines, hasTrueClocks } = this.#options;
    if (!this.#isAble(machine)) return;
    const { life, lease, firstRentedAt, rentedAt } = this.termsOf(machine);
    const ranMs = machines().ranMs(machine);
    if (life !== undefined) {
      const usedMs = hasTrueClocks() ? rentedAt - firstRentedAt : 0;
      this.#limit(machine, {
        what: 'has run for',
        ms: ranMs,
        mostMs: Math.max(0, life.max - usedMs) + LIFE_GRACE_MS + lostMs(machine),
      });
    }
    const renewed = machine.run?.renewed;
    if (lease === undefined || renewed === undefined) return;
    const silentMs = ranMs - renewed.ranMs;
    this.#limit(machine, { what: 'was not renewed for', ms: silentMs, mostMs: lease.max + LEASE_GRACE_MS });
  }

  /** I7: a rental of an object whose machines end themselves sends the fuse. */
  arrived({ id, fuse }: Arrival): void {
    const { life, lease, isNeverKept } = this.termsOf({ id });
    const lacks = (range: Range | undefined, seconds: number | undefined) =>
      range !== undefined && Number.isFinite(range.max) && seconds === undefined;
    if (isNeverKept && (lacks(life, fuse?.lifeSeconds) || lacks(lease, fuse?.leaseSeconds)))
      this.broken('I7', `machine ${id} was rented without its fuse`);
  }

  /** I8: an object shows a renewal of its own machine, and none that lies in the future. */
  #checkShown({ id }: FuseMachine): void {
    const { world, hasTrueClocks } = this.#options;
    const object = this.#objects.get(String(id));
    const { renewedAt } = objectAt(objectAt(object ?? {}, 'status'), 'lease');
    if (typeof renewedAt !== 'string' || !hasTrueClocks()) return;
    const at = Date.parse(renewedAt);
    if (at < this.termsOf({ id }).rentedAt - SECOND || at > world.now + SECOND)
      this.broken('I8 warning', `machine ${id} shows a renewal at ${renewedAt}`);
  }

  /** I7: an object shows the fuses that its machine was sent, also if the answer to the rental was lost. */
  #checkRecord({ id, fuse }: FuseMachine): void {
    const object = this.#objects.get(String(id));
    if (!object) return;
    const { lifeSeconds, leaseSeconds } = objectAt(statusAt(object), 'selfEnd');
    if (lifeSeconds !== fuse.lifeSeconds || leaseSeconds !== fuse.leaseSeconds)
      this.broken('I7', `machine ${id} has other fuses than its object shows`);
  }

  /** I8: a condition warns of a lease that is at risk, long before it is over. */
  #checkWarned({ id, run, pausedUntil }: FuseMachine): void {
    const { world, mustWarn, hasTrueClocks } = this.#options;
    const { lease, isByProgram } = this.termsOf({ id });
    const object = this.#objects.get(String(id));
    if (!run?.renewed || !lease || isByProgram || !object || !hasTrueClocks() || !mustWarn()) return;
    const silentMs = world.now - run.renewed.at;
    if (world.now < pausedUntil || silentMs < lease.max / 2 + WARNED_MS || isWarned(object)) return;
    const { name } = metadataOf(object);
    this.broken('I8 warning', `${String(name)} shows no risk, ${silentMs / SECOND} s after the last renewal`);
  }

  #limit({ id }: FuseMachine, { what, ms, mostMs }: { what: string; ms: number; mostMs: number }): void {
    if (ms > mostMs)
      this.broken('I7', `machine ${id} ${what} ${ms / SECOND} s, at most ${mostMs / SECOND} s are allowed`);
  }

  /** Returns true if a machine has run for long enough, with the marketplace in reach, to repeat a call. */
  #isAble({ clients, run, pausedUntil }: FuseMachine): boolean {
    const { world, machines } = this.#options;
    if (clients === 0 || run === undefined) return false;
    return world.now - Math.max(run.startedAt, pausedUntil, machines().isolatedUntil) >= REPEATED_MS;
  }

  /** Returns true if no machine is left that would end itself: one that is stopped, or without a client, does not. */
  isAllEnded(): boolean {
    return this.#options
      .machines()
      .all()
      .every((machine) => {
        const mayEnd = this.termsOf(machine).life !== undefined || machine.run?.renewed !== undefined;
        return machine.clients === 0 || !mayEnd || machine.run === undefined;
      });
  }

  /** Checks I8: a machine may end itself when its life is over, or when no component renews it any more. */
  selfEnded({ machine, isByLife, isByLease }: SelfEnd): void {
    this.ended += 1;
    const terms = this.termsOf(machine);
    const { now } = this.#options.world;
    const { life, lease, firstRentedAt, isDestroyed } = terms;
    const isAfterOperator = life !== undefined && now - firstRentedAt >= life.min + OPERATOR_MS;
    if (isByLife && isAfterOperator && isDestroyed) return;
    const renewedAt = machine.run?.renewed?.at;
    const isSilent = lease !== undefined && renewedAt !== undefined && now - renewedAt >= lease.min;
    if (isByLease && isSilent && this.#options.mayBeSilent(terms)) return;
    this.falseKills += 1;
    this.broken('I8', `machine ${machine.id} of ${terms.called} ended itself without a reason`);
  }

  /** Returns what the object of a machine said at its rental. */
  termsOf({ id }: Pick<FuseMachine, 'id'>): Terms {
    const known = this.#terms.get(id);
    if (known) return known;
    const { world } = this.#options;
    const contract = world.market.store.current().tables.contracts[id];
    const uid = readPurchase(contract?.label ?? '')?.uid ?? '';
    const rentedAt = contract?.createdAt ?? world.now;
    const firstRentedAt = this.#firstRentedAt.get(uid) ?? rentedAt;
    this.#firstRentedAt.set(uid, firstRentedAt);
    const versions = this.#versionsAt(uid, rentedAt).map(({ object }) => object);
    const specs = versions.map((object) => objectAt(object, 'spec'));
    const leases = specs.map(({ lease }) => (isObject(lease) ? lease : {}));
    const terms: Terms = {
      ...{ called: calledOf(versions.at(-1) ?? {}), firstRentedAt, rentedAt },
      isDestroyed: specs.some(({ deletionPolicy = 'Destroy' }) => deletionPolicy === 'Destroy'),
      isNeverKept:
        specs.length > 0 && specs.every(({ deletionPolicy = 'Destroy' }) => deletionPolicy === 'Destroy'),
      isByProgram: leases.some(({ by }) => by === 'Program'),
      life: rangeOf(specs.map(({ maxLifetime }) => maxLifetime)),
      lease: rangeOf(leases.map(({ duration }) => duration)),
    };
    this.#terms.set(id, terms);
    return terms;
  }

  /** Returns the versions of an object by one of which a rental at that time was decided. */
  #versionsAt(uid: string, at: number): readonly Version[] {
    const versions = this.#versions.get(uid) ?? [];
    return versions.filter((version, index) => {
      const replacedAt = versions[index + 1]?.at ?? Number.POSITIVE_INFINITY;
      return version.at <= at && replacedAt >= at - DECIDED_MS;
    });
  }

  broken(invariant: string, text: string): void {
    const { world } = this.#options;
    this.violations.push({ invariant, second: world.second, text });
    world.note(`VIOLATION ${invariant}: ${text}`);
  }
}

/** Returns true if an object shows that its lease is at risk, or has no machine any more. */
function isWarned(object: JsonObject): boolean {
  const { conditions } = objectAt(object, 'status');
  const all = Array.isArray(conditions) ? conditions : [];
  return all.some((each) => isObject(each) && each['type'] === 'LeaseAtRisk' && each['status'] === 'True');
}

/** Returns the maximum time that restarts took from the count: each loses the sleep under way. */
function lostMs({ fuse, starts }: FuseMachine): number {
  return Math.max(0, starts - 1) * fuse.sleepSeconds * SECOND;
}

/** Returns the range of those durations; undefined if one is missing. */
function rangeOf(texts: readonly unknown[]): Range | undefined {
  const all = texts.map((text) => (typeof text === 'string' ? parseDuration(text) : undefined));
  const known = all.filter((ms) => ms !== undefined);
  if (known.length === 0) return undefined;
  return {
    min: Math.min(...known),
    max: known.length < all.length ? Number.POSITIVE_INFINITY : Math.max(...known),
  };
}
