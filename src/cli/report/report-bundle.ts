import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { failed } from '../command-error.ts';
import { makeFolder } from '../make-folder.ts';

/** A file of a bundle. */
export interface BundleFile {
  readonly path: string;
  readonly text: string;
}

const BLOCK = 512;

/**
 * Writes files below the folder `path`, or into one archive if the extension of `path` is that of an archive.
 * `modified`: epoch milliseconds. Rejects with a failure that names the path if it cannot be written.
 */
export async function writeBundle(
  path: string,
  files: readonly BundleFile[],
  modified: number,
): Promise<void> {
  try {
    if (/\.(tar\.gz|tgz)$/.test(path)) await writeArchive(path, files, modified);
    else await writeFolder(path, files);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw failed(
      `The report cannot be written to ${path} (${code}).`,
      'Name a folder that exists, or a file in one, where you may write: --to.',
      error,
    );
  }
}

/** Writes files below a folder. Rejects with the error of the file system. */
export async function writeFolder(folder: string, files: readonly BundleFile[]): Promise<void> {
  for (const { path, text } of files) {
    const target = join(folder, path);
    await makeFolder(dirname(target));
    await writeFile(target, text, { mode: 0o600 });
  }
}

/**
 * Writes files into one gzipped tar archive (POSIX ustar). `modified`: epoch milliseconds. Rejects with the error of
 * the file system.
 */
export async function writeArchive(
  path: string,
  files: readonly BundleFile[],
  modified: number,
): Promise<void> {
  await writeFile(path, gzipSync(tarOf(files, modified)), { mode: 0o600 });
}

/** Returns a tar archive: per file a header and the text, padded to blocks, and two empty blocks at the end. */
export function tarOf(files: readonly BundleFile[], modified: number): Buffer {
  const parts = files.flatMap(({ path, text }) => {
    const body = Buffer.from(text, 'utf8');
    return [header(path, body.length, modified), body, Buffer.alloc(-body.length & (BLOCK - 1))];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

function header(path: string, size: number, modified: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const { name, prefix } = splitPath(path);
  block.write(name, 0, 100);
  block.write('0000600\0', 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  block.write(`${octal(size, 11)}\0`, 124);
  block.write(`${octal(Math.floor(modified / 1000), 11)}\0`, 136);
  block.write('        ', 148);
  block.write('0', 156);
  block.write('ustar\u000000', 257);
  block.write(prefix, 345, 155);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}

/** Returns the parts of a path: a long one is split at a slash, with 100 bytes after it and 155 before. */
function splitPath(path: string): { readonly name: string; readonly prefix: string } {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' };
  const at = path.indexOf('/', path.length - 100);
  if (at < 0 || at > 155) throw new RangeError(`${path} is too long for an archive`);
  return { name: path.slice(at + 1), prefix: path.slice(0, at) };
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}
