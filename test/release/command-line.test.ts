import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { archiveUrl, homebrewFormula, krewManifest } from '../../scripts/release/command-line.ts';

const archive = { version: '1.2.3', url: archiveUrl('1.2.3'), sha256: 'ab'.repeat(32) };
const { engines } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'));

test('the manifest of krew names the archive of the release for Linux and macOS', () => {
  const plugin = parse(krewManifest(archive));
  expect(plugin).toMatchObject({
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'gpu-rent' },
    spec: { version: 'v1.2.3', caveats: expect.stringContaining(engines.node.replace('>=', '')) },
  });
  for (const platform of plugin.spec.platforms)
    expect(platform).toMatchObject({ uri: archive.url, sha256: archive.sha256, bin: 'gpu-rent.mjs' });
  // The rules of krew-index: a short description of at most 50 characters, without a full stop.
  expect(plugin.spec.shortDescription).toMatch(/^[^.]{1,50}$/);
});

test('the formula of Homebrew installs gpu-rent, also as a plugin of kubectl', () => {
  const formula = homebrewFormula(archive);
  for (const part of [
    `url "${archive.url}"`,
    `sha256 "${archive.sha256}"`,
    'version "1.2.3"',
    'kubectl-gpu_rent',
  ])
    expect(formula).toContain(part);
});
