import { execFile, spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';

const recording = z.array(z.object({ kstatus: z.string(), object: z.unknown() }));

const ARGO_CD = join(REPOSITORY, 'deploy/gitops/argo-cd/resource_customizations/gpurental.dev');
const healthTests = z.object({
  tests: z.array(z.object({ inputPath: z.string(), healthStatus: z.object({ status: z.string() }) })),
});
/** Suspended is a fine point that only Argo CD knows. */
const KSTATUS_OF_HEALTH: Readonly<Record<string, string>> = {
  Healthy: 'Current',
  Suspended: 'Current',
  Progressing: 'InProgress',
  Degraded: 'Failed',
};

let folder = '';
let program = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kstatus-'));
  program = join(folder, 'kstatus');
  await promisify(execFile)('go', ['build', '-buildvcs=false', '-o', program, '.'], {
    cwd: join(import.meta.dirname, 'kstatus-go'),
    env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '' },
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the result of kstatus for each object. */
async function kstatusOf(objects: readonly unknown[]): Promise<readonly unknown[]> {
  const child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(objects));
  return z.array(z.unknown()).parse(JSON.parse(await text(child.stdout)));
}

test('the library of Flux and Helm still says of every recorded object what is written beside it', async () => {
  const file = join(import.meta.dirname, 'recorded.json');
  const recorded = recording.parse(JSON.parse(readFileSync(file, 'utf8')));
  expect(await kstatusOf(recorded.map(({ object }) => object))).toEqual(
    recorded.map(({ kstatus }) => kstatus),
  );
});

test('the library of Flux and Helm agrees with the health scripts of Argo CD on every sample of these', async () => {
  const samples = globSync('*/health_test.yaml', { cwd: ARGO_CD }).flatMap((file) =>
    healthTests.parse(parse(readFileSync(join(ARGO_CD, file), 'utf8'))).tests.map((one) => {
      const path = join(dirname(file), one.inputPath);
      const object: unknown = parse(readFileSync(join(ARGO_CD, path), 'utf8'));
      return { path, object, health: one.healthStatus.status };
    }),
  );
  expect(samples.length).toBeGreaterThan(15);
  const statuses = await kstatusOf(samples.map(({ object }) => object));
  expect(samples.map(({ path }, index) => [path, statuses[index]])).toEqual(
    samples.map(({ path, health }) => [path, KSTATUS_OF_HEALTH[health]]),
  );
});
