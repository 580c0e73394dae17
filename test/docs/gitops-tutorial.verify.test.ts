import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from 'vitest';
import { readLedger } from '../../scripts/demo/simulator-control.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { type FluxBench, openFluxBench } from '../gitops/flux/bench.ts';
import { gitRepositoryOf, kustomizationsOf } from '../gitops/flux/kustomizations.ts';
import { followTutorial } from './tutorial.ts';
import { typistOn } from './typist.ts';

const run = promisify(execFile);
const KUSTOMIZATION = 'fleet-machines';
const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
let bench: FluxBench | undefined;
afterAll(async () => {
  await bench?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Clones an empty repository of the reader, next to this repository's `deploy`. */
async function cloneFleet(): Promise<string> {
  const clone = join(folder, 'fleet');
  await run('git', ['init', '--quiet', '--bare', '-b', 'main', join(folder, 'origin.git')]);
  await run('git', ['clone', '--quiet', join(folder, 'origin.git'), clone]);
  for (const [name, value] of [
    ['user.name', 'reader'],
    ['user.email', 'reader@example.com'],
  ] as const)
    await run('git', ['-C', clone, 'config', name, value]);
  await run('git', ['-C', clone, 'checkout', '--quiet', '-B', 'main']);
  for (const name of ['deploy', 'crds', 'charts']) symlinkSync(join(REPOSITORY, name), join(clone, name));
  return clone;
}

/** Returns the files of the pushed branch, as source-controller sees them. */
async function pushedFiles(): Promise<Record<string, string>> {
  const git = (...args: readonly string[]) =>
    run('git', ['--git-dir', join(folder, 'origin.git'), ...args]).then(({ stdout }) => stdout);
  const names = (await git('ls-tree', '-r', '--name-only', 'main')).trim().split('\n');
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await git('show', `main:${name}`)])),
  );
}

test('the tutorial of Flux works as it is written: commits rent, change, stop and end a machine', {
  timeout: 900_000,
}, async () => {
  const flux = await openFluxBench();
  bench = flux;
  const clone = await cloneFleet();
  writeFileSync(join(clone, 'my-key.txt'), flux.apiKey);
  await flux.apply(gitRepositoryOf('fleet'));
  let isRunning = false;
  let isWatched = false;
  const afterTyping = async (commands: string): Promise<void> => {
    if (commands.includes('deploy/overlays') && !isRunning) {
      await flux.startOperator();
      isRunning = true;
    }
    if (commands.includes('flux.yaml')) isWatched = true;
    if (!commands.includes('git push')) return;
    const revision = await flux.source.publish('fleet', await pushedFiles());
    if (isWatched) {
      const kustomizations = kustomizationsOf(flux);
      await kustomizations.request(KUSTOMIZATION);
      await kustomizations.applied(KUSTOMIZATION, revision);
    }
  };
  const type = typistOn(flux.cluster, { folder: clone });
  const steps = await followTutorial('docs/tutorials/gitops.md', { folder: clone, type, afterTyping });
  expect(steps.find(({ heading }) => heading === '4. Flux')?.printed).toMatch(/^trainer +Running/m);
  const { billing, contracts } = await readLedger(flux.controlUrl);
  expect({ billing, rented: contracts.length }).toEqual({ billing: 0, rented: 1 });
});
