import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { drifting, strangers, write } from '../../scripts/generate/artifact.ts';

const artifacts = [
  { path: 'crds/a.yaml', content: 'a: 1\n' },
  { path: 'docs/b.md', content: '# b\n' },
];
let root = '';

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'generate-'));
});
afterEach(() => rmSync(root, { recursive: true }));

test('a file that is missing drifts', () => {
  expect(drifting(artifacts, root)).toEqual(['crds/a.yaml', 'docs/b.md']);
});

test('a file that was edited by hand drifts, and only that one', () => {
  write(artifacts, root);
  writeFileSync(join(root, 'docs/b.md'), '# edited\n');
  expect(drifting(artifacts, root)).toEqual(['docs/b.md']);
});

test('writing makes folders, says what it wrote, and writes nothing the second time', () => {
  expect(write(artifacts, root)).toEqual(['crds/a.yaml', 'docs/b.md']);
  expect(readFileSync(join(root, 'crds/a.yaml'), 'utf8')).toBe('a: 1\n');
  expect(write(artifacts, root)).toEqual([]);
  expect(drifting(artifacts, root)).toEqual([]);
});

test('a file that nothing generates any more is named', () => {
  write(artifacts, root);
  writeFileSync(join(root, 'crds/old.yaml'), 'a: 0\n');
  expect(strangers(artifacts, ['crds', 'nowhere'], root)).toEqual(['crds/old.yaml']);
});
