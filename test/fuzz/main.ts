/**
 * Fuzzes every parser of what others write, guided by the code that an input reaches, and keeps inputs that reach
 * more under `test/fuzz/corpus`. From the environment: MINUTES (1), shared by the targets; TARGET takes one; SEED.
 * Prints one JSON line; exit 1 where a parser throws what no caller expects, whose input is kept, too; 2
 * where a setting means nothing.
 */
import { seededRandom } from '../../src/lib/random.ts';
import { settingsOrExit } from '../settings/or-exit.ts';
import { readStrictly, SettingsError } from '../settings/reader.ts';
import { Coverage } from './coverage.ts';
import { Fuzz } from './fuzz.ts';
import type { FuzzTarget } from './target.ts';

const { minutes, seed } = settingsOrExit(() =>
  readStrictly(process.env, (reader) => ({
    minutes: reader.positive('MINUTES') ?? 1,
    seed: reader.seed('SEED') ?? Math.floor(Date.now() / 1000),
  })),
);
const only = process.env['TARGET'];

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
  const inputsPerSecond = Math.round(inputs / (minutes * 60));
  const summary = { targets: chosen.length, inputs, inputsPerSecond, corpus, crashes };
  process.stdout.write(`${JSON.stringify(summary)}\n`);
  process.exitCode = crashes.length > 0 ? 1 : 0;
}

await main();
