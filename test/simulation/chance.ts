import type { Random } from '../../src/lib/random.ts';

/** An action and its weight relative to the others. */
export type Act = readonly [weight: number, act: () => unknown];

/** Choices that people make, drawn from a seed. */
export class Chance {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns true with the given probability. */
  isWithin(share: number): boolean {
    return this.#random.next() < share;
  }

  /** Returns an integer from 0 to `end - 1`. */
  below(end: number): number {
    return Math.floor(this.#random.next() * end);
  }

  /** Returns an integer from 1 to `most`. */
  upTo(most: number): number {
    return Math.ceil(this.#random.next() * most) || 1;
  }

  oneOf<const T extends readonly [unknown, ...unknown[]]>(choices: T): T[number] {
    return choices[this.below(choices.length)] ?? choices[0];
  }

  doOneOf(acts: readonly Act[]): void {
    let roll = this.#random.next() * acts.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, act] of acts) {
      roll -= weight;
      if (roll < 0) return void act();
    }
  }
}
