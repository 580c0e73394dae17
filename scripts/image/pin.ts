/**
 * `node scripts/image/pin.ts`: writes packages.json, the newest version of what the image takes from Debian. Run it when
 * Debian has published a security update of one of them.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  ARCHIVE,
  type Architecture,
  decompress,
  download,
  type PinnedFile,
  type Pins,
} from './debian-archive.ts';
import { compareVersions } from './debian-version.ts';

const SUITE = 'trixie';
/** Libraries of the official Node, and the package that identifies the distribution. */
const PACKAGES = ['base-files', 'libatomic1', 'libc6', 'libgcc-s1', 'libstdc++6'];
const ARCHITECTURES: readonly Architecture[] = ['amd64', 'arm64'];
const INDEXES = [
  { archive: 'debian', suite: SUITE },
  { archive: 'debian-security', suite: `${SUITE}-security` },
] as const;

interface Listed {
  readonly version: string;
  readonly file: PinnedFile;
}

async function newest(architecture: Architecture): Promise<ReadonlyMap<string, Listed>> {
  const found = new Map<string, Listed>();
  for (const { archive, suite } of INDEXES) {
    const url = `${ARCHIVE}/${archive}/dists/${suite}/main/binary-${architecture}/Packages.xz`;
    const text = (await decompress(await download(url), url)).toString();
    for (const paragraph of text.split('\n\n')) {
      const field = (name: string) => new RegExp(`^${name}: (.+)$`, 'm').exec(paragraph)?.[1] ?? '';
      const [name, version] = [field('Package'), field('Version')];
      const before = found.get(name);
      if (!PACKAGES.includes(name) || (before && compareVersions(before.version, version) >= 0)) continue;
      found.set(name, { version, file: { archive, path: field('Filename'), sha256: field('SHA256') } });
    }
  }
  return found;
}

const [amd64, arm64] = await Promise.all(ARCHITECTURES.map(newest));
const packages = PACKAGES.map((name): Pins['packages'][number] => {
  const [one, other] = [amd64?.get(name), arm64?.get(name)];
  if (!one || !other) throw new Error(`${SUITE} has no ${name}`);
  if (one.version !== other.version)
    throw new Error(`${name} is ${one.version} on amd64 and ${other.version} on arm64: try again in an hour`);
  return { name, version: one.version, files: { amd64: one.file, arm64: other.file } };
});
const snapshot = `${new Date().toISOString().slice(0, 10).replaceAll('-', '')}T000000Z`;
const pinned: Pins = { suite: SUITE, snapshot, packages };
writeFileSync(join(import.meta.dirname, 'packages.json'), `${JSON.stringify(pinned, undefined, 2)}\n`);
for (const { name, version } of packages) process.stdout.write(`${name} ${version}\n`);
