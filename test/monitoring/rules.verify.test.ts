import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { firstExposition } from '../../scripts/generate/monitoring/metric-families.ts';
import { findOnPath } from '../cluster/kubectl.ts';
import { goTool, PROMTOOL } from '../tools/go-tool.ts';

const RULES = join(REPOSITORY, 'charts/gpu-rental-operator/files/rules.yaml');
const CASES = join(import.meta.dirname, 'rules.promtool.yaml');

let promtool = '';
beforeAll(async () => {
  // Debian's package `prometheus` has it. Its build from Go modules takes 20 minutes and more on two cores.
  promtool = findOnPath('promtool', process.env.PATH) ?? (await goTool(PROMTOOL));
});

test('promtool reads every rule, and finds nothing to complain about', async () => {
  const { stdout } = await promisify(execFile)(promtool, ['check', 'rules', '--lint=all', RULES]);
  expect(stdout).toMatch(/SUCCESS: \d+ rules found/);
});

test('every alert fires when it should and not before, and every record has its value', async () => {
  const { stdout } = await promisify(execFile)(promtool, ['test', 'rules', CASES]);
  expect(stdout).toContain('SUCCESS');
});

test('promtool finds nothing to complain about in the exposition of the operator', async () => {
  const checking = spawn(promtool, ['check', 'metrics', '--extended'], { stdio: ['pipe', 'pipe', 'pipe'] });
  checking.stdin.end(await firstExposition());
  const said = await Promise.all([text(checking.stdout), text(checking.stderr)]);
  expect(said[1]).toBe('');
});
