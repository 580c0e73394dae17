import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { keyArguments } from '../signing.ts';
import type { Workplace } from './workplace.ts';

/** Starts an empty registry on a free port of this machine's loopback; resolves with its host. */
export async function startRegistry(
  { folder, serve }: Workplace,
  crane: string,
  env: NodeJS.ProcessEnv,
): Promise<string> {
  const disk = join(folder, 'registry');
  mkdirSync(disk);
  const command = [crane, 'registry', 'serve', '--address', '127.0.0.1:0', '--disk', disk] as const;
  // PORT would be taken for the registry's own.
  const port = await serve(command, { cwd: folder, env: { ...env, PORT: '' } }, /serving on port (\d+)/);
  return `127.0.0.1:${port}`;
}

/** Makes a key pair for this run alone in `folder`, whose password is in the environment. */
export async function makeKeys(
  workplace: Workplace,
  cosign: string,
  { folder, env }: { readonly folder: string; readonly env: NodeJS.ProcessEnv },
): Promise<void> {
  mkdirSync(folder, { mode: 0o700 });
  for (const args of keyArguments(folder)) await workplace.run([cosign, ...args], { cwd: folder, env });
}

/** Variables of a workflow or of the user that would make a step act elsewhere than here. */
const FOREIGN = /^(RELEASE|GITHUB|ACTIONS|COSIGN|SIGSTORE|HELM|IMAGE)(_|$)|^(KUBECONFIG|SOURCE_DATE_EPOCH)$/;

/** Returns the environment of all programs of a rehearsal: no login, no configuration and no cluster of the user. */
export function rehearsalEnvironment(
  env: NodeJS.ProcessEnv,
  { folder, repository }: { readonly folder: string; readonly repository: string },
): NodeJS.ProcessEnv {
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary, { recursive: true });
  return {
    ...Object.fromEntries(Object.entries(env).filter(([name]) => !FOREIGN.test(name))),
    ...gitFolder(repository),
    TMPDIR: temporary,
    DOCKER_CONFIG: join(folder, 'docker'),
    HELM_CACHE_HOME: join(folder, 'helm/cache'),
    HELM_CONFIG_HOME: join(folder, 'helm/config'),
    HELM_DATA_HOME: join(folder, 'helm/data'),
    TUF_ROOT: join(folder, 'sigstore'),
    COSIGN_PASSWORD: randomBytes(16).toString('hex'),
    GITHUB_OUTPUT: join(folder, 'outputs'),
  };
}

/** Returns the git folder for a copy of the sources without `.git`: the image then has the commit and its date. */
function gitFolder(repository: string): { readonly GIT_DIR?: string } {
  try {
    const args = ['rev-parse', '--absolute-git-dir'];
    const found = execFileSync('git', args, {
      cwd: repository,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return { GIT_DIR: found.trim() };
  } catch {
    return {};
  }
}
