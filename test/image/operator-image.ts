import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';

const ARCHIVE = join(REPOSITORY, 'dist/image.tar');
/** Says from which sources a test had the archive made, and which bytes that gave. */
const ORIGIN = join(REPOSITORY, 'dist/image.origin');
const SOURCES = [
  '{src,proto/gen}/**/*.{ts,js}',
  'scripts/image.ts',
  'scripts/build.ts',
  'scripts/{image,build}/**',
];

const digestOf = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

function sourcesDigest(): string {
  const hash = createHash('sha256').update(readFileSync(join(REPOSITORY, 'package-lock.json')));
  for (const file of globSync(SOURCES, { cwd: REPOSITORY, withFileTypes: true }).toSorted(byPath)) {
    if (!file.isFile() || file.name.endsWith('.test.ts')) continue;
    const path = join(file.parentPath, file.name);
    hash.update(path.slice(REPOSITORY.length)).update(readFileSync(path));
  }
  return hash.digest('hex');
}

interface Named {
  readonly parentPath: string;
  readonly name: string;
}

function byPath(one: Named, other: Named): number {
  return join(one.parentPath, one.name) < join(other.parentPath, other.name) ? -1 : 1;
}

function readOrigin(): string | undefined {
  try {
    return `${sourcesDigest()} ${digestOf(readFileSync(ARCHIVE))}` === readFileSync(ORIGIN, 'utf8')
      ? ARCHIVE
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the archive of the image that `make image` builds from these sources, with the name in the manifests. It is
 * built once for all tests. Rejects with the output of `make image`.
 */
export async function operatorImage(): Promise<string> {
  const kept = readOrigin();
  if (kept !== undefined) return kept;
  const sources = sourcesDigest();
  await promisify(execFile)(process.execPath, [join(REPOSITORY, 'scripts/image.ts')], {
    env: { ...process.env, IMAGE_ENGINE: 'none', IMAGE: '' },
    maxBuffer: 1 << 24,
  });
  writeFileSync(ORIGIN, `${sources} ${digestOf(readFileSync(ARCHIVE))}`);
  return ARCHIVE;
}
