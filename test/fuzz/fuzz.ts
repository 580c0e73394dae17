import type { Random } from '../../src/lib/random.ts';
import { keepInput, readCorpus } from './corpus.ts';
import type { Coverage } from './coverage.ts';
import { mutate } from './mutate.ts';
import type { FuzzTarget } from './target.ts';

/** Inputs between two looks at coverage: few while much is new, more and more while nothing is. */
const SMALLEST_BATCH = 16;
const LARGEST_BATCH = 4096;
const MAX_KEPT_CHARACTERS = 1500;
/** More inputs of one target would be read at every run of the tests and tell little more. */
const MAX_KEPT = 64;

/** Result of fuzzing one target. */
export interface Fuzzed {
  readonly inputs: number;
  readonly corpus: number;
  readonly crash: string | undefined;
}

/** A parser threw what no caller expects. */
class Crash extends Error {}

/** Fuzzes one target: changes inputs, and keeps those that reach code or show a behaviour that none had. */
export class Fuzz {
  readonly #target: FuzzTarget;
  readonly #coverage: Coverage;
  readonly #random: Random;
  readonly #corpus: string[];
  readonly #seen = new Set<string>();
  #kept: number;
  #inputs = 0;
  #batchSize = SMALLEST_BATCH;
  #end = 0;

  constructor(target: FuzzTarget, coverage: Coverage, random: Random) {
    this.#target = target;
    this.#coverage = coverage;
    this.#random = random;
    const kept = readCorpus(target.name);
    this.#kept = kept.length;
    this.#corpus = [...target.seeds, ...kept];
  }

  /** Resolves when the time is over, or at the first crash, whose input is kept. */
  async run(seconds: number): Promise<Fuzzed> {
    this.#end = performance.now() + seconds * 1000;
    let crash: string | undefined;
    try {
      await this.#learn();
      while (this.#hasTime()) await this.#batch();
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      crash = error.message;
    }
    return { inputs: this.#inputs, corpus: this.#corpus.length, crash };
  }

  #hasTime(): boolean {
    return performance.now() < this.#end;
  }

  /** Records the initial corpus, so that its behaviour does not count as new. */
  async #learn(): Promise<void> {
    for (const text of this.#corpus) for (const behaviour of await this.#try(text)) this.#seen.add(behaviour);
    this.#admit(await this.#newlySeen());
  }

  /** Runs changed inputs, then looks once for all of them, and for fewer and fewer while something is new. */
  async #batch(): Promise<void> {
    const batch: string[] = [];
    while (batch.length < this.#batchSize && this.#hasTime()) {
      const text = mutate(this.#any(), this.#any(), this.#random);
      const behaviours = await this.#try(text);
      batch.push(text);
      if (behaviours.some((behaviour) => !this.#seen.has(behaviour))) this.#keep(text, behaviours);
    }
    const found = await this.#newlySeen();
    const size = found.length > 0 ? this.#batchSize / 4 : this.#batchSize * 2;
    this.#batchSize = Math.min(LARGEST_BATCH, Math.max(SMALLEST_BATCH, size));
    if (found.length > 0) await this.#bisect(batch);
    // What shows only in company would send the search again and again.
    this.#admit(found);
  }

  /** Finds the inputs of a batch that reach new code, as far as time is left. */
  async #bisect(batch: readonly string[]): Promise<void> {
    if (!this.#hasTime()) return;
    const middle = Math.ceil(batch.length / 2);
    for (const half of [batch.slice(0, middle), batch.slice(middle)]) {
      for (const text of half) await this.#try(text);
      const found = await this.#newlySeen();
      const [first] = half;
      if (found.length === 0 || first === undefined) continue;
      if (half.length === 1) this.#keep(first, found);
      else await this.#bisect(half);
    }
  }

  #any(): string {
    return this.#corpus[Math.floor(this.#random.next() * this.#corpus.length)] ?? '';
  }

  async #try(text: string): Promise<readonly string[]> {
    this.#inputs += 1;
    try {
      return (await this.#target.run(text)) ?? [];
    } catch (error) {
      const file = keepInput(this.#target.name, text);
      const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
      throw new Crash(`${stack}\n  with ${file}`);
    }
  }

  async #newlySeen(): Promise<readonly string[]> {
    const blocks = await this.#coverage.ranSinceLastCall();
    return [...blocks].filter((block) => !this.#seen.has(block));
  }

  #admit(found: readonly string[]): void {
    for (const each of found) this.#seen.add(each);
  }

  #keep(text: string, found: readonly string[]): void {
    this.#admit(found);
    if (text.length > MAX_KEPT_CHARACTERS || this.#kept >= MAX_KEPT || this.#corpus.includes(text)) return;
    this.#kept += 1;
    this.#corpus.push(text);
    keepInput(this.#target.name, text);
  }
}
