/** `node scripts/sbom.ts`: what the bundle is made of, as CycloneDX, in dist/sbom.cdx.json. */
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

const repository = join(import.meta.dirname, '..');
mkdirSync(join(repository, 'dist'), { recursive: true });
const { status } = spawnSync(
  'npx',
  [
    ...['cyclonedx-npm', '--omit', 'dev', '--package-lock-only', '--output-reproducible'],
    ...['--output-format', 'JSON', '--output-file', 'dist/sbom.cdx.json'],
  ],
  { cwd: repository, stdio: ['ignore', 'inherit', 'inherit'] },
);
process.exitCode = status ?? 1;
