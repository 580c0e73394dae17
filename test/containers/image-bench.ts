import { text } from 'node:stream/consumers';
import { type StartedTestContainer, StartupCheckStrategy } from 'testcontainers';
import type { EngineSession } from './engine.ts';
import { OperatorContainer } from './operator-container.ts';

/** The chart's limit. */
const MEMORY_MIB = 256;

/** How a container ended, and all it wrote. */
interface Ended {
  readonly code: number;
  readonly isKilledForMemory: boolean;
  readonly output: string;
}

type Inspected = Awaited<ReturnType<EngineSession['client']['container']['inspect']>>;

class UntilEnded extends StartupCheckStrategy {
  override async waitUntilReady(
    container: Parameters<StartupCheckStrategy['waitUntilReady']>[0],
  ): Promise<void> {
    await container.wait();
  }

  override async checkStartupState(): Promise<'SUCCESS'> {
    return 'SUCCESS';
  }
}

/** Containers of the image of these sources, in a session of a Docker engine. */
export interface ImageBench {
  /** Node with the flags of the image, and the program. */
  readonly entrypoint: readonly string[];
  /** A container that has not been started, with the chart's memory limit. */
  container(...command: readonly string[]): OperatorContainer;
  /** Starts a container and resolves when it has ended, however it did. */
  runToEnd(container: OperatorContainer): Promise<Ended>;
  inspect(container: StartedTestContainer): Promise<Inspected>;
  /** All that it has written so far. */
  logs(container: StartedTestContainer): Promise<string>;
  /** Ends it as `docker stop` does, with SIGKILL after that time, and keeps it. */
  stop(container: StartedTestContainer, graceMs: number): Promise<Ended>;
  /** Sends its process a signal, as `docker kill` does. */
  kill(container: StartedTestContainer, signal: NodeJS.Signals): Promise<void>;
  /** Resolves when it runs no more. */
  untilEnded(container: StartedTestContainer): Promise<void>;
}

/** Of an image that the engine has. */
export async function openImageBench(session: EngineSession, image: string): Promise<ImageBench> {
  const { client } = session;
  const { Config } = await client.container.dockerode.getImage(image).inspect();
  const found = (container: StartedTestContainer) => client.container.getById(container.getId());
  const inspect = (container: StartedTestContainer) => client.container.inspect(found(container));
  const logs = async (container: StartedTestContainer): Promise<string> =>
    (await found(container).logs({ stdout: true, stderr: true })).toString();
  const readEnd = async (container: StartedTestContainer): Promise<Ended> => {
    const { State } = await inspect(container);
    const output = await text(await client.container.logs(found(container)));
    return { code: State.ExitCode, isKilledForMemory: State.OOMKilled, output };
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
    untilEnded: async (container) => void (await found(container).wait()),
  };
}
