import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { type AccountRef, accountKey, accountRefOf } from '../instance/account-ref.ts';
import { countsFor } from '../instance/rentals.ts';
import { hasAgingIntent, type InstanceSummary, summarize, summaryAt } from '../instance/summary.ts';
import type { MicroDollars } from '../lib/money.ts';
import { claimVerifies } from '../ownership/claim.ts';
import type { KeyRing } from '../ownership/key-ring.ts';
import { type Login, loginText } from '../ownership/login.ts';
import { objectKey } from '../runtime/kube/kube-object.ts';
import type { Informer } from '../runtime/list-watch/informer.ts';

/** Facts that decide if an object counts for an account. */
export interface Counting {
  /** True if the account may be used from that namespace. */
  readonly permits: (namespace: string) => boolean;
  /** Undefined while no identity is known: no claim can be verified then, and all objects count. */
  readonly keys: KeyRing | undefined;
  readonly login: Login | undefined;
}

/** Every object counts, whatever account it names. */
export const COUNT_ALL: Counting = { permits: () => true, keys: undefined, login: undefined };

/**
 * Returns the objects that name an account and for which it rents or rented; any object may name any account. An
 * object that has rented counts while it exists, even if its namespace is no longer permitted.
 */
export function countedObjects(
  objects: readonly InstanceSummary[],
  counting: Counting,
): readonly InstanceSummary[] {
  const known = new Map<string, boolean>();
  return objects.filter((object) =>
    counts(object, permitted(namespaceOf(object), known, counting), counting),
  );
}

function counts(
  { hasProvenIntent, claim }: InstanceSummary,
  isPermitted: boolean,
  { keys, login }: Counting,
): boolean {
  if (keys === undefined || isPermitted || hasProvenIntent) return true;
  return claim !== undefined && login !== undefined && claimVerifies(keys, { ...claim, login }, claim.claim);
}

function permitted(namespace: string, known: Map<string, boolean>, { permits }: Counting): boolean {
  const before = known.get(namespace);
  if (before !== undefined) return before;
  const isPermitted = permits(namespace);
  known.set(namespace, isPermitted);
  return isPermitted;
}

function namespaceOf({ key }: InstanceSummary): string {
  return key.slice(0, key.indexOf('/'));
}

/** The objects that count for an account, at one moment. */
export interface AccountObjects {
  /** Returns the object with this uid. */
  get(uid: string): InstanceSummary | undefined;
  all(): readonly InstanceSummary[];
  /** Returns the objects whose outcome or cost is still open: an open or unreadable intent, a start, an unknown price. */
  undecided(): readonly InstanceSummary[];
  /**
   * Returns the sums of all objects at `now` (epoch milliseconds). Each object of `instead` replaces the one with its
   * uid.
   */
  sums(now: number, instead: Iterable<InstanceSummary>): ObjectSums;
}

/** Machines and spending of several objects together, without machines that are only observed. */
export interface ObjectSums {
  readonly openIntents: number;
  /** Machines, and intents that may still create one. */
  readonly liveMachines: number;
  readonly dollarsPerHour: MicroDollars;
  readonly spentThisMonth: MicroDollars;
  /** Unconfirmed amount by which listed prices exceed the recorded ones. */
  readonly unconfirmedPerHour: MicroDollars;
  readonly unconfirmedThisMonth: MicroDollars;
  /** Rentals on record within the last hour. */
  readonly rentalsLastHour: number;
  /** Epoch milliseconds of the oldest of them. */
  readonly oldestRentalAt: number | undefined;
}

type Amounts = Omit<ObjectSums, 'rentalsLastHour' | 'oldestRentalAt'>;

function amountsOf(object: InstanceSummary): Amounts {
  const isPaid = object.adopted !== 'Observe';
  const isLive = isPaid && (object.instanceId !== undefined || object.hasOpenIntent);
  return {
    openIntents: object.hasOpenIntent ? 1 : 0,
    liveMachines: isLive ? 1 : 0,
    dollarsPerHour: isLive ? object.pricePerHour : 0,
    spentThisMonth: isPaid ? object.spentThisMonth : 0,
    unconfirmedPerHour: isLive ? object.unconfirmedPerHour : 0,
    unconfirmedThisMonth: isPaid ? object.unconfirmedThisMonth : 0,
  };
}

function isUndecided(object: InstanceSummary): boolean {
  const { hasOpenIntent, hasDoubtfulIntent, hasOpenStart, hasUnknownPrice } = object;
  return hasOpenIntent || hasDoubtfulIntent || hasOpenStart || hasUnknownPrice;
}

/** Objects with incrementally updated sums, because limits are checked at each of a thousand rentals. */
class SummedObjects implements AccountObjects {
  readonly #byUid = new Map<string, InstanceSummary>();
  readonly #undecided = new Map<string, InstanceSummary>();
  readonly #sums = {
    ...{ openIntents: 0, liveMachines: 0, dollarsPerHour: 0, spentThisMonth: 0 },
    ...{ unconfirmedPerHour: 0, unconfirmedThisMonth: 0 },
  };
  /** Epoch milliseconds, in order. */
  readonly #rentals: number[] = [];
  #all: readonly InstanceSummary[] | undefined;

  get(uid: string): InstanceSummary | undefined {
    return this.#byUid.get(uid);
  }

  all(): readonly InstanceSummary[] {
    this.#all ??= [...this.#byUid.values()];
    return this.#all;
  }

  undecided(): readonly InstanceSummary[] {
    return [...this.#undecided.values()];
  }

  sums(now: number, instead: Iterable<InstanceSummary>): ObjectSums {
    const sums = { ...this.#sums };
    for (const object of instead) {
      const known = this.#byUid.get(object.uid);
      if (!known) continue;
      add(sums, amountsOf(known), -1);
      add(sums, amountsOf(object), 1);
    }
    const first = lowerBound(this.#rentals, (at) => countsFor(at, now) > 0);
    return {
      ...sums,
      rentalsLastHour: this.#rentals.length - first,
      oldestRentalAt: this.#rentals[first],
    };
  }

  /** Replaces the state of an object. */
  put(object: InstanceSummary): void {
    const { uid } = object;
    const known = this.#byUid.get(uid);
    if (known) this.#count(known, -1);
    this.#byUid.set(uid, object);
    if (isUndecided(object)) this.#undecided.set(uid, object);
    else this.#undecided.delete(uid);
    this.#count(object, 1);
    this.#all = undefined;
  }

  remove(uid: string): void {
    const known = this.#byUid.get(uid);
    if (!known) return;
    this.#count(known, -1);
    this.#byUid.delete(uid);
    this.#undecided.delete(uid);
    this.#all = undefined;
  }

  #count(object: InstanceSummary, sign: 1 | -1): void {
    add(this.#sums, amountsOf(object), sign);
    for (const at of object.rentals) {
      const place = lowerBound(this.#rentals, (other) => other >= at);
      if (sign === 1) this.#rentals.splice(place, 0, at);
      else this.#rentals.splice(place, 1);
    }
  }
}

function add(sums: { -readonly [Name in keyof Amounts]: number }, amounts: Amounts, sign: 1 | -1): void {
  sums.openIntents += sign * amounts.openIntents;
  sums.liveMachines += sign * amounts.liveMachines;
  sums.dollarsPerHour += sign * amounts.dollarsPerHour;
  sums.spentThisMonth += sign * amounts.spentThisMonth;
  sums.unconfirmedPerHour += sign * amounts.unconfirmedPerHour;
  sums.unconfirmedThisMonth += sign * amounts.unconfirmedThisMonth;
}

/** Returns the first index from which the condition holds to the end. */
function lowerBound(sorted: readonly number[], holds: (value: number) => boolean): number {
  let [from, to] = [0, sorted.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if (holds(sorted[middle] ?? 0)) to = middle;
    else from = middle + 1;
  }
  return from;
}

/** Returns a set of objects that all count. */
export function listedObjects(objects: readonly InstanceSummary[]): AccountObjects {
  const summed = new SummedObjects();
  for (const object of objects) summed.put(object);
  return summed;
}

interface Kept {
  readonly instance: GpuInstance;
  /** namespace/name of the account that it names. */
  readonly account: string;
  readonly hasAgingIntent: boolean;
  readonly summary: InstanceSummary;
  /** Time of the summary by `timeOf`: the spending of this month changes with time. */
  readonly madeAt: number;
}

/** Maximum age of amounts that change with time, in a sum. */
const KEPT_MS = 10_000;

/** Inputs of a summary. */
export interface SummarySources {
  readonly instances: Pick<Informer<GpuInstance>, 'get' | 'list' | 'onChange'>;
  /** Time (epoch milliseconds) until which the machines of an account, by namespace/name, have cost something. */
  readonly timeOf: (account: string) => number;
  /** Keys of the installation, as soon as it knows them. */
  readonly keys: () => KeyRing | undefined;
}

/**
 * Summaries of all GpuInstances for accounts and sweeps, computed once per version of an object, and again if its cost
 * is older than ten seconds or other keys are known.
 */
export class InstanceSummaries {
  readonly #sources: SummarySources;
  /** Objects by namespace/name, in the order of their arrival. */
  readonly #byKey = new Map<string, Kept>();
  /** Cached results of each account, the least recently computed first: each account has a time of its own. */
  readonly #byAge = new Map<string, Set<Kept>>();
  /** Keys of objects that changed since their summary was computed. */
  readonly #touched = new Set<string>();
  /** Followers by the account or the namespace that they follow. */
  readonly #followers = new Map<string, Set<FollowedObjects>>();
  #keys: KeyRing | undefined;
  #all: readonly InstanceSummary[] | undefined;

  constructor(sources: SummarySources) {
    this.#sources = sources;
    for (const { metadata } of sources.instances.list()) this.#touched.add(objectKey(metadata));
    sources.instances.onChange(({ type, key }) => {
      if (type === 'deleted') this.#drop(key);
      else this.#touched.add(key);
    });
  }

  all(): readonly InstanceSummary[] {
    this.#update();
    this.#all ??= [...this.#byKey.values()].map(({ summary }) => summary);
    return this.#all;
  }

  /** Returns the objects that name this account; the set is kept current until it is closed. */
  follow(ref: AccountRef): FollowedObjects {
    return this.#follow(accountKey(ref));
  }

  /** Returns the objects of a namespace, whatever accounts they name; the set is kept current until it is closed. */
  followNamespace(namespace: string): FollowedObjects {
    return this.#follow(ofNamespace(namespace));
  }

  #follow(subject: string): FollowedObjects {
    this.#update();
    const followers = this.#followers.get(subject) ?? new Set();
    const followed: FollowedObjects = new FollowedObjects({
      update: () => this.#update(),
      close: () => {
        followers.delete(followed);
        if (followers.size === 0) this.#followers.delete(subject);
      },
    });
    for (const kept of this.#byKey.values())
      if (subjectsOf(kept).includes(subject)) followed.changed(kept.summary);
    this.#followers.set(subject, followers.add(followed));
    return followed;
  }

  #update(): void {
    const { timeOf, keys: keysNow } = this.#sources;
    const keys = keysNow();
    if (keys !== this.#keys) {
      this.#keys = keys;
      for (const key of this.#byKey.keys()) this.#touched.add(key);
    }
    for (const key of this.#touched) this.#read(key);
    this.#touched.clear();
    for (const [account, oldestFirst] of this.#byAge) {
      const now = timeOf(account);
      for (const kept of oldestFirst) {
        if (Math.abs(now - kept.madeAt) < KEPT_MS) break;
        oldestFirst.delete(kept);
        this.#age(kept, now);
      }
    }
  }

  #read(key: string): void {
    const instance = this.#sources.instances.get(key);
    if (!instance) return;
    const account = accountKey(accountRefOf(instance));
    const known = this.#byKey.get(key);
    if (known) this.#dropAge(known);
    if (known && known.account !== account)
      this.#notify([known.account], (follower) => follower.left(known.summary));
    const keys = this.#keys;
    const now = this.#sources.timeOf(account);
    const summary = summarize(instance, now, keys);
    this.#keep({
      ...{ instance, account, summary },
      hasAgingIntent: hasAgingIntent(instance, keys),
      madeAt: now,
    });
    this.#notify(subjectsOf({ account, summary }), (follower) => follower.changed(summary));
  }

  /** Moves the amounts of a summary to the present time. */
  #age(kept: Kept, now: number): void {
    const { instance, account, hasAgingIntent: isAging } = kept;
    const summary = summaryAt(kept.summary, instance, { now, keys: this.#keys, hasAgingIntent: isAging });
    this.#keep({ ...kept, summary, madeAt: now });
    if (summary !== kept.summary)
      this.#notify(subjectsOf({ account, summary }), (follower) => follower.changed(summary));
  }

  #keep(kept: Kept): void {
    this.#byKey.set(kept.summary.key, kept);
    const oldestFirst = this.#byAge.get(kept.account) ?? new Set();
    this.#byAge.set(kept.account, oldestFirst.add(kept));
    this.#all = undefined;
  }

  #dropAge(kept: Kept): void {
    const oldestFirst = this.#byAge.get(kept.account);
    oldestFirst?.delete(kept);
    if (oldestFirst?.size === 0) this.#byAge.delete(kept.account);
  }

  #drop(key: string): void {
    this.#touched.delete(key);
    const known = this.#byKey.get(key);
    if (!known) return;
    this.#byKey.delete(key);
    this.#dropAge(known);
    this.#all = undefined;
    this.#notify(subjectsOf(known), (follower) => follower.left(known.summary));
  }

  #notify(subjects: readonly string[], change: (follower: FollowedObjects) => void): void {
    for (const subject of subjects)
      for (const follower of this.#followers.get(subject) ?? []) change(follower);
  }
}

/** Returns the account and the namespace that may be followed for the object. */
function subjectsOf({ account, summary }: Pick<Kept, 'account' | 'summary'>): readonly string[] {
  return [account, ofNamespace(namespaceOf(summary))];
}

/** Returns a subject that is no account: the name of one is never empty. */
function ofNamespace(namespace: string): string {
  return `${namespace}/`;
}

interface Following {
  readonly update: () => void;
  readonly close: () => void;
}

/** The objects that name one account, or those of one namespace. */
export class FollowedObjects {
  readonly #following: Following;
  /** The objects by uid, whether or not they count. */
  readonly #named = new Map<string, InstanceSummary>();
  /** True if the account may be used from a namespace, as it was when its objects were counted. */
  #permitted = new Map<string, boolean>();
  #counting: Counting | undefined;
  #summed = new SummedObjects();

  constructor(following: Following) {
    this.#following = following;
  }

  /** Returns the objects that count, from the present state of the cache. */
  counted(counting: Counting): AccountObjects {
    this.#following.update();
    if (!this.#counting || hasChanged(this.#counting, this.#permitted, counting)) this.#recount(counting);
    this.#counting = counting;
    return this.#summed;
  }

  /** Stops following. */
  close(): void {
    this.#following.close();
  }

  /** Records an object that is new here, or whose state changed. */
  changed(summary: InstanceSummary): void {
    this.#named.set(summary.uid, summary);
    if (this.#counting) this.#count(summary, this.#counting);
  }

  /** Removes an object that was deleted, or that names another account now. */
  left({ uid }: InstanceSummary): void {
    this.#named.delete(uid);
    this.#summed.remove(uid);
  }

  #recount(counting: Counting): void {
    this.#permitted = new Map();
    this.#summed = new SummedObjects();
    for (const summary of this.#named.values()) this.#count(summary, counting);
  }

  #count(summary: InstanceSummary, counting: Counting): void {
    const isPermitted = permitted(namespaceOf(summary), this.#permitted, counting);
    if (counts(summary, isPermitted, counting)) this.#summed.put(summary);
    else this.#summed.remove(summary.uid);
  }
}

function hasChanged(before: Counting, permittedBefore: ReadonlyMap<string, boolean>, now: Counting): boolean {
  const textOf = ({ login }: Counting) => login && loginText(login);
  if (before.keys !== now.keys || textOf(before) !== textOf(now)) return true;
  return [...permittedBefore].some(([namespace, was]) => now.permits(namespace) !== was);
}
