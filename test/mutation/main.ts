/**
 * Mutates the files that decide about money and counts what their tests notice. All mutants of a group are in its
 * files at once, each behind a switch, and one process plays the tests for one after the other: minutes instead of the
 * hours that a process for each of them takes. `--only PART`, which may be repeated, takes the files whose path has
 * that part, and says what survives.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Group, groupsIn } from './groups.ts';
import type { Fate } from './mutant-runner.ts';
import { type Mutant, Sandbox } from './sandbox.ts';
import { MIN_PERCENT, mutantsOf, pageOf, percentOf, type Score } from './score.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const SCORES = join(import.meta.dirname, 'scores.json');
const PAGE = join(ROOT, 'test', 'evidence', 'mutation-score.md');

const { values } = parseArgs({ options: { only: { type: 'string', multiple: true } } });
const parts = values.only ?? [''];
const groups = groupsIn(ROOT)
  .map((group) => ({
    ...group,
    files: group.files.filter((file) => parts.some((part) => file.includes(part))),
  }))
  .filter(({ files }) => files.length > 0);
if (groups.length === 0) {
  process.stderr.write(
    `--only ${parts.join(', ')} is in the path of no file that is mutated; see test/mutation/groups.ts\n`,
  );
  process.exit(2);
}

const sandbox = new Sandbox(ROOT);
process.once('SIGINT', () => {
  sandbox.remove();
  process.exit(130);
});
try {
  const scores: Score[] = [];
  for (const group of groups) scores.push(...(await scoresOf(group)));
  const all = recorded(scores);
  writeFileSync(SCORES, `${JSON.stringify(all, null, 2)}\n`);
  writeFileSync(PAGE, pageOf(all));
  const low = scores.filter((score) => percentOf(score) < MIN_PERCENT);
  for (const { file } of low) process.stdout.write(`less than ${MIN_PERCENT} %: ${file}\n`);
  process.exitCode = low.length === 0 ? 0 : 1;
} finally {
  sandbox.remove();
}

/** Returns the new scores with the earlier ones of other existing files. */
function recorded(now: readonly Score[]): readonly Score[] {
  const before: readonly Score[] = JSON.parse(readFileSync(SCORES, 'utf8'));
  const byFile = new Map([...before, ...now].map((score) => [score.file, score]));
  const files = groupsIn(ROOT).flatMap((group) => group.files);
  return files.flatMap((file) => byFile.get(file) ?? []);
}

async function scoresOf(group: Group): Promise<readonly Score[]> {
  const mutants = await sandbox.put(group);
  const fates = play(mutants);
  sandbox.restore(group);
  if (values.only !== undefined) for (const mutant of mutants) printSurvivor(mutant, fates[mutant.id]);
  return group.files.map((file) => {
    const count = (fate: Fate) =>
      mutants.filter(({ id, fileName }) => fileName === file && fates[id] === fate).length;
    const score = {
      file,
      killed: count('killed'),
      survived: count('survived'),
      uncovered: count('uncovered'),
    };
    process.stdout.write(`${file}: ${score.killed} of ${mutantsOf(score)} killed, ${percentOf(score)} %\n`);
    return score;
  });
}

/** Runs all mutants in one Vitest process. */
function play(mutants: readonly Mutant[]): Readonly<Record<string, Fate>> {
  const [listed, fates] = [join(sandbox.folder, 'mutants.json'), join(sandbox.folder, 'fates.json')];
  writeFileSync(listed, JSON.stringify(mutants));
  const config = {
    test: {
      include: ['all.test.ts'],
      runner: join(import.meta.dirname, 'mutant-runner.ts'),
      isolate: false,
      pool: 'forks',
      maxWorkers: 1,
      testTimeout: 60_000,
      teardownTimeout: 1_000,
      // What a mutant throws outside of any test; the test that waits for it is late, or fails.
      dangerouslyIgnoreUnhandledErrors: true,
      strictTags: false,
      setupFiles: ['test/builders/property-seed.ts'],
    },
  };
  writeFileSync(join(sandbox.folder, 'vitest.config.mjs'), `export default ${JSON.stringify(config)};\n`);
  const { status, stdout, stderr } = spawnSync(
    'vitest',
    ['run', '--config', 'vitest.config.mjs', '--reporter', 'dot'],
    {
      cwd: sandbox.folder,
      encoding: 'utf8',
      env: { ...process.env, MUTANTS: listed, FATES: fates, PROPERTY_SEED: '1' },
    },
  );
  if (status !== 0)
    throw new Error(`the tests fail before anything is mutated:\n${stderr}${stdout.slice(-2_000)}`);
  return JSON.parse(readFileSync(fates, 'utf8')) as Readonly<Record<string, Fate>>;
}

function printSurvivor(
  { fileName, location: { start, end }, mutatorName, replacement }: Mutant,
  fate: Fate | undefined,
): void {
  if (fate !== 'survived' && fate !== 'uncovered') return;
  const line = readFileSync(join(ROOT, fileName), 'utf8').split('\n')[start.line] ?? '';
  const before = line.slice(start.column, start.line === end.line ? end.column : undefined);
  process.stdout.write(`${fate} ${fileName}:${start.line + 1} ${mutatorName}: ${before} -> ${replacement}\n`);
}
