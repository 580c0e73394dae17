/**
 * `npm run package`: creates `dist/package`, the content that npm publishes. The bundle contains all its code, so its
 * users must not install the packages from which it was made. Not a step of `npm pack`: .npmrc ignores scripts.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';

const repository = join(import.meta.dirname, '..');
const folder = join(repository, 'dist', 'package');

const manifest = z
  .looseObject({ files: z.array(z.string()) })
  .parse(JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')));
const ofTheRepository = new Set(['dependencies', 'devDependencies', 'scripts']);
const published = Object.entries(manifest).filter(([name]) => !ofTheRepository.has(name));

rmSync(folder, { recursive: true, force: true });
const built = readdirSync(join(repository, 'dist'))
  // Of `make image` and its tests, of `make docs`, and of the other steps of a release.
  .filter((file) => !file.startsWith('image.') && file !== 'release' && file !== 'docs')
  .map((file) => join('dist', file));
for (const path of [...built, ...manifest.files.filter((file) => file !== 'dist')])
  cpSync(join(repository, path), join(folder, path), { recursive: true });
writeFileSync(
  join(folder, 'package.json'),
  `${JSON.stringify(Object.fromEntries(published), undefined, 2)}\n`,
);
process.stdout.write('dist/package: ready to be published\n');
