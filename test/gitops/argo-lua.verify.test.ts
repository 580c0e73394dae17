import { execFile, spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { runLua } from './lua.ts';

const FOLDER = join(REPOSITORY, 'deploy/gitops/argo-cd/resource_customizations/gpurental.dev');
const read = (...path: readonly string[]): string => readFileSync(join(FOLDER, ...path), 'utf8');
const files = (pattern: string): readonly string[] => globSync(pattern, { cwd: FOLDER }).toSorted();

interface Call {
  readonly script: string;
  readonly obj: unknown;
}

let folder = '';
let program = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'argo-lua-'));
  program = join(folder, 'argo-lua');
  await promisify(execFile)('go', ['build', '-buildvcs=false', '-o', program, '.'], {
    cwd: join(import.meta.dirname, 'argo-lua-go'),
    env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '' },
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the results of the scripts in Argo CD's Lua. */
async function inArgo(calls: readonly Call[]): Promise<readonly unknown[]> {
  const child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(calls));
  return z.array(z.unknown()).parse(JSON.parse(await text(child.stdout)));
}

const recorded = z
  .array(z.object({ object: z.looseObject({ kind: z.string() }) }))
  .parse(JSON.parse(readFileSync(join(REPOSITORY, 'test/status-contract/recorded.json'), 'utf8')));

const healthCalls: readonly Call[] = [
  ...recorded.map(({ object }) => ({
    script: read(object.kind, 'health.lua'),
    obj: { spec: {}, ...object },
  })),
  ...files('*/testdata/*.yaml').map((file) => ({
    script: read(file.split('/')[0] ?? '', 'health.lua'),
    obj: parse(read(file)) as unknown,
  })),
];

describe('in the Lua of Argo CD', () => {
  test('health is what it is here, for every recorded object and every sample', async () => {
    expect(healthCalls.length).toBeGreaterThan(40);
    expect(await inArgo(healthCalls)).toEqual(healthCalls.map(({ script, obj }) => runLua(script, obj)));
  });

  test('actions change what they change here, and write a time that Kubernetes takes', async () => {
    const calls = files('*/actions/*/action.lua').map((file) => {
      const [kind = ''] = file.split('/');
      const [sample = ''] = files(`${kind}/actions/testdata/*.yaml`);
      return { script: read(file), obj: parse(read(sample)) as unknown };
    });
    expect(calls.length).toBeGreaterThan(4);
    const TIME = /"!?(\d{4}-\d\d-\d\dT)\d\d:\d\d:\d\dZ"/g;
    const [there, here] = [await inArgo(calls), calls.map(({ script, obj }) => runLua(script, obj))].map(
      (changed) => JSON.stringify(changed),
    );
    expect(there).not.toContain('"!');
    expect(JSON.parse(there?.replaceAll(TIME, '"$1"') ?? '')).toEqual(
      JSON.parse(here?.replaceAll(TIME, '"$1"') ?? ''),
    );
  });
});
