import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

const recording = z.array(z.object({ kstatus: z.string(), object: z.unknown() }));

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

test('the library of Flux and Helm still says of every recorded object what is written beside it', async () => {
  const file = join(import.meta.dirname, 'recorded.json');
  const recorded = recording.parse(JSON.parse(readFileSync(file, 'utf8')));
  const child = spawn(program, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(recorded.map(({ object }) => object)));
  expect(JSON.parse(await text(child.stdout))).toEqual(recorded.map(({ kstatus }) => kstatus));
});
