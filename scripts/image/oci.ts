import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { type Architecture, digestOf } from './debian-archive.ts';

/** A file, folder or link of an image. */
export interface Entry {
  /** Without a leading slash; with a slash at its end it is a folder. */
  readonly path: string;
  readonly mode: number;
  readonly content?: Buffer | string;
  /** The target if it is a symbolic link. */
  readonly link?: string;
}

export interface Image {
  readonly architecture: Architecture;
  /** From the one that changes least to the one that changes most. */
  readonly layers: readonly (readonly Entry[])[];
  /** Configuration of the container in OCI's form. */
  readonly config: Readonly<Record<string, unknown>>;
}

export interface ArchiveOptions {
  /** Such as `gpu-rental-operator:1.2.3`. */
  readonly reference: string;
  /** Seconds since the epoch. */
  readonly createdAt: number;
  /** Platform of the image for tools that know one platform only. */
  readonly main: Architecture;
}

export interface ImageArchive {
  readonly archive: Buffer;
  /** Digest of the index with both platforms. */
  readonly digest: string;
  /** Bytes of the files and of the layers as they are sent. */
  readonly sizes: readonly {
    readonly architecture: Architecture;
    readonly unpacked: number;
    readonly packed: number;
  }[];
}

/**
 * Returns one archive with the images: an OCI layout (image specification 1.1), and beside it the `manifest.json` with
 * which Docker loads the main one. The same input gives the same bytes: times are zero, owners are root, and names are
 * sorted.
 */
export async function imageArchive(images: readonly Image[], options: ArchiveOptions): Promise<ImageArchive> {
  const blobs = new Map<string, Buffer>();
  const keep = (content: Buffer): { digest: string; size: number } => {
    const hex = digestOf(content);
    blobs.set(hex, content);
    return { digest: `sha256:${hex}`, size: content.length };
  };
  const created = new Date(options.createdAt * 1000).toISOString().replace('.000', '');
  const manifests = [];
  const sizes = [];
  let docker: object | undefined;
  for (const { architecture, layers, config } of images) {
    const tars = await Promise.all(layers.map(tarOf));
    const kept = tars.map((tar) => ({
      mediaType: 'application/vnd.oci.image.layer.v1.tar+gzip',
      ...keep(gzipSync(tar, { level: 9 })),
    }));
    const configBlob = keep(
      json({
        created,
        architecture,
        os: 'linux',
        config,
        rootfs: { type: 'layers', diff_ids: tars.map((tar) => `sha256:${digestOf(tar)}`) },
        history: layers.map(() => ({ created, created_by: 'make image' })),
      }),
    );
    const manifest = keep(
      json({
        schemaVersion: 2,
        mediaType: MANIFEST,
        config: { mediaType: 'application/vnd.oci.image.config.v1+json', ...configBlob },
        layers: kept,
      }),
    );
    const [unpacked, packed] = [total(tars.map(({ length }) => length)), total(kept.map(({ size }) => size))];
    sizes.push({ architecture, unpacked, packed });
    manifests.push({ mediaType: MANIFEST, ...manifest, platform: { architecture, os: 'linux' } });
    if (architecture === options.main) {
      const fileOf = ({ digest }: { digest: string }) => `blobs/sha256/${digest.slice('sha256:'.length)}`;
      docker = { Config: fileOf(configBlob), RepoTags: [options.reference], Layers: kept.map(fileOf) };
    }
  }
  const index = keep(json({ schemaVersion: 2, mediaType: INDEX, manifests }));
  const [, tag = 'latest'] = /:([^:/]+)$/.exec(options.reference) ?? [];
  const annotations = {
    'io.containerd.image.name': fullName(options.reference),
    'org.opencontainers.image.ref.name': tag,
  };
  const archive = await tarOf([
    { path: 'oci-layout', mode: 0o644, content: json({ imageLayoutVersion: '1.0.0' }) },
    {
      path: 'index.json',
      mode: 0o644,
      content: json({
        schemaVersion: 2,
        mediaType: INDEX,
        manifests: [{ mediaType: INDEX, ...index, annotations }],
      }),
    },
    ...(docker ? [{ path: 'manifest.json', mode: 0o644, content: json([docker]) }] : []),
    ...[...blobs].map(([hex, content]) => ({ path: `blobs/sha256/${hex}`, mode: 0o644, content })),
  ]);
  return { archive, digest: index.digest, sizes };
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const INDEX = 'application/vnd.oci.image.index.v1+json';

/** Returns the name in containerd's form: with Docker's own registry before a name without one. */
function fullName(reference: string): string {
  const [first = ''] = reference.split('/');
  if (!reference.includes('/')) return `docker.io/library/${reference}`;
  return first === 'localhost' || /[.:]/.test(first) ? reference : `docker.io/${reference}`;
}

/** Returns a tar of these entries and their parent folders, ordered by name. */
export async function tarOf(entries: readonly Entry[]): Promise<Buffer> {
  const byPath = new Map<string, Entry>();
  for (const entry of entries) {
    const parts = entry.path.split('/').slice(0, entry.path.endsWith('/') ? -2 : -1);
    for (let depth = 1; depth <= parts.length; depth += 1) {
      const path = `${parts.slice(0, depth).join('/')}/`;
      if (!byPath.has(path)) byPath.set(path, { path, mode: 0o755 });
    }
    byPath.set(entry.path, entry);
  }
  const tar = pack();
  const written = buffer(Readable.from(tar as AsyncIterable<Buffer>));
  for (const { path, mode, content = '', link } of [...byPath.values()].sort(byName)) {
    const header = { name: path, mode, uid: 0, gid: 0, mtime: new Date(0) };
    if (link !== undefined) tar.entry({ ...header, type: 'symlink', linkname: link });
    else if (path.endsWith('/')) tar.entry({ ...header, type: 'directory' });
    else tar.entry(header, Buffer.from(content as string));
  }
  tar.finalize();
  return written;
}

const byName = (a: Entry, b: Entry): number => (a.path < b.path ? -1 : 1);
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const total = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);
