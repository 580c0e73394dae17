import type { Machine } from '../machine.ts';
import type { JsonObject } from '../memory-kube/json.ts';
import { hasUsableRecord, statusAt } from '../status-at.ts';
import type { Purchase } from './purchase.ts';
import { nameOf, type Scene } from './scene.ts';

interface RentCall {
  readonly offer: number;
  readonly uid: string;
  readonly login: number | undefined;
  readonly at: number;
}

/** A sent rent call. */
export interface RentSent {
  readonly offer: number;
  /** Login of its key; undefined without one. */
  readonly login: number | undefined;
  /** The answer will be, or may be, a certain refusal, and the offer is free again. */
  readonly isRefused: boolean;
}

/** Two calls of one process for one offer that are closer together were decided upon together. */
const AT_ONCE_MS = 100;
/** The pace of another login lets it ask as soon as the service has refused the offer: no answer comes sooner than this. */
const UNANSWERED_MS = 3;

/**
 * Attempts are used once and never go back: I6 one rental per attempt, and no process asks for one offer for two
 * objects at once; I8 attempts never decrease. A record that a person has put back counts on from there.
 */
export class AttemptWatch {
  readonly #scene: Scene;
  readonly #sent = new Map<string, number>();
  readonly #lastCalls = new WeakMap<Machine, RentCall>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Records a sent rent call. */
  rentSent(machine: Machine, { offer, login, isRefused }: RentSent, purchase: Purchase): void {
    this.#checkOffer(machine, { offer, login, uid: purchase.uid, at: this.#scene.now });
    if (isRefused) this.#lastCalls.delete(machine);
    const { uid, attempt } = purchase;
    const key = `${uid}/${attempt}`;
    const sent = (this.#sent.get(key) ?? 0) + 1;
    this.#sent.set(key, sent);
    if (sent > 1 && !this.#scene.isHandled(uid))
      this.#scene.broken('I6', `attempt ${attempt} of ${uid} was sent ${sent} times`);
  }

  #checkOffer(machine: Machine, call: RentCall): void {
    const last = this.#lastCalls.get(machine);
    const { offer, uid, login, at } = call;
    this.#lastCalls.set(machine, call);
    if (last?.offer !== offer || last.uid === uid) return;
    if (at - last.at >= (login === last.login ? AT_ONCE_MS : UNANSWERED_MS)) return;
    this.#scene.broken('I6', `${machine.name} asked for offer ${offer} for ${last.uid} and ${uid} at once`);
  }

  rewritten(before: JsonObject, after: JsonObject): void {
    const from = attemptOf(before);
    const to = attemptOf(after);
    // A record that a person made unusable says nothing of attempts.
    if (!hasUsableRecord(after)) return;
    if (to < from) this.#scene.broken('I8', `the attempt of ${nameOf(after)} fell from ${from} to ${to}`);
  }
}

const attemptOf = (object: JsonObject): number => Number(statusAt(object)['attempt'] ?? 0);
