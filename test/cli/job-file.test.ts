import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { JOB_EXIT } from '../../src/cli/job/run-result.ts';
import { type Desk, desk } from './desk.ts';

/* Options beside the file of `gpu-rent job -f`, which replaces them. */

let here: Desk;
let folder: string;
beforeAll(async () => {
  here = await desk();
  folder = mkdtempSync(join(tmpdir(), 'job-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await here.close();
});

test.each([
  ['--max-lifetime', '1h', 'spec.maxLifetime'],
  ['--backoff-limit', '0', 'spec.completion.backoffLimit'],
  ['--lost-limit', '1', 'spec.completion.lostLimit'],
  ['--max-price', '1', 'everything'],
])('job -f refuses %s %s, and names the field for the file', async (flag, value, field) => {
  const file = join(folder, 'run.yaml');
  const spec = { image: 'u', command: ['true'], completion: {}, offers: [{ maxPricePerHour: '1' }] };
  const manifest = { apiVersion: 'gpurental.dev/v1alpha1', kind: 'GpuInstance', metadata: { name: 'run' } };
  writeFileSync(file, JSON.stringify({ ...manifest, spec }));
  const { exitCode, stderr } = await here.cluster.cli.run(['job', '-f', file, flag, value]);
  expect([exitCode, stderr]).toEqual([
    JOB_EXIT.refused,
    expect.stringContaining(`-f and ${flag} exclude each other.`),
  ]);
  expect(stderr).toContain(`Write ${field} into the file.`);
  expect(here.cluster.asked).toEqual([]);
});
