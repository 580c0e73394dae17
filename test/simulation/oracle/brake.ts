import { type JsonObject, metadataOf, objectAt, objectsAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { failureWaitOf } from './failure-wait.ts';
import { intentOf, type Purchase } from './purchase.ts';
import { nameOf, type Scene } from './scene.ts';

const HOUR_MS = 3_600_000;
/** Maximum deviation of a process's clock without a jump. */
const CLOCK_SLACK_MS = 5_000;

/** Ends after which another machine was chosen to follow. */
const CHOSEN_ENDS: ReadonlySet<unknown> = new Set([
  'SpecChanged',
  'ReplaceRequested',
  'PriceRaised',
  'LimitReached',
  'Idle',
]);

/** I9: no object rents more often than its brake allows. What was refused is no rental. */
export class BrakeWatch {
  readonly #scene: Scene;
  /** When the machine of each attempt of an object began, and when the attempt was first written down. */
  readonly #begun = new Times();
  readonly #recorded = new Times();
  #clockWrongAt = Number.NEGATIVE_INFINITY;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records a sent rent call, which must not follow two failures of the spec unless a person requests it. */
  rentSent({ uid }: Purchase): void {
    const object = this.#scene.objects.get(uid);
    const until = object && failureWaitOf(object);
    if (!object || until === undefined || this.#scene.now + CLOCK_SLACK_MS >= until) return;
    if (this.#scene.now - this.#clockWrongAt < HOUR_MS || this.#scene.isHandled(uid)) return;
    const asked = objectAt(metadataOf(object), 'annotations')['gpurental.dev/requested-at'];
    if (asked !== undefined && asked !== statusAt(object)['requestedAt']) return;
    const lastEnd = objectsAt(statusAt(object), 'history').at(-1)?.['reason'];
    if (CHOSEN_ENDS.has(lastEnd)) return;
    const seconds = Math.round((until - this.#scene.now) / 1000);
    this.#scene.broken('B04', `${nameOf(object)} rents ${seconds} s before its spec may be tried again`);
  }

  /** Records a rented machine. */
  began({ uid, attempt }: Purchase): void {
    const object = this.#scene.objects.get(uid);
    if (!this.#begun.note(uid, attempt, this.#scene.now) || !object || this.#scene.isHandled(uid)) return;
    if (this.#scene.now - this.#clockWrongAt < HOUR_MS) return;
    const count = this.#begun.within(uid, this.#scene.now);
    const most = brakeOf(object);
    if (count <= most) return;
    this.#scene.broken('I9', `${nameOf(object)} rented ${count} times within an hour, and may ${most} times`);
  }

  /** Records a change of a wall clock: by it a recent rental may look an hour old. The brake has no other clock. */
  clockJumped(): void {
    this.#clockWrongAt = this.#scene.now;
  }

  rewritten(uid: string, object: JsonObject): void {
    const intent = intentOf(object);
    if (intent) this.#recorded.note(uid, Number(intent['attempt']), this.#scene.now);
  }

  /** Returns true if the brake may keep that object from renting now. */
  isBlockedByBrake(uid: string): boolean {
    const object = this.#scene.objects.get(uid);
    return object !== undefined && this.#recorded.within(uid, this.#scene.now) >= brakeOf(object);
  }
}

/** First times of an object's attempts. */
class Times {
  readonly #byUid = new Map<string, Map<number, number>>();

  /** Records an attempt; returns true if it is new. */
  note(uid: string, attempt: number, at: number): boolean {
    const times = this.#byUid.get(timesKey(uid)) ?? new Map<number, number>();
    this.#byUid.set(timesKey(uid), times);
    if (times.has(attempt)) return false;
    times.set(attempt, at);
    return true;
  }

  within(uid: string, now: number): number {
    const times = [...(this.#byUid.get(timesKey(uid))?.values() ?? [])];
    return times.filter((at) => at > now - HOUR_MS).length;
  }
}

/** Returns a key other than the uid, which the test searches in the memory of processes. */
const timesKey = (uid: string): string => `times ${uid}`;

const brakeOf = (object: JsonObject): number =>
  Number(objectAt(objectAt(object, 'spec'), 'replacement')['maxPerHour']);
