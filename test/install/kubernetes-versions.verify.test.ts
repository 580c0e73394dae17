import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { CHART, openHelm } from './helm.ts';
import { kustomize } from './kustomize.ts';
import { valueSets } from './value-sets.ts';

const run = promisify(execFile);
const PACKAGE = 'kubernetes-validate==1.37.0';
const VERSIONS = ['1.35.0', '1.36.0', '1.37.0'];
const OVERLAYS = ['cluster-wide', 'one-namespace', 'high-availability'];
/** Kinds of Kubernetes itself: the package has no schemas of others. */
const BUILT_IN = /^(v1|[a-z]+\/v\d+|[a-z.]+\.k8s\.io\/v\d+)$/;

const shape = z.looseObject({ apiVersion: z.string() });

let folder = '';
const files = new Map<string, string>();

function keep(name: string, manifests: string): void {
  const objects = parseAllDocuments(manifests)
    .map((document) => document.toJS() as unknown)
    .filter((object) => BUILT_IN.test(shape.safeParse(object).data?.apiVersion ?? ''));
  expect(objects.length).toBeGreaterThan(5);
  const path = join(folder, `${name.replace(' ', '-')}.yaml`);
  writeFileSync(path, objects.map((object) => JSON.stringify(object)).join('\n---\n'));
  files.set(name, path);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'versions-'));
  await run('python3', ['-m', 'venv', join(folder, 'venv')]);
  await run(join(folder, 'venv/bin/pip'), ['install', '--quiet', '--disable-pip-version-check', PACKAGE]);
  const helm = await openHelm(folder);
  for (const { name, valuesPath } of valueSets)
    keep(`chart ${name}`, await helm.run(['template', 'release', CHART, '--values', valuesPath]));
  for (const overlay of OVERLAYS)
    keep(`overlay ${overlay}`, await kustomize(join(REPOSITORY, 'deploy/overlays', overlay)));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const names = [
  ...valueSets.map(({ name }) => `chart ${name}`),
  ...OVERLAYS.map((overlay) => `overlay ${overlay}`),
];

describe.each(VERSIONS)('the schemas of Kubernetes %s', (version) => {
  test.each(names)('take every object of the %s', async (name) => {
    const args = ['--strict', '-k', version, '--quiet', files.get(name) ?? ''];
    await run(join(folder, 'venv/bin/kubernetes-validate'), args);
  });
});
