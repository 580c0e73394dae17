import type { Random } from '../../src/lib/random.ts';

/** How often beside others, and what. */
export type Act = readonly [weight: number, act: () => unknown];

/** Choices that people make, drawn from a seed. */
export class Chance {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Whether something happens that does in such a share of all cases. */
  isWithin(share: number): boolean {
    return this.#random.next() < share;
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.#random.next() * end);
  }

  /** A whole number from 1. */
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
