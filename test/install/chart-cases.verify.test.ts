import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { goTool, HELM_UNITTEST } from '../tools/go-tool.ts';
import { CHART } from './helm.ts';

let program = '';
beforeAll(async () => {
  program = await goTool(HELM_UNITTEST);
});

test('helm-unittest passes every case of every value', async () => {
  const { stdout } = await promisify(execFile)(program, ['--strict', CHART]).catch(
    (failed: { stdout: string; stderr: string }) => failed,
  );
  expect(stdout).toMatch(/Tests: +\d+ passed, \d+ total/);
  process.stderr.write(`${/^Tests:.*$/m.exec(stdout)?.[0] ?? ''}\n`);
});
