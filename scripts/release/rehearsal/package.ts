import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Workplace } from './workplace.ts';

/** Written into the empty folder: a rental search by the package's own client in its own simulator. */
const PROGRAM = `
import * as client from 'gpu-rental-operator/client';
import { createSimulator } from 'gpu-rental-operator/simulator';
if (typeof client.createMarketplaceClient !== 'function') throw new Error('./client exports no createMarketplaceClient');
const { url, close } = await createSimulator({ catalog: 3 }).listen(0);
const { status } = await fetch(new URL('/api/v0/users/current/', url));
await close();
if (status !== 401) throw new Error('./simulator answered ' + status + ' to a call without a key');
`;

/** Packs what npm would publish, installs it into an empty folder without a registry and runs it. */
export async function tryPackage(
  { folder, run }: Workplace,
  {
    published,
    version,
    env,
  }: { readonly published: string; readonly version: string; readonly env: NodeJS.ProcessEnv },
): Promise<string> {
  const home = join(folder, 'installed');
  mkdirSync(home);
  const packed = await run(['npm', 'pack', '--silent', '--pack-destination', home], { cwd: published, env });
  const archive = packed.trim();
  writeFileSync(join(home, 'package.json'), '{ "private": true }\n');
  const options = ['--offline', '--no-audit', '--no-fund', '--cache', join(folder, 'npm')];
  await run(['npm', 'install', ...options, `./${archive}`], { cwd: home, env });
  const printed = await run([join(home, 'node_modules/.bin/gpu-rent'), '--version'], { cwd: home, env });
  if (!printed.includes(version))
    throw new Error(`gpu-rent --version prints ${printed.trim()} instead of version ${version}`);
  writeFileSync(join(home, 'try.mjs'), PROGRAM);
  await run([process.execPath, 'try.mjs'], { cwd: home, env });
  return archive;
}
