import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { makeSbom } from './sbom.ts';

/** Builds `dist/package`, which npm publishes, with the SBOM inside, and lets publint judge it. */
export async function releasePackage(repository: string, env: NodeJS.ProcessEnv): Promise<string> {
  const run = (...args: readonly string[]): void => {
    execFileSync(process.execPath, [...args], {
      cwd: repository,
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  };
  run(join(repository, 'scripts/build.ts'));
  makeSbom(repository, env);
  run(join(repository, 'scripts/package.ts'));
  const folder = join(repository, 'dist/package');
  const { messages: all } = await publint({ pkgDir: folder, strict: true });
  const messages = all.filter(({ type }) => type !== 'suggestion');
  if (messages.length > 0) {
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    throw new Error(`publint: ${messages.map((each) => formatMessage(each, manifest)).join('; ')}`);
  }
  return folder;
}
