import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reasons } from '../../src/api/v1alpha1/reasons.ts';

const SOURCES = join(import.meta.dirname, '..', '..', 'src');
const CATALOGUE = /\/reasons\.ts$|\.test\.ts$/;

/** All that the operator may say, in one text. */
const said = globSync('**/*.ts', { cwd: SOURCES })
  .filter((path) => !CATALOGUE.test(path))
  .map((path) => readFileSync(join(SOURCES, path), 'utf8'))
  .join('\n');

test.for(Object.keys(reasons))('the reason %s has a section because the operator says it', (reason) => {
  expect(said).toMatch(new RegExp(`'${reason}'|\\b${reason}:`));
});
