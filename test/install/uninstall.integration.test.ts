import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { definitions } from '../../src/api/v1alpha1/definitions.ts';
import { IDENTITY_SECRET } from '../../src/ownership/identity.ts';
import { findOnPath } from '../cluster/kubectl.ts';
import { goToolPath, HELM } from '../tools/go-tool.ts';
import { CHART } from './helm.ts';
import { NAMESPACE, openReleaseBench, RELEASE, type ReleaseBench } from './release-bench.ts';

const canRun = existsSync(goToolPath(HELM, process.env)) || findOnPath('go', process.env.PATH) !== undefined;
const OVERLAY = join(REPOSITORY, 'deploy/overlays/cluster-wide');
const DELETE_BUT_GUARD = ['delete', '-k', OVERLAY, '-l', 'gpurental.dev/keep!=true'];
const REFUSAL = /The operator in namespace gpu-rental-system still has rented machines/;

/** Objects without which rented machines would keep billing. */
const NEEDED = [
  `namespace/${NAMESPACE}`,
  ...definitions.map(({ names }) => `customresourcedefinition/${names.plural}.${names.group}`),
  `secret/${IDENTITY_SECRET}`,
  `deployment/${RELEASE}`,
  `serviceaccount/${RELEASE}`,
  `role/${RELEASE}`,
  `rolebinding/${RELEASE}`,
  `clusterrole/${RELEASE}`,
  `clusterrolebinding/${RELEASE}`,
];

let bench: ReleaseBench;

async function expectAllThere(): Promise<void> {
  for (const name of NEEDED) await bench.kubectl('get', name, '-n', NAMESPACE, '-o=name');
}

async function makeIdentity(): Promise<void> {
  await bench.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: IDENTITY_SECRET, namespace: NAMESPACE },
    stringData: { installId: '0'.repeat(32) },
  });
}

beforeAll(async () => {
  if (canRun) bench = await openReleaseBench(HELM);
}, 15 * 60_000);
afterAll(() => bench?.close());

describe.skipIf(!canRun)('while machines are rented', () => {
  test('helm uninstall fails as often as it is tried, although the definitions are not kept', async () => {
    await bench.helm('install', RELEASE, CHART, '--create-namespace', '--set=crds.keep=false');
    await makeIdentity();
    await bench.setInUse(true);
    for (const _attempt of [1, 2])
      await expect(bench.helm('uninstall', RELEASE)).rejects.toThrow(/failed to delete release/);
    await expectAllThere();
  });

  test('once none is rented helm uninstall takes everything away but the guard', async () => {
    await bench.setInUse(false);
    await bench.helm('uninstall', RELEASE);
    // The API server takes the objects of a definition away after its deletion was answered.
    await expect
      .poll(() => bench.kubectl('get', 'customresourcedefinitions', '-o=name'), { timeout: 30_000 })
      .toBe('');
    expect(await bench.kubectl('get', 'deployments', '-n', NAMESPACE, '-o=name')).toBe('');
    await bench.kubectl('get', 'validatingadmissionpolicy', 'gpu-rental-in-use');
  });

  test('kubectl delete -k fails as often as it is tried, where it leaves the guard', async () => {
    await bench.kubectl('apply', '--server-side', '--force-conflicts', '-k', OVERLAY);
    await makeIdentity();
    await bench.setInUse(true);
    for (const _attempt of [1, 2])
      await expect(bench.kubectl(...DELETE_BUT_GUARD, '--wait=false')).rejects.toThrow(REFUSAL);
    await expectAllThere();
  });

  test('once none is rented kubectl delete -k takes everything away but the guard', async () => {
    await bench.setInUse(false);
    await bench.kubectl(...DELETE_BUT_GUARD, '--timeout=60s');
    await expect(bench.kubectl('get', 'namespace', NAMESPACE)).rejects.toThrow(/not found/);
    await bench.kubectl('get', 'validatingadmissionpolicy', 'gpu-rental-in-use');
  }, 130_000);

  test('kubectl delete -k that takes the guard along is refused all the same', async () => {
    await bench.kubectl('apply', '--server-side', '-k', OVERLAY);
    await makeIdentity();
    await bench.setInUse(true);
    await expect(bench.kubectl('delete', '-k', OVERLAY, '--wait=false')).rejects.toThrow(REFUSAL);
    await expectAllThere();
  });
});
