/**
 * Runs mutants against the simulation and the unit tables. `--rotate 10` takes ten, others each day (`--from 3` says
 * where to begin); without it all are run. What killed a mutant before is tried first, unless `--fresh`; it is killed
 * by whatever is found first. `--scope simulation` and `--scope tables` look in one of them alone. All of them, or
 * `--record`, write `kills.json` and `test/evidence/mutants.md`. `--only name` takes one, `--unseen` those that the
 * simulation has not found, `--seconds` is the processor time of one search. Exit 1 where one survives, 2 where an option means nothing.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { settingsOrExit } from '../../settings/or-exit.ts';
import { LARGEST_SEED, readStrictly, SettingsError } from '../../settings/reader.ts';
import { MUTANTS } from './catalogue.ts';
import { judge, type Scope } from './judge.ts';
import { type Evidence, nameOf } from './kill.ts';
import { readKnownKills, writeKnownKills } from './known-kills.ts';
import type { Mutant } from './mutant.ts';
import { reportOf } from './report.ts';
import { Workspace } from './workspace.ts';

const values = settingsOrExit(readOptions);
const PAGE = join(import.meta.dirname, '..', '..', 'evidence', 'mutants.md');

function readOptions() {
  const options = {
    rotate: { type: 'string' },
    from: { type: 'string' },
    only: { type: 'string', multiple: true },
    seconds: { type: 'string', default: '90' },
    fresh: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    scope: { type: 'string', default: 'either' },
    unseen: { type: 'boolean', default: false },
  } as const;
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const known = Object.keys(options).map((name) => `--${name}`);
    throw new SettingsError([`${message}: there are ${known.join(', ')}`]);
  }
}

function numberOf(option: 'rotate' | 'from' | 'seconds', otherwise: number): number {
  return (
    readStrictly({ [`--${option}`]: values[option] }, (reader) =>
      reader.whole(`--${option}`, option === 'from' ? 0 : 1, LARGEST_SEED),
    ) ?? otherwise
  );
}

const SCOPES: readonly Scope[] = ['either', 'simulation', 'tables'];

function scopeOf(text: string): Scope {
  const scope = SCOPES.find((each) => each === text);
  if (scope) return scope;
  throw new SettingsError([`--scope ${text}: write one of ${SCOPES.join(', ')}`]);
}

function chosen(known: ReadonlyMap<string, Evidence>): readonly Mutant[] {
  if (values.only !== undefined) return values.only.map(named);
  if (values.unseen) return MUTANTS.filter(({ name }) => !known.get(name)?.simulation);
  if (values.rotate === undefined) return MUTANTS;
  const count = Math.min(numberOf('rotate', 10), MUTANTS.length);
  const from = numberOf('from', Math.floor(Date.now() / 86_400_000) * count) % MUTANTS.length;
  return [...MUTANTS.slice(from), ...MUTANTS.slice(0, from)].slice(0, count);
}

function named(name: string): Mutant {
  const mutant = MUTANTS.find((each) => each.name === name);
  if (mutant) return mutant;
  const names = MUTANTS.map((each) => each.name).join(', ');
  throw new SettingsError([`--only ${name}: there is no such mutant; write one of ${names}`]);
}

async function main(): Promise<void> {
  const kills = new Map(readKnownKills());
  const { mutants, seconds, scope } = settingsOrExit(() => ({
    mutants: chosen(kills),
    seconds: numberOf('seconds', 90),
    scope: scopeOf(values.scope),
  }));
  const survivors: string[] = [];
  const workspace = new Workspace();
  const startedAt = performance.now();
  try {
    for (const mutant of mutants) {
      const before = kills.get(mutant.name) ?? {};
      const found = await judge(mutant, { workspace, seconds, scope, known: values.fresh ? {} : before });
      if (!found.simulation && !found.test) survivors.push(mutant.name);
      kills.set(mutant.name, together(before, found, scope));
      process.stderr.write(`${inWords(mutant, found)}\n`);
      if (mutants.length === MUTANTS.length || values.record) save(kills);
    }
  } finally {
    workspace.remove();
  }
  const took = Math.round((performance.now() - startedAt) / 1000);
  const summary = {
    mutants: mutants.length,
    killed: mutants.length - survivors.length,
    survivors,
    seconds: took,
  };
  process.stdout.write(`${JSON.stringify(summary)}\n`);
  process.exitCode = survivors.length > 0 ? 1 : 0;
}

/** Merges findings; those within the searched scope that were not found again are dropped. */
function together(before: Evidence, found: Evidence, scope: Scope): Evidence {
  if (scope !== 'either')
    return { ...before, [scope === 'tables' ? 'test' : 'simulation']: undefined, ...found };
  return found.simulation || found.test ? { ...before, ...found } : {};
}

function inWords({ name }: Mutant, { simulation, test }: Evidence): string {
  if (simulation)
    return `killed   ${name}: ${nameOf(simulation.finding)}, ${simulation.broken} in ${simulation.seconds} s`;
  return test ? `killed   ${name}: ${test.file}: ${test.name}` : `SURVIVED ${name}`;
}

/** Writes the findings in the order of the catalogue, to keep the difference between runs small. */
function save(kills: ReturnType<typeof readKnownKills>): void {
  writeKnownKills(new Map(MUTANTS.flatMap(({ name }) => entry(name, kills))));
  writeFileSync(PAGE, reportOf(MUTANTS, kills));
}

function entry(name: string, kills: ReturnType<typeof readKnownKills>) {
  const kill = kills.get(name);
  return kill ? [[name, kill] as const] : [];
}

await main();
