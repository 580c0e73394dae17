import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { goTool, HELM, HELM_3 } from '../tools/go-tool.ts';
import { CHART, type Helm, openHelm } from './helm.ts';
import { openReleaseBench, RELEASE, type ReleaseBench } from './release-bench.ts';
import { valueSets } from './value-sets.ts';

const CRD_CHART = join(REPOSITORY, 'charts/gpu-rental-operator-crds');

let bench: ReleaseBench;
let helm4: Helm;

beforeAll(async () => {
  await goTool(HELM);
  bench = await openReleaseBench(HELM_3);
  helm4 = await openHelm(bench.folder);
});
afterAll(() => bench?.close());

describe('Helm 3', () => {
  test('is the version that is said', async () => {
    expect(await bench.helm('version', '--short')).toContain('v3.');
  });

  test.each([CHART, CRD_CHART])('passes the strict linter: %s', async (chart) => {
    expect(await bench.helm('lint', '--strict', chart)).toContain('0 chart(s) failed');
  });

  test.each(valueSets)('renders what Helm 4 renders with the values "$name"', async ({ valuesPath }) => {
    const args = ['--values', valuesPath, '--kube-version', '1.36.3'];
    const [ours, theirs] = await Promise.all([bench.render(args), helm4.template(args)]);
    expect(ours.length).toBeGreaterThan(10);
    expect(ours).toEqual(theirs);
  });

  test('refuses a typing error by the schema', async () => {
    await expect(bench.render(['--set=replcas=2'])).rejects.toThrow(/replcas/);
  });

  test('installs, upgrades and rolls back', async () => {
    await bench.helm('install', RELEASE, CHART, '--create-namespace');
    await bench.helm('upgrade', RELEASE, CHART, '--set=replicas=2');
    await bench.helm('rollback', RELEASE, '1');
    expect(await bench.helm('history', RELEASE)).toMatch(/Rollback to 1/);
  });

  test('is refused the uninstall while machines are rented, as often as it tries', async () => {
    await bench.setInUse(true);
    for (const _attempt of [1, 2])
      await expect(bench.helm('uninstall', RELEASE)).rejects.toThrow(
        /still has rented machines|failed to delete/,
      );
    await bench.kubectl('get', 'crd', 'gpuinstances.gpurental.dev');
    await bench.kubectl('get', 'deployment', RELEASE, '-n', 'gpu-rental-system');
  });

  test('takes everything away once none is rented, but for the definitions', async () => {
    await bench.setInUse(false);
    await bench.helm('uninstall', RELEASE);
    expect(await bench.kubectl('get', 'deployments', '-n', 'gpu-rental-system', '-o=name')).toBe('');
    await bench.kubectl('get', 'crd', 'gpuinstances.gpurental.dev');
  });

  test('leaves a release that Helm 4 goes on with', async () => {
    await bench.helm('install', RELEASE, CHART);
    const four = ['upgrade', RELEASE, CHART, '--namespace', 'gpu-rental-system', '--set=replicas=2'];
    await helm4.run(four, bench.cluster.kubeconfigPath);
    const replicas = ['-o=jsonpath={.spec.replicas}', '-n', 'gpu-rental-system'];
    expect(await bench.kubectl('get', 'deployment', RELEASE, ...replicas)).toBe('2');
  });
});
