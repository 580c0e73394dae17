import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { createGunzip, zstdDecompressSync } from 'node:zlib';
import { extract } from 'tar-stream';
import xz from 'xz-decompress';
import * as z from 'zod';

/** Debian packages of the image, at one version for each platform. `node scripts/image/pin.ts` writes it. */
export const pins = z.strictObject({
  suite: z.string(),
  /** Snapshot of the archive with packages that the present archive has dropped, such as 20260101T000000Z. */
  snapshot: z.string(),
  packages: z.array(
    z.strictObject({
      name: z.string(),
      version: z.string(),
      files: z.record(
        z.enum(['amd64', 'arm64']),
        z.strictObject({
          archive: z.enum(['debian', 'debian-security']),
          path: z.string(),
          sha256: z.string(),
        }),
      ),
    }),
  ),
});
export type Pins = z.output<typeof pins>;
export type Architecture = 'amd64' | 'arm64';
export type PinnedFile = Pins['packages'][number]['files'][Architecture];

export const ARCHIVE = 'https://deb.debian.org';
const SNAPSHOT = 'https://snapshot.debian.org/archive';
const TIMEOUT_MS = 120_000;

/** A file of an archive: its path without a leading slash, and its content. */
export interface ArchivedFile {
  readonly path: string;
  readonly mode: number;
  /** The target if it is a symbolic link. */
  readonly link?: string;
  readonly content: Buffer;
}

/**
 * Returns the pinned package as published: from the cache, else from Debian's archive, else from the snapshot archive.
 * Rejects if none of them has a file with the pinned digest.
 */
export async function fetchPackage(
  { archive, path, sha256 }: PinnedFile,
  { snapshot, cache }: { readonly snapshot: string; readonly cache: string },
): Promise<Buffer> {
  const cached = join(cache, sha256);
  if (existsSync(cached)) {
    const content = readFileSync(cached);
    if (digestOf(content) === sha256) return content;
  }
  const sources = [`${ARCHIVE}/${archive}/${path}`, `${SNAPSHOT}/${archive}/${snapshot}/${path}`];
  const problems: string[] = [];
  for (const source of sources) {
    try {
      const content = await download(source);
      if (digestOf(content) !== sha256) throw new Error('its digest is not the pinned one');
      mkdirSync(cache, { recursive: true });
      writeFileSync(`${cached}.${process.pid}`, content);
      renameSync(`${cached}.${process.pid}`, cached);
      return content;
    } catch (error) {
      problems.push(`${source}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(
    `A Debian package of the image could not be fetched:\n  ${problems.join('\n  ')}\nWith a network, run this again; if the archive has dropped the version, run node scripts/image/pin.ts.`,
  );
}

/** Rejects on any answer but 200, and after two minutes. */
export async function download(url: string): Promise<Buffer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }).catch((error: Error) => {
    throw new Error(error.cause instanceof Error ? error.cause.message : error.message);
  });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

/** Returns the fields of a package and its files, from the text of a .deb. Rejects for any other text. */
export async function readPackage(
  deb: Buffer,
): Promise<{ readonly control: string; readonly files: readonly ArchivedFile[] }> {
  const members = membersOf(deb);
  const control = (await readTar(await memberNamed(members, 'control.tar'))).find(
    ({ path }) => path === 'control',
  );
  if (!control) throw new Error('the package has no control file');
  return {
    control: control.content.toString(),
    files: await readTar(await memberNamed(members, 'data.tar')),
  };
}

interface Member {
  readonly name: string;
  readonly content: Buffer;
}

const AR_MAGIC = '!<arch>\n';
const AR_HEADER = 60;

/**
 * Returns the members of an ar archive: a header of fixed columns before each member, which begins at an even position.
 */
function membersOf(archive: Buffer): readonly Member[] {
  if (archive.subarray(0, AR_MAGIC.length).toString() !== AR_MAGIC)
    throw new Error('this is no Debian package');
  const members: Member[] = [];
  let at = AR_MAGIC.length;
  while (at + AR_HEADER <= archive.length) {
    const header = archive.subarray(at, at + AR_HEADER).toString('latin1');
    const size = Number(header.slice(48, 58));
    const begin = at + AR_HEADER;
    members.push({
      name: header.slice(0, 16).trim().replace(/\/$/, ''),
      content: archive.subarray(begin, begin + size),
    });
    at = begin + size + (size % 2);
  }
  return members;
}

async function memberNamed(members: readonly Member[], name: string): Promise<Buffer> {
  const member = members.find((one) => one.name.startsWith(name));
  if (!member) throw new Error(`the package has no ${name}`);
  return decompress(member.content, member.name);
}

/** Decompresses by the ending of the name, like dpkg. */
export async function decompress(content: Buffer, name: string): Promise<Buffer> {
  if (name.endsWith('.xz')) return buffer(Readable.fromWeb(new xz.XzReadableStream(streamOf(content))));
  if (name.endsWith('.zst')) return zstdDecompressSync(content);
  if (name.endsWith('.gz') || name.endsWith('.tgz'))
    return buffer(Readable.from([content]).pipe(createGunzip()));
  return content;
}

function streamOf(content: Buffer): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(new Uint8Array(content));
      controller.close();
    },
  });
}

/** Files and links of a tar archive, without folders. */
export async function readTar(archive: Buffer): Promise<readonly ArchivedFile[]> {
  const files: ArchivedFile[] = [];
  for await (const entry of Readable.from([archive]).pipe(extract())) {
    const { name, mode, type, linkname } = entry.header;
    const content = await buffer(entry);
    const path = name.replace(/^\.?\//, '');
    if (type === 'file') files.push({ path, mode, content });
    if (type === 'symlink' && linkname) files.push({ path, mode, content, link: linkname });
  }
  return files;
}

export function digestOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
