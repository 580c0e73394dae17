import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { tarOf, writeArchive, writeFolder } from './report-bundle.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'report-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const FILES = [
  { path: 'version.yaml', text: 'version: 1\n' },
  { path: 'objects/team/GpuInstance-a.yaml', text: 'kind: GpuInstance\n' },
];
const modeOf = (path: string) => statSync(path).mode & 0o777;

test('a report is for its owner alone, as an archive and as a folder', async () => {
  const archive = join(home, 'report.tar.gz');
  await writeArchive(archive, FILES, 0);
  await writeFolder(join(home, 'report'), FILES);
  const paths = FILES.map(({ path }) => join(home, 'report', path));
  expect([archive, ...paths].map(modeOf)).toEqual([0o600, 0o600, 0o600]);
  expect(paths.map((path) => readFileSync(path, 'utf8'))).toEqual(FILES.map(({ text }) => text));
  expect(gunzipSync(readFileSync(archive)).equals(tarOf(FILES, 0))).toBe(true);
});
