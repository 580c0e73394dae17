import { readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { TestRunner } from 'vitest';
import type { Mutant } from './sandbox.ts';

/** State that instrumented code reads and counts at each mutant's place, by StrykerJS's own protocol. */
class Switches {
  currentTestId: string | undefined;
  readonly mutantCoverage: {
    readonly static: Readonly<Record<string, number>>;
    readonly perTest: Readonly<Record<string, Readonly<Record<string, number>>>>;
  } = { static: {}, perTest: {} };
  active: string | undefined;
  passed = 0;
  most = Number.POSITIVE_INFINITY;

  /** Throws after too many places: this ends a loop that a mutant made endless. */
  get activeMutant(): string | undefined {
    this.passed += 1;
    if (this.passed > this.most) throw new Error('endless');
    return this.active;
  }
}

type Files = Parameters<NonNullable<TestRunner['onAfterRunFiles']>>[0];
type Task = Files[number] | Files[number]['tasks'][number];

interface Case {
  readonly id: string;
  readonly run: () => Promise<void>;
  ms: number;
  /** Places that it passes while nothing is mutated. */
  passes: number;
}

/** `static`: only in what a module does when it is loaded, which is not loaded again. */
export type Fate = 'killed' | 'survived' | 'uncovered' | 'static';

/** A test that takes so much longer than three times what it took before waits for ever: that kills the mutant. */
const LATE_MS = 1_000;
/** A loop that a mutant makes endless has a test pass this many times as many places as before. */
const PASS_FACTOR = 10;
/** Less than that is no endless loop. */
const MIN_PASSES = 1_000_000;

const switches = new Switches();
Object.assign(globalThis, { __stryker__: switches });

/**
 * Runs the tests once as ever, then once more for each mutant that they reach, in the same process: nothing is loaded
 * again. Files and mutants come by environment, fates go into a file.
 */
export default class MutantRunner extends TestRunner {
  override async onAfterRunFiles(files: Files): Promise<void> {
    super.onAfterRunFiles(files);
    // The first example that fails is enough: nobody reads a smaller one.
    fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true });
    const cases = await measured(files.flatMap((file) => casesOf(file, [])));
    const mutants = JSON.parse(readFileSync(process.env['MUTANTS'] ?? '', 'utf8')) as readonly Mutant[];
    const fates: Record<string, Fate> = {};
    for (const { id } of mutants) fates[id] = await fateOf(id, cases);
    switches.active = undefined;
    switches.most = Number.POSITIVE_INFINITY;
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
  return [{ id: task.id, run, ms: task.result.duration ?? 0, passes: 0 }];
}

/** Returns the cases that pass in this setup, quickest first, with the mutants that each of them reaches. */
async function measured(cases: readonly Case[]): Promise<readonly Case[]> {
  const passing: Case[] = [];
  for (const each of cases) {
    switches.currentTestId = each.id;
    switches.passed = 0;
    const begun = performance.now();
    if (await passes(each)) passing.push(each);
    each.ms = performance.now() - begun;
    each.passes = switches.passed;
  }
  switches.currentTestId = undefined;
  return passing.sort((left, right) => left.ms - right.ms);
}

async function fateOf(id: string, cases: readonly Case[]): Promise<Fate> {
  const { perTest, static: loaded } = switches.mutantCoverage;
  const covering = cases.filter((each) => (perTest[each.id]?.[id] ?? 0) > 0);
  if (covering.length === 0) return loaded[id] === undefined ? 'uncovered' : 'static';
  switches.active = id;
  for (const each of covering) {
    switches.passed = 0;
    switches.most = PASS_FACTOR * each.passes + MIN_PASSES;
    if (!(await passes(each))) return 'killed';
  }
  return 'survived';
}

async function passes({ run, ms }: Case): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('late')), 3 * ms + LATE_MS);
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
