import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { findOnPath } from '../cluster/kubectl.ts';
import { goToolPath, HELM } from '../tools/go-tool.ts';
import { type Helm, type Manifest, openHelm } from './helm.ts';
import { lintChecks } from './lint-checks.ts';
import { valueSets } from './value-sets.ts';

const canRun = existsSync(goToolPath(HELM, process.env)) || findOnPath('go', process.env.PATH) !== undefined;

let helm: Helm;
let home = '';

beforeAll(async () => {
  if (!canRun) return;
  home = mkdtempSync(join(tmpdir(), 'helm-'));
  helm = await openHelm(home);
}, 15 * 60_000);
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe.skipIf(!canRun).each(valueSets)(
  'the chart with the values "$name"',
  ({ valuesPath, goldenPath }) => {
    let objects: readonly Manifest[] = [];
    beforeAll(async () => {
      objects = await helm.template(['--values', valuesPath]);
    });

    test('renders what is kept (npx vitest run --project integration test/install/golden -u)', async () => {
      const shown = objects.filter(({ kind }) => kind !== 'CustomResourceDefinition');
      const text = shown.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }));
      await expect(text.join('---\n')).toMatchFileSnapshot(goldenPath);
    });

    test.each(lintChecks)('passes kube-linter: $name', ({ problems }) => {
      expect(problems(objects)).toEqual([]);
    });
  },
);
