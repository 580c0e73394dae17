/**
 * Fuzzes every parser of what others write, guided by the code that an input reaches, and keeps inputs that reach
 * more under `test/fuzz/corpus`. From the environment: MINUTES (1), shared by the targets; TARGET takes one; SEED.
 * Prints one JSON line; exit 1 where a parser throws what no caller expects, whose input is kept, too; 2
 * where a setting means nothing.
 */
import { type Random, seededRandom } from '../../src/lib/random.ts';
import { settingsOrExit } from '../settings/or-exit.ts';
import { readStrictly, SettingsError } from '../settings/reader.ts';
import { keepInput, readCorpus } from './corpus.ts';
import { Coverage } from './coverage.ts';
import { mutate } from './mutate.ts';
import type { FuzzTarget } from './targets.ts';

/** Looking at coverage costs as much as some hundred inputs. */
const INPUTS_PER_LOOK = 200;
const LONGEST_KEPT = 1500;

const { minutes, seed } = settingsOrExit(() =>
  readStrictly(process.env, (reader) => ({
    minutes: reader.positive('MINUTES') ?? 1,
    seed: reader.seed('SEED') ?? Math.floor(Date.now() / 1000),
  })),
);
const only = process.env['TARGET'];

interface Fuzzed {
  readonly inputs: number;
  readonly corpus: number;
  readonly crash: string | undefined;
}

class Fuzz {
  readonly #target: FuzzTarget;
  readonly #coverage: Coverage;
  readonly #random: Random;
  readonly #corpus: string[];
  #inputs = 0;

  constructor(target: FuzzTarget, coverage: Coverage, random: Random) {
    this.#target = target;
    this.#coverage = coverage;
    this.#random = random;
    this.#corpus = [...target.seeds, ...readCorpus(target.name)];
  }

  async run(seconds: number): Promise<Fuzzed> {
    const end = performance.now() + seconds * 1000;
    let crash = await this.#firstCrash(this.#corpus);
    this.#coverage.admit(await this.#coverage.look());
    while (crash === undefined && performance.now() < end) {
      const batch = Array.from({ length: INPUTS_PER_LOOK }, () =>
        mutate(this.#any(), this.#any(), this.#random),
      );
      crash = await this.#firstCrash(batch);
      if ((await this.#coverage.look()).size > 0) await this.#keepNew(batch);
    }
    return { inputs: this.#inputs, corpus: this.#corpus.length, crash };
  }

  #any(): string {
    return this.#corpus[Math.floor(this.#random.next() * this.#corpus.length)] ?? '';
  }

  async #firstCrash(batch: readonly string[]): Promise<string | undefined> {
    for (const text of batch) {
      this.#inputs += 1;
      try {
        await this.#target.run(text);
      } catch (error) {
        const file = keepInput(this.#target.name, text);
        return `${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n  with ${file}`;
      }
    }
    return undefined;
  }

  /** Runs a batch that reached new code again, one by one, and keeps those that did. */
  async #keepNew(batch: readonly string[]): Promise<void> {
    for (const text of batch) {
      await this.#firstCrash([text]);
      const fresh = await this.#coverage.look();
      this.#coverage.admit(fresh);
      if (fresh.size === 0 || text.length > LONGEST_KEPT) continue;
      this.#corpus.push(text);
      keepInput(this.#target.name, text);
    }
  }
}

function choose(targets: readonly FuzzTarget[]): readonly FuzzTarget[] {
  const chosen = targets.filter(({ name }) => only === undefined || name === only);
  if (chosen.length > 0) return chosen;
  throw new SettingsError([`TARGET=${only}: write one of ${targets.map(({ name }) => name).join(', ')}`]);
}

async function main(): Promise<void> {
  const coverage = new Coverage();
  await coverage.start();
  const { TARGETS } = await import('./targets.ts');
  const chosen = settingsOrExit(() => choose(TARGETS));
  process.stderr.write(`Seed ${seed}\n`);
  let inputs = 0;
  let corpus = 0;
  const crashes: string[] = [];
  for (const target of chosen) {
    const random = seededRandom(seed);
    const fuzzed = await new Fuzz(target, coverage, random).run((minutes * 60) / chosen.length);
    process.stderr.write(
      `${target.name}: ${fuzzed.inputs} inputs, ${fuzzed.corpus} in the corpus${fuzzed.crash ? `\n${fuzzed.crash}` : ''}\n`,
    );
    inputs += fuzzed.inputs;
    corpus += fuzzed.corpus;
    if (fuzzed.crash !== undefined) crashes.push(target.name);
  }
  const summary = { targets: chosen.length, inputs, corpus, blocks: coverage.size, crashes };
  process.stdout.write(`${JSON.stringify(summary)}\n`);
  process.exitCode = crashes.length > 0 ? 1 : 0;
}

await main();
