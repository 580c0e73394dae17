import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { requireLockedPackages } from './sbom-check.ts';

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

/** Makes the SBOM with `npm run sbom` and returns its path; throws if it differs from package-lock.json. */
export function makeSbom(repository: string, env: NodeJS.ProcessEnv): string {
  execFileSync(process.execPath, [join(repository, 'scripts/sbom.ts')], {
    cwd: repository,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  readSbom(repository);
  return sbomPath(repository);
}

/** Returns the earlier SBOM; throws if it differs from package-lock.json. */
export function readSbom(repository: string): unknown {
  const sbom = readJson(sbomPath(repository));
  requireLockedPackages(sbom, readJson(join(repository, 'package-lock.json')));
  return sbom;
}

export const sbomPath = (repository: string): string => join(repository, 'dist', 'sbom.cdx.json');
