import { afterAll, beforeAll, expect, test } from 'vitest';
import { IN_USE_RECORD } from '../../src/api/v1alpha1/names.ts';
import { constantsToData, defaultConstants } from '../../src/ownership/constants.ts';
import { type Desk, desk } from './desk.ts';

/* What bills unclaimed is shown, whatever else is wrong. */

let here: Desk;
let orphan: number;
beforeAll(async () => {
  here = await desk();
  here.account('healthy');
  here.put('marketplaceaccounts', {
    metadata: { name: 'broken' },
    spec: { apiKeySecretRef: { name: 'nowhere', key: 'api-key' } },
  });
  orphan = await here.labelledMachine('11111111-2222-3333-4444-555555555555');
});
afterAll(() => here.close());

const gpuRent = (line: string) => here.cluster.cli.run(line.split(' '));

test('an account that cannot be asked hides no orphan of another, and ends with 1', async () => {
  const { exitCode, stdout, stderr } = await gpuRent('orphans -A');
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(new RegExp(`^team/healthy +${orphan} +orphan `, 'm'));
  expect(stderr).toMatch(/^The machines of gpuacct\/broken in team were not read\.$/m);
  expect(stderr).toContain('Secret team/nowhere does not exist');
  expect(stderr).toContain(
    'What to do: Create the Secret (kubectl create secret generic nowhere -n team --from-file=api-key=FILE)',
  );
});

test('an account that cannot be asked is not said to have none', async () => {
  const { exitCode, stdout, stderr } = await gpuRent('orphans gpuacct/broken');
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).not.toContain('No orphans found');
});

test('judges labels by the times that the operator published, and by those of flags before them (L8)', async () => {
  const guess = await gpuRent('orphans gpuacct/healthy');
  expect(guess.stderr).toContain(
    "Using --late-call 2m and --list-lag 1m. These are defaults unless you gave them: ConfigMap gpu-rental-system/gpu-rental-in-use does not have the operator's times.",
  );
  const constants = { ...defaultConstants, lateCallMs: 1_200_000, listLagMs: 90_000 };
  here.put('configmaps', {
    metadata: { name: IN_USE_RECORD, namespace: 'gpu-rental-system' },
    data: constantsToData(constants),
  });
  const published = await gpuRent('orphans gpuacct/healthy');
  expect(published.stderr).toBe('Using --late-call 20m and --list-lag 1m30s.\n');
  const given = await gpuRent('orphans gpuacct/healthy --late-call 5m');
  expect(given.stderr).toBe('Using --late-call 5m and --list-lag 1m30s.\n');
});

test('says by which times labels are judged, and takes those of the operator (L8)', async () => {
  const { stderr, stdout } = await gpuRent('orphans gpuacct/healthy --late-call 20m -o json');
  expect(stderr).toContain('Using --late-call 20m and --list-lag 1m30s.');
  expect(JSON.parse(stdout)).toMatchObject([{ instance: String(orphan), verdict: 'orphan' }]);
  const wrong = await gpuRent('orphans gpuacct/healthy --list-lag soon');
  expect(wrong.exitCode).not.toBe(0);
  expect(wrong.stderr).toContain('--list-lag: "soon" is not a time');
});
