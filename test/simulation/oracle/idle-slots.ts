import type { Machine } from '../machine.ts';
import { idAt, type JsonObject, listAt, metadataOf, objectAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { accountKeyOf } from './accounts.ts';
import { hasOffer } from './free-offers.ts';
import { conditionOf, nameOf, type Scene } from './scene.ts';

/** A slot may stay unused for this long while an object could use it. */
const MAX_IDLE_MS = 30_000;
/** A process that has not listed for this long does not act. */
const ACTS_MS = 30_000;
/**
 * Time for recovery from an obstacle, which may have delayed objects and whole queues: the longest backoff, with
 * jitter.
 */
const RECOVERS_MS = 330_000;
const CHECK_EVERY_MS = 5_000;
const HOUR_MS = 3_600_000;
/** Reasons of an object that waits for nothing but its turn: any other says what it waits for, and for how long. */
const WAITING: ReadonlySet<unknown> = new Set([
  undefined,
  'Pending',
  'Queued',
  'AccountNotReady',
  'NotRunning',
]);

/**
 * F1: no rental slot of a login stays unused for 30 s while an object could use it: one that wants a machine, whose
 * account is ready and sets no limit in its way, and that an offer of the ledger's catalogue matches.
 */
export class IdleSlotWatch {
  readonly #scene: Scene;
  /** Time of the last rent call by login. */
  readonly #rentedAt = new Map<number, number>();
  /** The last process that listed the machines of a login, and its time. */
  readonly #lister = new Map<number, { readonly machine: Machine; readonly at: number }>();
  /** Time since which the object could use a slot, by uid. */
  #ableSince: ReadonlyMap<string, number> = new Map();
  #calmSince: number;
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(scene: Scene) {
    this.#scene = scene;
    this.#calmSince = scene.now - RECOVERS_MS;
  }

  rentSent(login: number | undefined): void {
    if (login !== undefined) this.#rentedAt.set(login, this.#scene.now);
  }

  listed(machine: Machine, login: number | undefined): void {
    if (login === undefined) return;
    const before = this.#lister.get(login);
    if (before && before.machine !== machine) this.hindered();
    this.#lister.set(login, { machine, at: this.#scene.now });
  }

  /** Records an obstacle of a process. */
  hindered(): void {
    this.#calmSince = Math.max(this.#calmSince, this.#scene.now);
  }

  /** Records that a process missed an event: it may not know an object until then. */
  blindUntil(until: number): void {
    this.#calmSince = Math.max(this.#calmSince, until - RECOVERS_MS + MAX_IDLE_MS);
  }

  elapsed(): void {
    const { now } = this.#scene;
    if (now - this.#checkedAt < CHECK_EVERY_MS) return;
    this.#checkedAt = now;
    if (Object.keys(this.#scene.world.market.store.current().tables.faults).length > 0) this.hindered();
    if (now - this.#calmSince < RECOVERS_MS) {
      this.#ableSince = new Map();
      return;
    }
    const able = [...this.#scene.objects].filter(([, object]) => this.#isAble(object));
    this.#ableSince = new Map(able.map(([uid]) => [uid, this.#ableSince.get(uid) ?? now]));
    const idle = able.find(([uid, object]) => this.#hasWaited(uid, object));
    if (idle) this.#broken(idle[1]);
  }

  #broken(object: JsonObject): void {
    this.#scene.broken(
      'F1',
      `no machine was rented for ${MAX_IDLE_MS / 1000} s, and ${nameOf(object)} could have been`,
    );
  }

  #hasWaited(uid: string, object: JsonObject): boolean {
    const { now } = this.#scene;
    const login = this.#loginOf(object);
    const lister = login === undefined ? undefined : this.#lister.get(login);
    if (login === undefined || !lister || now - lister.at > ACTS_MS) return false;
    const since = Math.max(this.#ableSince.get(uid) ?? now, this.#rentedAt.get(login) ?? 0);
    return now - since >= MAX_IDLE_MS;
  }

  #loginOf(object: JsonObject): number | undefined {
    return idAt(objectAt(statusAt(this.#scene.accountOf(object)), 'login'), 'userId');
  }

  /** Returns true if the object lacks only a slot. */
  #isAble(object: JsonObject): boolean {
    const { deletionTimestamp, annotations } = metadataOf(object);
    const spec = objectAt(object, 'spec');
    const status = statusAt(object);
    if (deletionTimestamp || annotations !== undefined || status['instanceId'] !== undefined) return false;
    if (spec['paused'] === true || spec['powerState'] === 'Stopped' || spec['adopt'] !== undefined)
      return false;
    if (listAt(status, 'rentals').length > 0 || spec['env'] !== undefined || spec['ports'] !== undefined)
      return false;
    if (!this.#scene.isWatched(object) || this.#scene.isHandled(String(metadataOf(object)['uid'])))
      return false;
    return (
      WAITING.has(conditionOf(object, 'Ready')?.['reason']) &&
      this.#mayRent(object) &&
      hasOffer(this.#scene, object)
    );
  }

  #mayRent(object: JsonObject): boolean {
    const account = this.#scene.accountOf(object);
    const spec = objectAt(account, 'spec');
    const status = statusAt(account);
    const isReady = conditionOf(account, 'Ready')?.['status'] === 'True';
    const isOwn = accountKeyOf(object).startsWith(`${String(metadataOf(object)['namespace'])}/`);
    const isOpenToAll = objectAt(spec, 'allowedNamespaces')['from'] === 'All';
    const hasLimits = Object.keys(objectAt(spec, 'limits')).length > 0;
    const isBroken = objectAt(status, 'breaker')['openSince'] !== undefined;
    if (!isReady || metadataOf(account)['deletionTimestamp'] || hasLimits || isBroken) return false;
    if (spec['suspend'] === true) return false;
    // Until labels are known to come back, rentals go one at a time.
    return (isOwn || isOpenToAll) && status['labelsEchoed'] === true && !this.#isBraked();
  }

  /** Returns true if the operator's own brake is near. */
  #isBraked(): boolean {
    const hour = this.#scene.now - HOUR_MS;
    const recent = [...this.#scene.objects.values()].flatMap((object) =>
      listAt(statusAt(object), 'rentals').filter((at) => Date.parse(String(at)) > hour),
    );
    return recent.length + 100 > this.#scene.maxRentalsPerHour;
  }
}
