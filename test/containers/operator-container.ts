import { Readable } from 'node:stream';
import { GenericContainer } from 'testcontainers';
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
