import { type Profiler, Session } from 'node:inspector/promises';

const SOURCES = '/src/';
/** How often a block ran, in steps that stand for another behaviour: at all, and often. */
const STEPS = [1, 16] as const;

/** Which blocks of `src` have run, by V8's precise coverage. Start it before the sources are imported. */
export class Coverage {
  readonly #session = new Session();
  readonly #seen = new Set<string>();

  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Blocks seen so far, each with how often it ran. */
  get size(): number {
    return this.#seen.size;
  }

  /** Blocks that have run since the last look in a way that none of those {@link admit}ted had. */
  async look(): Promise<ReadonlySet<string>> {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    const blocks = result.filter(({ url }) => url.includes(SOURCES)).flatMap(blocksOf);
    return new Set(blocks.filter((block) => !this.#seen.has(block)));
  }

  admit(blocks: ReadonlySet<string>): void {
    for (const block of blocks) this.#seen.add(block);
  }
}

function blocksOf({ scriptId, functions }: Profiler.ScriptCoverage): readonly string[] {
  return functions.flatMap(({ ranges }) =>
    ranges.flatMap(({ startOffset, endOffset, count }) => {
      const step = STEPS.findLast((least) => count >= least);
      return step === undefined ? [] : [`${scriptId}:${startOffset}-${endOffset}:${step}`];
    }),
  );
}
