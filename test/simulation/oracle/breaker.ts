import { parseDuration } from '../../../src/lib/time.ts';
import type { Contract } from '../../../src/simulator/tables/contracts.ts';
import type { Machine } from '../machine.ts';
import { idAt, type JsonObject, metadataOf, objectAt, textAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { accountKeyOf, allowedBadOf, breakerRecordOf } from './accounts.ts';
import type { ShownList } from './newest-lists.ts';
import { hasEndedWork } from './run-state.ts';
import { keyOf, nameOf, type Scene } from './scene.ts';

/** Lists in a row that must show few enough bad machines before an open breaker closes. */
const CALM_LISTS = 2;
/** Number of attempts before a list counts as failed. */
const TRIES = 3;
/** A destroy that was decided before the list was read may still be sent within this time. */
const UNDER_WAY_MS = 5_000;
/** Objects and accounts that changed within this time may be unknown to a process whose watches lag. */
const KNOWN_MS = 30_000;
/** Milliseconds by which a process may have begun the maximum hold earlier than the oracle. */
const HOLD_SLACK_MS = 60_000;
/** Window after the maximum hold, for one replacement at a time, or a tenth of the machines. */
const WINDOW_MS = 600_000;
/** Ends are recorded in whole seconds. */
const ROUNDING_MS = 1_000;
/** The proof that a machine is gone is recorded within this time. */
const RECORDING_MS = 30_000;
const SLOW_SHARE = 0.1;
const UNSEEN: ReadonlySet<unknown> = new Set(['unknown', 'offline']);
const BAD: ReadonlySet<unknown> = new Set(['exited', 'destroyed', ...UNSEEN]);
const CLOSE_BREAKER = 'gpurental.dev/close-breaker';
const HOLD = 'gpurental.dev/hold';

/** The breakers of all accounts. One that is open keeps machines of its own account, and its login from being swept. */
export class BreakerWatch {
  readonly #scene: Scene;
  readonly #ofAccounts = new Map<string, AccountBreaker>();
  /** When what counts of an object last changed. */
  readonly #changedAt = new Map<string, { readonly facts: string; readonly at: number }>();
  /** When an object of an account last went. */
  readonly #removedAt = new Map<string, number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records a written object. */
  rewritten(uid: string, object: JsonObject): void {
    const facts = JSON.stringify([
      statusAt(object)['instanceId'],
      isReplaceable(object),
      accountKeyOf(object),
    ]);
    if (this.#changedAt.get(factsKey(uid))?.facts !== facts)
      this.#changedAt.set(factsKey(uid), { facts, at: this.#scene.now });
  }

  /** Records a deleted object: a process with lagging watches counts it for a while. */
  removed(object: JsonObject): void {
    this.#removedAt.set(accountKeyOf(object), this.#scene.now);
  }

  /** Records a request for a list that will succeed: earlier failures were too few. */
  answered(machine: Machine, userId: number | undefined): void {
    for (const breaker of this.#ofLogin(userId)) breaker.answered(machine);
  }

  /** Records a request for a list that the service will fail. After the last attempt the process has no list. */
  listFails(machine: Machine, userId: number | undefined): void {
    for (const breaker of this.#ofLogin(userId)) breaker.listFails(machine);
  }

  /**
   * Records a read list of that login; undefined if it is damaged or partial. `isBlind`: the process may not know all
   * objects.
   */
  listRead(
    machine: Machine,
    userId: number | undefined,
    { shown, isBlind }: { readonly shown: ShownList | undefined; readonly isBlind: boolean },
  ): void {
    const isOld = (at: number) => this.#scene.now - at >= KNOWN_MS;
    const isKnown = (object: JsonObject) => {
      const changed = this.#changedAt.get(factsKey(String(metadataOf(object)['uid'])));
      const removedAt = this.#removedAt.get(accountKeyOf(object)) ?? Number.NEGATIVE_INFINITY;
      return !isBlind && changed !== undefined && isOld(changed.at) && isOld(removedAt);
    };
    for (const breaker of this.#ofLogin(userId)) breaker.listRead(machine, shown, isKnown);
  }

  /** Records an obstacle of a process: it is unknown here whether its lists failed. Its earlier reads stay. */
  hindered(): void {
    for (const breaker of this.#ofAccounts.values()) breaker.hindered();
  }

  destroySent(machine: Machine, id: number, destroy: SentDestroy): void {
    for (const breaker of this.#ofAccounts.values()) breaker.destroySent(machine, id, destroy);
  }

  /** Records a written object that may have given up a machine which no process destroyed. */
  gaveUp(before: JsonObject, object: JsonObject): void {
    const id = recordedBy(before);
    if (id === undefined || recordedBy(object) === id || metadataOf(object)['deletionTimestamp']) return;
    // A wrong reply to a rental: the machine on record was never that of the object.
    if (statusAt(before)['unconfirmed'] === true) return;
    this.#ofAccounts.get(accountKeyOf(object))?.vanished(object, id);
  }

  /** Returns true if that process must know an open breaker of the login with that contract. */
  isOpenFor(machine: Machine, id: number): boolean {
    const userId = this.#scene.contracts()[id]?.userId;
    return this.#ofLogin(userId).some((breaker) => breaker.stateFor(machine) === 'open');
  }

  /** Machines that do not work, of objects that would replace them. */
  badMachines(): number {
    const recorded = [...this.#scene.objects.values()].filter(isReplaceable).map(recordedBy);
    const contracts = this.#scene.contracts();
    const isBad = (contract: Contract) => !this.#scene.isUp(contract) || BAD.has(contract.actualStatus);
    return recorded.filter((id) => {
      const contract = contracts[id ?? 0];
      return id !== undefined && (!contract || isBad(contract));
    }).length;
  }

  #ofLogin(userId: number | undefined): readonly AccountBreaker[] {
    return this.#scene.accounts.ofLogin(userId).map((account) => {
      const key = keyOf(account);
      const breaker = this.#ofAccounts.get(key) ?? new AccountBreaker(this.#scene, key);
      this.#ofAccounts.set(key, breaker);
      return breaker;
    });
  }
}

interface SentDestroy {
  /** The object's own limits end its machine, which no breaker holds back. */
  readonly isByLimit: boolean;
  /** True if the call reaches the service: otherwise the machine was not given up. */
  readonly arrives: boolean;
}

/** Reads of one process. */
interface Seen {
  /** When it read the first list in a row that opens the breaker or keeps it open. */
  readonly massSince: number | undefined;
  /** Lists in a row that may have shown few enough bad machines. */
  readonly calm: number;
  /** Machines that a list has shown to it. */
  readonly shown: ReadonlySet<number>;
}

const NOTHING_SEEN: Seen = { massSince: undefined, calm: 0, shown: new Set() };

/**
 * The breaker of one account by decision 0005, judged by the lists that each process has read: open as long as more
 * machines are bad than `maxUnhealthy` allows, or the list fails; slow after `maxUnhealthyHold` or a person's word. It says
 * `open` only if every reading of what the process may know opens it.
 */
class AccountBreaker {
  readonly #scene: Scene;
  readonly #account: string;
  #seen = new WeakMap<Machine, Seen>();
  /** When the last try failed after which a process knows nothing. */
  #failedSince = new WeakMap<Machine, { readonly at: number; readonly complete: number }>();
  /** Tries to get a list that failed in a row, and when the last failed that counts. */
  readonly #failed = new WeakMap<Machine, { readonly tries: number; readonly at: number }>();
  readonly #destroyed = new Set<number>();
  /** When machines of objects that stand were given up while the breaker was slow. */
  #slowEnds: readonly { readonly owner: string; readonly at: number }[] = [];
  #settings: { readonly text: string; readonly at: number } | undefined;

  /** `account`: its namespace/name. */
  constructor(scene: Scene, account: string) {
    this.#scene = scene;
    this.#account = account;
  }

  answered(machine: Machine): void {
    this.#failed.delete(machine);
  }

  listFails(machine: Machine): void {
    const { tries: before, at } = this.#failed.get(machine) ?? { tries: 0, at: 0 };
    const failed = { tries: before + 1, at: before < TRIES ? this.#scene.now : at };
    this.#failed.set(machine, failed);
    if (failed.tries >= TRIES) this.#failedSince.set(machine, { at: failed.at, complete: 0 });
  }

  listRead(machine: Machine, shown: ShownList | undefined, isKnown: (object: JsonObject) => boolean): void {
    const before = this.#seen.get(machine) ?? NOTHING_SEEN;
    const failure = this.#failedSince.get(machine);
    if (failure && failure.complete + 1 >= CALM_LISTS) this.#failedSince.delete(machine);
    else if (failure) this.#failedSince.set(machine, { ...failure, complete: failure.complete + 1 });
    const isMass = shown !== undefined && this.#isMass(shown, before.shown, isKnown);
    const calm = isMass ? 0 : before.calm + 1;
    this.#seen.set(machine, {
      calm,
      massSince: isMass
        ? (before.massSince ?? this.#scene.now)
        : calm < CALM_LISTS
          ? before.massSince
          : undefined,
      shown: new Set([...before.shown, ...(shown?.keys() ?? [])]),
    });
  }

  hindered(): void {
    this.#failedSince = new WeakMap();
  }

  destroySent(machine: Machine, id: number, { isByLimit, arrives }: SentDestroy): void {
    const owner = this.#objects().find((object) => recordedBy(object) === id);
    const isGivenUp =
      owner !== undefined &&
      !this.#destroyed.has(id) &&
      !isByLimit &&
      !hasEndedWork(owner) &&
      !this.#scene.isHandled(String(metadataOf(owner)['uid'])) &&
      metadataOf(owner)['deletionTimestamp'] === undefined;
    this.#destroyed.add(id);
    if (!isGivenUp) return;
    const state = this.stateFor(machine);
    if (state === 'open')
      this.#scene.broken('I4', `contract ${id} was given up while the breaker had to be open`);
    if (state === 'slow') this.#checkTurn(owner, id, arrives ? this.#scene.now : undefined);
  }

  /**
   * Records that a machine ended without a destroy: it counts for slow replacement from the time its object rents
   * again.
   */
  vanished(owner: JsonObject, id: number): void {
    if (this.#destroyed.has(id) || !isReplaceable(owner)) return;
    const readers = this.#scene.world.processes.filter(({ machine }) => this.#seen.has(machine));
    const isSlow = readers.length > 0 && readers.every(({ machine }) => this.stateFor(machine) === 'slow');
    if (isSlow) this.#checkTurn(owner, id, this.#scene.now - RECORDING_MS);
  }

  /** Returns the required state of the breaker for a process; `closed` if it may be closed. */
  stateFor(machine: Machine): 'open' | 'slow' | 'closed' {
    const { now } = this.#scene;
    const failedAt = this.#failedSince.get(machine)?.at ?? Number.POSITIVE_INFINITY;
    const massSince = this.#seen.get(machine)?.massSince ?? Number.POSITIVE_INFINITY;
    const isMass = now - massSince >= UNDER_WAY_MS;
    if (isMass && this.#isReleased(massSince)) return 'slow';
    return isMass || now - failedAt >= UNDER_WAY_MS ? 'open' : 'closed';
  }

  /** Returns true after the maximum hold, also if another process began it, or after a release by a person. */
  #isReleased(massSince: number): boolean {
    const account = this.#scene.accounts.get(this.#account);
    const holdMs = parseDuration(String(objectAt(account, 'spec')['maxUnhealthyHold'])) ?? 0;
    const { since = massSince, releasedAt } = breakerRecordOf(account);
    const closing = textAt(objectAt(metadataOf(account), 'annotations'), CLOSE_BREAKER);
    const unhealthyFor = this.#scene.now - Math.min(massSince, since) + HOLD_SLACK_MS;
    return closing !== undefined || releasedAt !== undefined || unhealthyFor >= holdMs;
  }

  /** `endedAt`: from when its end counts for the next; undefined if the machine stays. */
  #checkTurn(owner: JsonObject, id: number, endedAt: number | undefined): void {
    const { now } = this.#scene;
    // Nothing is rented any more for one that is being deleted, as for one that is gone.
    const isStaying = (object: JsonObject) => metadataOf(object)['deletionTimestamp'] === undefined;
    const standing = new Set(this.#objects().filter(isStaying).map(nameOf));
    const recent = this.#slowEnds.filter(
      ({ owner: name, at }) => now - at < WINDOW_MS - ROUNDING_MS && standing.has(name),
    );
    if (endedAt !== undefined) this.#slowEnds = [...recent, { owner: nameOf(owner), at: endedAt }];
    const most = Math.max(1, Math.floor(this.#objects().length * SLOW_SHARE));
    if (recent.length < most) return;
    const text = `contract ${id} was given up although ${recent.length} others were within ten minutes`;
    this.#scene.broken('I4', `${text}, and the breaker had to be slow`);
  }

  /**
   * Returns true if more machines are bad by that list than the account allows, whatever the process knows of recent
   * changes.
   */
  #isMass(shown: ShownList, before: ReadonlySet<number>, isKnown: (object: JsonObject) => boolean): boolean {
    const { maxUnhealthy = '20%' } = objectAt(this.#scene.accounts.get(this.#account), 'spec');
    if (!this.#isSettled(JSON.stringify(maxUnhealthy))) return false;
    const objects = this.#objects();
    const unsure = objects.filter((object) => !isKnown(object)).length;
    const recorded = objects
      .filter((object) => isKnown(object) && isReplaceable(object))
      .flatMap((object) => recordedBy(object) ?? []);
    // Someone may have written the id of one machine into the status of two objects.
    const ids = [...new Set(recorded)].filter(
      (id) => shown.has(id) || (before.has(id) && !this.#destroyed.has(id)),
    );
    const bad = ids.filter((id) => !shown.has(id) || BAD.has(shown.get(id)?.status));
    const allowed = allowedBadOf(maxUnhealthy, ids.length + unsure);
    if (allowed === undefined || bad.length === 0) return false;
    const isOnlyUnseen = ids.length === 1 && UNSEEN.has(shown.get(ids[0] ?? 0)?.status);
    const areAll = unsure === 0 && bad.length === ids.length && (ids.length > 1 || isOnlyUnseen);
    return bad.length > allowed || areAll;
  }

  /** Returns true if `maxUnhealthy` has been unchanged for long enough to be known. */
  #isSettled(text: string): boolean {
    if (this.#settings?.text !== text) {
      const isFirst = this.#settings === undefined;
      this.#settings = { text, at: isFirst ? Number.NEGATIVE_INFINITY : this.#scene.now };
    }
    return this.#scene.now - this.#settings.at >= KNOWN_MS;
  }

  /** Objects of the account that the operator watches. */
  #objects(): readonly JsonObject[] {
    return [...this.#scene.objects.values()].filter(
      (object) => accountKeyOf(object) === this.#account && this.#scene.isWatched(object),
    );
  }
}

function recordedBy(object: JsonObject): number | undefined {
  return idAt(statusAt(object), 'instanceId');
}

/** Returns true if a lost machine would be replaced. */
function isReplaceable(object: JsonObject): boolean {
  const { deletionTimestamp } = metadataOf(object);
  const { powerState = 'Running', paused, replacement, adopt } = objectAt(object, 'spec');
  const isOnHold = objectAt(metadataOf(object), 'annotations')[HOLD] !== undefined;
  return (
    deletionTimestamp === undefined &&
    !isOnHold &&
    powerState === 'Running' &&
    paused !== true &&
    (objectAt({ replacement: replacement ?? {} }, 'replacement')['policy'] ?? 'Always') === 'Always' &&
    objectAt({ adopt: adopt ?? {} }, 'adopt')['policy'] !== 'Observe'
  );
}

/** Returns a key other than the uid, which the test searches in the memory of processes. */
const factsKey = (uid: string): string => `facts of ${uid}`;
