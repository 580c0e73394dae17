import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type ContainerRuntimeClient, GenericContainer, StartupCheckStrategy } from 'testcontainers';
import { tarOf } from '../../scripts/image/oci.ts';

/** Where a container of the image may write and gets its files; the image has it, and everybody may write there. */
export const WRITABLE = '/tmp';

/**
 * A container of the operator's image, under what the chart asks of a Pod: a root that cannot be written, no
 * capabilities, no new privileges. Its user is the image's own.
 */
export class OperatorContainer extends GenericContainer {
  constructor(image: string) {
    super(image);
    this.hostConfig.ReadonlyRootfs = true;
    this.createOpts.Volumes = { [WRITABLE]: {} };
    this.withDroppedCapabilities('ALL').withSecurityOpt('no-new-privileges:true');
  }

  /** Also of what is swapped out. */
  withMemoryLimit(mebibytes: number): this {
    this.hostConfig.Memory = mebibytes * 2 ** 20;
    this.hostConfig.MemorySwap = mebibytes * 2 ** 20;
    return this;
  }

  withRestartPolicy(name: 'on-failure' | 'always'): this {
    this.hostConfig.RestartPolicy = { Name: name };
    return this;
  }

  /** Its volume is that of another container. */
  withVolumeOf(containerId: string): this {
    this.createOpts.Volumes = {};
    this.hostConfig.VolumesFrom = [containerId];
    return this;
  }

  /** By name, in a folder on a volume of its own; {@link WRITABLE} unless given. The root takes no files. */
  async withFiles(files: Readonly<Record<string, string>>, folder = WRITABLE): Promise<this> {
    this.createOpts.Volumes = { ...this.createOpts.Volumes, [folder]: {} };
    const entries = Object.entries(files).map(([path, content]) => ({ path, mode: 0o644, content }));
    const tar = Readable.from([await tarOf(entries)]);
    return this.withCopyArchivesToContainer([{ tar, target: folder }]);
  }
}

/** How a container ended, and all it wrote. */
export interface Ended {
  readonly code: number;
  readonly isKilledForMemory: boolean;
  readonly output: string;
}

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

/** Starts a container and resolves when it has ended, however it did. */
export async function runToEnd(client: ContainerRuntimeClient, container: GenericContainer): Promise<Ended> {
  const started = await container.withWaitStrategy(new UntilEnded()).start();
  return readEnd(client, started.getId());
}

/** Of a container that has ended. */
export async function readEnd(client: ContainerRuntimeClient, id: string): Promise<Ended> {
  const container = client.container.getById(id);
  const { State } = await client.container.inspect(container);
  const output = await text(await client.container.logs(container));
  return { code: State.ExitCode, isKilledForMemory: State.OOMKilled, output };
}
