import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { goTool, HELM_UNITTEST } from '../tools/go-tool.ts';
import { CHART } from './helm.ts';

let program = '';
let folder = '';
beforeAll(async () => {
  program = await goTool(HELM_UNITTEST);
  // It makes a folder for snapshots beside the cases.
  folder = mkdtempSync(join(tmpdir(), 'chart-'));
  cpSync(CHART, folder, { recursive: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('helm-unittest passes every case of every value', async () => {
  const { stdout } = await promisify(execFile)(program, ['--strict', folder]).catch(
    (failed: { stdout: string; stderr: string }) => failed,
  );
  expect(stdout).toMatch(/Tests: +\d+ passed, \d+ total/);
  process.stderr.write(`${/^Tests:.*$/m.exec(stdout)?.[0] ?? ''}\n`);
});
