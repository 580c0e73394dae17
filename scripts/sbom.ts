/** `node scripts/sbom.ts`: what the bundle is made of, as CycloneDX, in dist/sbom.cdx.json. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUNDLED_DEVELOPMENT_PACKAGES } from './build/bundled-packages.ts';

const repository = join(import.meta.dirname, '..');
const file = join(repository, 'dist', 'sbom.cdx.json');
mkdirSync(join(repository, 'dist'), { recursive: true });
const { status } = spawnSync(
  'npx',
  [
    ...['cyclonedx-npm', '--omit', 'dev', '--package-lock-only', '--output-reproducible'],
    ...['--output-format', 'JSON', '--output-file', file],
  ],
  { cwd: repository, stdio: ['ignore', 'inherit', 'inherit'] },
);
process.exitCode = status ?? 1;
if (status === 0) addBundled();

interface Locked {
  readonly version: string;
  readonly license: string;
  readonly integrity: string;
}

/** Adds the development dependencies of which a part ships. The tool lists all or none of them. */
function addBundled(): void {
  const sbom = JSON.parse(readFileSync(file, 'utf8')) as { readonly components: object[] };
  const lock = JSON.parse(readFileSync(join(repository, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, Locked | undefined>>;
  };
  for (const name of BUNDLED_DEVELOPMENT_PACKAGES) {
    const locked = lock.packages[`node_modules/${name}`];
    if (!locked) throw new Error(`package-lock.json has no ${name}`);
    sbom.components.push(componentOf(name, locked));
  }
  writeFileSync(file, `${JSON.stringify(sbom, undefined, 2)}\n`);
}

function componentOf(full: string, { version, license, integrity }: Locked): object {
  const [name = '', group] = full.split('/').toReversed();
  const purl = `pkg:npm/${group === undefined ? '' : `${encodeURIComponent(group)}/`}${name}@${version}`;
  const url = `https://registry.npmjs.org/${full}/-/${name}-${version}.tgz`;
  const [, hash = ''] = integrity.split('-');
  return {
    ...{ type: 'library', name, ...(group !== undefined && { group }), version, scope: 'required' },
    ...{ 'bom-ref': purl, purl, licenses: [{ license: { id: license } }] },
    externalReferences: [
      {
        ...{ type: 'distribution', url },
        hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }],
      },
    ],
  };
}
