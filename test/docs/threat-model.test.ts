import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';

const PAGE = 'docs/concepts/threat-model.md';

/** Rows of the table of threats: the threat, and the files that its last column names. */
function threats(): readonly (readonly [string, readonly string[]])[] {
  const [, section = ''] = readFileSync(join(REPOSITORY, PAGE), 'utf8').split('| shown by |\n');
  const rows = section.split('\n\n')[0]?.split('\n').slice(1) ?? [];
  return rows.map((row) => {
    const [, threat = '', , shownBy = ''] = row.split(/ ?\| ?/);
    const paths = [...shownBy.matchAll(/`([^` ]*\/[^` ]*)`/g)].map(([, path = '']) => path);
    return [threat, paths] as const;
  });
}

describe('the threat model', () => {
  test('has a table of threats', () => {
    expect(threats().length).toBeGreaterThan(10);
  });

  test.for(threats())('names a test that is there against: %s', ([, paths]) => {
    expect(paths).not.toEqual([]);
    for (const path of paths) {
      expect(path, 'name a test by its path').toMatch(/\.test\.ts$/);
      expect(existsSync(join(REPOSITORY, path)), `${path} is not there`).toBe(true);
    }
  });
});
