import { Readable } from 'node:stream';
import { GenericContainer } from 'testcontainers';
import { tarOf } from '../../scripts/image/oci.ts';

/** Writable folder for the files of a container: it is in the image, and every user may write there. */
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

  /** Sets the memory limit, including swap. */
  withMemoryLimit(mebibytes: number): this {
    this.hostConfig.Memory = mebibytes * 2 ** 20;
    this.hostConfig.MemorySwap = mebibytes * 2 ** 20;
    return this;
  }

  withRestartPolicy(name: 'on-failure' | 'always'): this {
    this.hostConfig.RestartPolicy = { Name: name };
    return this;
  }

  /** Uses the volume of another container. */
  withVolumeOf(containerId: string): this {
    this.createOpts.Volumes = {};
    this.hostConfig.VolumesFrom = [containerId];
    return this;
  }

  /**
   * Adds files by name in a folder on a separate volume (default: {@link WRITABLE}). The root does not accept files.
   */
  async withFiles(files: Readonly<Record<string, string>>, folder = WRITABLE): Promise<this> {
    this.createOpts.Volumes = { ...this.createOpts.Volumes, [folder]: {} };
    const entries = Object.entries(files).map(([path, content]) => ({ path, mode: 0o644, content }));
    const tar = Readable.from([await tarOf(entries)]);
    return this.withCopyArchivesToContainer([{ tar, target: folder }]);
  }
}
