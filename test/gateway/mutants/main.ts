/**
 * Runs mistakes in the bounds of the gateway against its unit tests, and against tests with a real Envoy. All of
 * them write `kills.json` and `test/evidence/gateway-mutants.md`; `--only name` takes one and `--record` writes it too. What
 * killed a mutant before is tried first. Exit 1 if a mutant survives the unit tests or the tests with Envoy that it names, 2 if an option means nothing.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Workspace } from '../../simulation/mutants/workspace.ts';
import { BOUND_MUTANTS, type BoundMutant } from './catalogue.ts';
import { brokenBefore, judge } from './judge.ts';
import { type Kill, readKills, writeKills } from './kills.ts';
import { reportOf } from './report.ts';

const PAGE = join(import.meta.dirname, '..', '..', 'evidence', 'gateway-mutants.md');
/** Beside what every workspace has. */
const COPIED = ['test/gateway', 'test/tools', 'test/cluster', 'test/settings'];

const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true }, record: { type: 'boolean', default: false } },
});

function chosen(): readonly BoundMutant[] {
  const names = values.only ?? BOUND_MUTANTS.map(({ name }) => name);
  return names.map((name) => {
    const found = BOUND_MUTANTS.find((mutant) => mutant.name === name);
    if (found) return found;
    process.stderr.write(`--only ${name}: there is no such mutant\n`);
    return process.exit(2);
  });
}

/** Saves the kills in the order of the catalogue. */
function save(kills: ReadonlyMap<string, Kill>): void {
  const known = new Map(
    BOUND_MUTANTS.flatMap(({ name }) => {
      const kill = kills.get(name);
      return kill ? [[name, kill] as const] : [];
    }),
  );
  writeKills(known);
  writeFileSync(PAGE, reportOf(BOUND_MUTANTS, known));
}

async function main(): Promise<void> {
  const mutants = chosen();
  const kills = new Map(readKills());
  const workspace = new Workspace(COPIED);
  const survivors: string[] = [];
  const startedAt = performance.now();
  try {
    const broken = await brokenBefore(mutants, workspace);
    if (broken) throw new Error(`without any mutant a test fails: ${broken.file}: ${broken.name}`);
    for (const mutant of mutants) {
      const { name } = mutant;
      const kill = await judge(mutant, workspace, kills.get(name) ?? {});
      kills.set(name, kill);
      const { unit, envoy } = kill;
      if (!unit || (mutant.envoy && !envoy)) survivors.push(name);
      const by = [unit, envoy].map((test) => (test ? `${test.file}: ${test.name}` : 'none'));
      const verdict = survivors.includes(name) ? 'SURVIVED' : 'killed  ';
      process.stderr.write(`${verdict} ${name}: ${by.join('; ')}\n`);
      if (values.only === undefined || values.record) save(kills);
    }
  } finally {
    workspace.remove();
  }
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const killed = mutants.length - survivors.length;
  process.stdout.write(`${JSON.stringify({ mutants: mutants.length, killed, survivors, seconds })}\n`);
  process.exitCode = survivors.length > 0 ? 1 : 0;
}

await main();
