import { readFileSync, writeFileSync } from 'node:fs';
import { TestRunner } from 'vitest';
import type { Mutant } from './sandbox.ts';

/** What instrumented code reads and counts: StrykerJS's own protocol. */
interface Switches {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: {
    readonly static: Readonly<Record<string, number>>;
    readonly perTest: Readonly<Record<string, Readonly<Record<string, number>>>>;
  };
}

type Files = Parameters<NonNullable<TestRunner['onAfterRunFiles']>>[0];
type Task = Files[number] | Files[number]['tasks'][number];

interface Case {
  readonly id: string;
  readonly run: () => Promise<void>;
  ms: number;
}

/** `static`: only in what a module does when it is loaded, which is not loaded again. */
export type Fate = 'killed' | 'survived' | 'uncovered' | 'static';

/** Longer than any table row takes; a mutant that waits for ever is killed by it. */
const LONGEST_MS = 2_000;
/** A loop that a mutant makes endless passes it this many times more often than before. */
const HIT_FACTOR = 100;

const switches: Switches = { mutantCoverage: { static: {}, perTest: {} } };
Object.assign(globalThis, { __stryker__: switches });

/**
 * Runs the tests once as ever, then once more for each mutant that they reach, in the same process: nothing is loaded
 * again. Files and mutants come by environment, fates go into a file.
 */
export default class MutantRunner extends TestRunner {
  override async onAfterRunFiles(files: Files): Promise<void> {
    super.onAfterRunFiles(files);
    const cases = await measured(files.flatMap((file) => casesOf(file, [])));
    const mutants = JSON.parse(readFileSync(process.env['MUTANTS'] ?? '', 'utf8')) as readonly Mutant[];
    const fates: Record<string, Fate> = {};
    for (const { id } of mutants) fates[id] = await fateOf(id, cases);
    switches.activeMutant = undefined;
    writeFileSync(process.env['FATES'] ?? '', JSON.stringify(fates));
  }
}

type Hooks = ReturnType<typeof TestRunner.getSuiteHooks>;

function casesOf(task: Task, hooks: readonly Hooks[]): readonly Case[] {
  if (task.type === 'suite') {
    const inner = [...hooks, TestRunner.getSuiteHooks(task)];
    return task.tasks.flatMap((each) => casesOf(each, inner));
  }
  if (task.result?.state !== 'pass') return [];
  const body = TestRunner.getTestFn(task);
  const run = async () => {
    for (const hook of hooks.flatMap(({ beforeEach }) => beforeEach)) await hook(task.context, task as never);
    try {
      await body();
    } finally {
      for (const hook of hooks.flatMap(({ afterEach }) => afterEach)) await hook(task.context, task as never);
    }
  };
  return [{ id: task.id, run, ms: 0 }];
}

/** The cases that pass when they are called like this, quickest first, with what each of them reaches. */
async function measured(cases: readonly Case[]): Promise<readonly Case[]> {
  const passing: Case[] = [];
  for (const each of cases) {
    switches.currentTestId = each.id;
    const begun = performance.now();
    if (await passes(each)) passing.push(each);
    each.ms = performance.now() - begun;
  }
  switches.currentTestId = undefined;
  return passing.sort((left, right) => left.ms - right.ms);
}

async function fateOf(id: string, cases: readonly Case[]): Promise<Fate> {
  const { perTest = {}, static: loaded = {} } = switches.mutantCoverage ?? {};
  const covering = cases.filter((each) => (perTest[each.id]?.[id] ?? 0) > 0);
  if (covering.length === 0) return loaded[id] === undefined ? 'uncovered' : 'static';
  switches.activeMutant = id;
  for (const each of covering) {
    switches.hitCount = 0;
    switches.hitLimit = HIT_FACTOR * (perTest[each.id]?.[id] ?? 1) + 1_000;
    if (!(await passes(each))) return 'killed';
  }
  return 'survived';
}

async function passes({ run }: Case): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('late')), LONGEST_MS);
  });
  try {
    await Promise.race([run(), late]);
    return true;
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
