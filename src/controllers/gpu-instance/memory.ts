import type { Reason } from '../../api/v1alpha1/reasons.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Secret } from '../../lib/secret.ts';
import type { Instance } from '../../marketplace/instances.ts';
import type { RentalIntent } from '../../ownership/intent.ts';
import { wordOf } from './machine-fields.ts';
import type { DestroyMark, MemoryView, ProbeView, RentedFacts } from './types.ts';

const BAD_WORDS: ReadonlySet<string> = new Set(['exited', 'unknown', 'offline']);

/**
 * What this process knows of one object beyond the cluster. It only saves time and money: whatever is lost
 * here is found again from the record, the label and the lists.
 */
export class ObjectMemory {
  rented: RentedFacts | undefined;
  /** Given out once by the marketplace; kept until the connection Secret holds it. */
  instanceApiKey: { readonly attempt: number; readonly key: Secret } | undefined;
  intent: RentalIntent | undefined;
  refusedAttempt: number | undefined;
  refusal: { readonly reason: Reason; readonly detail: string } | undefined;
  failures = 0;
  notBefore = 0;
  stopAskedAt: number | undefined;
  stopAnsweredAt: number | undefined;
  destroyFailures = 0;
  probe: ProbeView | undefined;
  readonly #destroys = new Map<number, DestroyMark>();
  #intentSeen: { readonly attempt: number; readonly wall: number; readonly monotonic: number } | undefined;
  #generation: number | undefined;
  #badEndedAt: number | undefined;
  #seenWord: { readonly word: string; readonly since: number } | undefined;
  #progress: { readonly text: string | undefined; readonly at: number } | undefined;

  /** What failed by an older spec may work by this one. */
  atGeneration(generation: number | undefined): void {
    if (this.#generation !== undefined && this.#generation !== generation) this.succeeded();
    this.#generation = generation;
  }

  /** A destroy was answered with success. */
  destroyed(mark: DestroyMark): void {
    this.#destroys.set(mark.instanceId, mark);
    this.destroyFailures = 0;
    this.notBefore = 0;
  }

  /** A machine is proven gone, and the record says so. */
  settled(instanceId: number): void {
    this.#destroys.delete(instanceId);
    this.#seenWord = undefined;
    this.#progress = undefined;
    this.#badEndedAt = undefined;
    this.stopAskedAt = undefined;
    this.stopAnsweredAt = undefined;
    this.probe = undefined;
  }

  /** Something failed: it is not tried again before `afterMs` have passed. */
  backOff(
    now: number,
    afterMs: number,
    refusal?: { readonly reason: Reason; readonly detail: string },
  ): void {
    this.failures++;
    this.notBefore = now + afterMs;
    this.refusal = refusal;
  }

  /** What was tried worked. */
  succeeded(): void {
    this.failures = 0;
    this.notBefore = 0;
    this.refusal = undefined;
  }

  /** Notes what the latest list shows of the machine. */
  see(row: Instance, begunAt: number): void {
    const word = wordOf(row);
    if (this.#seenWord?.word !== word) {
      if (this.#seenWord && BAD_WORDS.has(this.#seenWord.word) && !BAD_WORDS.has(word))
        this.#badEndedAt = begunAt;
      this.#seenWord = { word, since: begunAt };
    }
    if (this.#progress?.text !== row.statusMessage) this.#progress = { text: row.statusMessage, at: begunAt };
  }

  view(clock: Clock, openAttempt: number | undefined): MemoryView {
    return {
      rented: this.rented,
      intent: this.intent,
      refusedAttempt: this.refusedAttempt,
      refusal: this.refusal,
      destroys: [...this.#destroys.values()],
      forwardJumpMs: this.#forwardJump(clock, openAttempt),
      failures: this.failures,
      notBefore: this.notBefore,
      stopAskedAt: this.stopAskedAt,
      stopAnsweredAt: this.stopAnsweredAt,
      destroyFailures: this.destroyFailures,
      badEndedAt: this.#badEndedAt,
      seenWord: this.#seenWord,
      progress: this.#progress,
    };
  }

  /** A wall clock that jumped ahead must not make a grace look over: the monotonic one says how long it was. */
  #forwardJump(clock: Clock, attempt: number | undefined): number {
    if (attempt === undefined) return 0;
    if (this.#intentSeen?.attempt !== attempt) {
      this.#intentSeen = { attempt, wall: clock.now(), monotonic: clock.monotonic() };
    }
    const wall = clock.now() - this.#intentSeen.wall;
    return Math.max(0, Math.round(wall - (clock.monotonic() - this.#intentSeen.monotonic)));
  }
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

  forget(uid: string): void {
    this.#byUid.delete(uid);
  }
}
