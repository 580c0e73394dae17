import { type Profiler, Session } from 'node:inspector/promises';

const SOURCES = '/src/';

/** Executed blocks of `src`, from V8's precise coverage. Start it before the sources are imported. */
export class Coverage {
  readonly #session = new Session();

  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Blocks that have run since the last call, by name. Costs as much as some hundred inputs. */
  async ranSinceLastCall(): Promise<ReadonlySet<string>> {
    return new Set((await this.scripts()).flatMap(ranBlocks));
  }

  /** Returns V8's report for each file of `src` since the last call. */
  async scripts(): Promise<readonly Profiler.ScriptCoverage[]> {
    const { result } = await this.#session.post('Profiler.takePreciseCoverage');
    return result.filter(({ url }) => url.includes(SOURCES));
  }
}

function ranBlocks({ scriptId, functions }: Profiler.ScriptCoverage): readonly string[] {
  return functions.flatMap(({ ranges }) =>
    ranges.flatMap(({ startOffset, endOffset, count }) =>
      count === 0 ? [] : [`${scriptId}:${startOffset}-${endOffset}`],
    ),
  );
}
