import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { version } from '../../scripts/generate/chart/chart-metadata.ts';

const read = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8');
const page = read('docs/reference/support.md');
/** The row of the matrix that names this minor version. */
const row = page.split('\n').find((line) => line.startsWith(`| ${version.replace(/\.\d+$/, '')} |`)) ?? '';
const cells = row.split('|').map((cell) => cell.trim());

test('the support matrix has a row for the minor version of package.json', () => {
  expect(cells).toHaveLength(8);
});

test.for([
  ['Kubernetes', 3, 'charts/gpu-rental-operator/Chart.yaml', /^kubeVersion: ">=(\d+\.\d+)\./m],
  ['Kubernetes of the tests', 3, 'test/cluster/k3s.ts', /k3s:v(\d+\.\d+)\./],
  ['Node.js', 5, 'package.json', /"node": ">=(\d+\.\d+)"/],
  ['Helm', 4, 'charts/gpu-rental-operator/README.md', /Helm 4, or (3\.\d+) and later/],
] as const)('the support matrix names the %s version', ([, cell, file, pattern]) => {
  const found = pattern.exec(read(file))?.[1];
  expect(found).toMatch(/^\d+\.\d+$/);
  expect(cells[cell]).toContain(found);
});

test('the notes have a section for the version of package.json', () => {
  expect(page).toContain(`\n### ${version}\n`);
});
