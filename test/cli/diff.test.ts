import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { gpuInstanceSpec } from '../../src/api/v1alpha1/gpu-instance.ts';
import { specHash } from '../../src/api/v1alpha1/machine-drift.ts';
import { API_VERSION } from '../../src/api/v1alpha1/names.ts';
import { LAST_APPLIED } from '../../src/cli/plan/dry-run.ts';
import { type Desk, desk } from './desk.ts';

/* What `gpu-rent diff` shows of a manifest, and what becomes of the machine. */

let here: Desk;
const spec = gpuInstanceSpec.parse({ image: 'example/work:1', offers: [{ maxPricePerHour: '1' }] });
const written = { image: 'example/work:1', offers: [{ maxPricePerHour: '1' }] };

beforeAll(async () => {
  here = await desk();
  const ran = { metadata: { name: 'trainer' }, spec: { ...written, env: [{ name: 'A', value: 'b' }] } };
  here.put('gpuinstances', {
    metadata: { name: 'trainer', annotations: { [LAST_APPLIED]: JSON.stringify(ran) } },
    spec: { ...spec, env: [{ name: 'A', value: 'b' }] },
    status: {
      phase: 'Running',
      instanceId: '20000006',
      specHash: specHash({ ...spec, env: [{ name: 'A', value: 'b' }] }),
    },
  });
});
afterAll(() => here.close());

const manifest = (change: object, name = 'trainer') =>
  JSON.stringify({
    ...{ apiVersion: API_VERSION, kind: 'GpuInstance', metadata: { name, namespace: 'team' } },
    spec: { ...written, ...change },
  });
const diff = (stdin: string, ...options: readonly string[]) =>
  here.cluster.cli.run(['diff', '-f', '-', ...options], { stdin });
const env = [{ name: 'A', value: 'b' }];

describe('gpu-rent diff', () => {
  test('says so if nothing differs', async () => {
    expect(await diff(manifest({ env }), '--exit-code')).toEqual({
      exitCode: 0,
      stderr: '',
      stdout: 'gpui/trainer in team matches the manifest.\n',
    });
  });

  test('shows what differs, and what becomes of the machine', async () => {
    const { exitCode, stdout, stderr } = await diff(manifest({ env, image: 'example/work:2' }));
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining([
        '--- gpui/trainer in team\tnow',
        '+++ gpui/trainer in team\twith the manifest',
        '-  image: example/work:1',
        '+  image: example/work:2',
      ]),
    );
    expect(stdout).toMatch(
      /\ngpui\/trainer replaces machine 20000006 \(.*disk lost\) once another machine can be rented: .*\n$/,
    );
    expect(stdout).not.toContain(LAST_APPLIED);
  });

  test('sees that a field is gone which the manifest of before named', async () => {
    const { exitCode, stdout } = await diff(manifest({}), '--exit-code');
    expect(exitCode).toBe(1);
    expect(stdout).toContain('-  env:\n-    - name: A\n-      value: b\n');
    expect(stdout).toContain('gpui/trainer replaces machine 20000006');
  });

  test('shows all of an object that is new', async () => {
    const { stdout } = await diff(manifest({}, 'other'));
    expect(stdout).toContain('--- gpui/other in team\tdoes not exist');
    expect(stdout).toContain('+  image: example/work:1');
    expect(stdout).not.toMatch(/^-[^-]/m);
    expect(stdout).toContain('gpui/other is new: gpu-rent plan -f FILE shows what it would rent.');
  });

  test('is a list of both sides for programs', async () => {
    const { stdout } = await diff(manifest({ env, image: 'example/work:2' }), '-o', 'json');
    expect(JSON.parse(stdout)).toMatchObject([
      {
        ...{ object: 'gpui/trainer', namespace: 'team', change: 'changed' },
        before: { spec: { image: 'example/work:1' } },
        after: { spec: { image: 'example/work:2' } },
        machine: { machine: '20000006', effect: 'replaces' },
      },
    ]);
  });

  test.each([
    [[], 2, 'No manifest was given.'],
    [['-f', '/no/such/file'], 2, '/no/such/file'],
    [['-f', '-', '--kubeconfig', '/no/such/file'], 1, 'Cannot read the kubeconfig'],
  ])('ends with words for %j', async (options, exitCode, says) => {
    const found = await here.cluster.cli.run(['diff', ...options], { stdin: manifest({}) });
    expect(found).toMatchObject({ exitCode, stdout: '', stderr: expect.stringContaining(says) });
  });
});
