import { setTimeout } from 'node:timers/promises';
import { type StartedTestContainer, StartupCheckStrategy } from 'testcontainers';
import type { EngineSession } from './engine.ts';
import { OperatorContainer } from './operator-container.ts';

/** The chart's limit. */
const MEMORY_MIB = 256;

/** Exit of a container, and its complete output. */
interface Ended {
  readonly code: number;
  readonly isKilledForMemory: boolean;
  readonly output: string;
}

type Inspected = Awaited<ReturnType<EngineSession['client']['container']['inspect']>>;

const ASK_AGAIN_MS = 100;

/**
 * Asks the engine for its state again and again: its `wait` may hang for a container that ends while the call is on its
 * way, and so may a log that is followed.
 */
async function untilItRunsNoMore(
  container: Pick<ReturnType<EngineSession['client']['container']['getById']>, 'inspect'>,
): Promise<void> {
  while (!ENDED.has((await container.inspect()).State.Status)) await setTimeout(ASK_AGAIN_MS);
}

const ENDED: ReadonlySet<string> = new Set(['exited', 'dead']);

class UntilEnded extends StartupCheckStrategy {
  override waitUntilReady(container: Parameters<typeof untilItRunsNoMore>[0]): Promise<void> {
    return untilItRunsNoMore(container);
  }

  override async checkStartupState(): Promise<'SUCCESS'> {
    return 'SUCCESS';
  }
}

/**
 * Returns the text of a log without a terminal: each piece follows a header of 8 bytes whose last four are its
 * length.
 */
function unframed(log: Buffer): string {
  const pieces: Buffer[] = [];
  for (let at = 0; at + HEADER_BYTES <= log.length; ) {
    const from = at + HEADER_BYTES;
    at = from + log.readUInt32BE(from - 4);
    pieces.push(log.subarray(from, at));
  }
  return Buffer.concat(pieces).toString();
}

const HEADER_BYTES = 8;

/** Containers of the image of these sources, in a session of a Docker engine. */
export interface ImageBench {
  /** Node with the flags of the image, and the program. */
  readonly entrypoint: readonly string[];
  /** Returns a container that has not been started, with the chart's memory limit. */
  container(...command: readonly string[]): OperatorContainer;
  /** Starts a container and resolves when it has ended, however it did. */
  runToEnd(container: OperatorContainer): Promise<Ended>;
  inspect(container: StartedTestContainer): Promise<Inspected>;
  /** Returns its output so far. */
  logs(container: StartedTestContainer): Promise<string>;
  /** Ends it as `docker stop` does, with SIGKILL after that time, and keeps it. */
  stop(container: StartedTestContainer, graceMs: number): Promise<Ended>;
  /** Sends its process a signal, as `docker kill` does. */
  kill(container: StartedTestContainer, signal: NodeJS.Signals): Promise<void>;
  /** Resolves when it runs no more. */
  untilEnded(container: StartedTestContainer): Promise<void>;
}

/** Opens a bench for an image that the engine has. */
export async function openImageBench(session: EngineSession, image: string): Promise<ImageBench> {
  const { client } = session;
  const { Config } = await client.container.dockerode.getImage(image).inspect();
  const found = (container: StartedTestContainer) => client.container.getById(container.getId());
  const inspect = (container: StartedTestContainer) => client.container.inspect(found(container));
  const logs = async (container: StartedTestContainer): Promise<string> =>
    unframed(await found(container).logs({ stdout: true, stderr: true, follow: false }));
  const readEnd = async (container: StartedTestContainer): Promise<Ended> => {
    const { State } = await inspect(container);
    return { code: State.ExitCode, isKilledForMemory: State.OOMKilled, output: await logs(container) };
  };
  return {
    entrypoint: [Config.Entrypoint ?? []].flat(),
    container: (...command) =>
      session
        .own(new OperatorContainer(image))
        .withMemoryLimit(MEMORY_MIB)
        .withCommand([...command]),
    runToEnd: async (container) => readEnd(await container.withWaitStrategy(new UntilEnded()).start()),
    inspect,
    logs,
    async stop(container, graceMs) {
      await container.stop({ remove: false, timeout: graceMs });
      return readEnd(container);
    },
    kill: (container, signal) => found(container).kill({ signal }),
    untilEnded: (container) => untilItRunsNoMore(found(container)),
  };
}
