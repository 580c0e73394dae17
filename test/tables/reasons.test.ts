import { globSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { isReason } from '../../src/api/v1alpha1/reasons.ts';

const CATALOGUE = 'src/api/v1alpha1/reasons.ts';
const LITERALS = /'([A-Z][A-Za-z]+)'/g;

/** Sets and tables of reasons in a source text: typed by Reason, or holding nothing else. */
function privateSets(source: string): readonly string[] {
  const typed = source.match(/\b(?:Set|Map|Record)<\s*(?:Reason|string & Reason)\b[^;\n]*/g) ?? [];
  const listed = [
    ...source.matchAll(/(?:new (?:Set|Map)(?:<[^>()]*>)?\(\s*)?\[([^[\]]*)\](?=\s*(?:\)|\.includes))/g),
  ]
    .filter(([, body = '']) => {
      const names = [...body.matchAll(LITERALS)].map(([, name = '']) => name);
      const others = body.replaceAll(LITERALS, '').replaceAll(/[\s,]/g, '');
      return names.length > 1 && others === '' && names.every(isReason);
    })
    .map(([text]) => text);
  return [...typed, ...listed];
}

describe('a private set of reasons', () => {
  test('is in no file beside the catalogue: a new reason would silently be in none', () => {
    const files = globSync('src/**/*.ts').filter((file) => !file.endsWith('.test.ts') && file !== CATALOGUE);
    expect(files.length).toBeGreaterThan(300);
    const found = files.flatMap((file) =>
      privateSets(readFileSync(file, 'utf8')).map((text) => `${file}: ${text.replaceAll(/\s+/g, ' ')}`),
    );
    expect(found).toEqual([]);
  });

  test.each([
    ["const A: ReadonlySet<Reason> = new Set<Reason>(['Paused']);", true],
    ["const A: ReadonlySet<string> = new Set(['Paused', 'Queued']);", true],
    ["const A = new Set<string>([\n  'Paused',\n  'Queued',\n]);", true],
    ["return ['Paused', 'Queued'].includes(reason);", true],
    ['const A: Partial<Readonly<Record<Reason, string>>> = {};', true],
    ["const A = new Set(['GET', 'HEAD']);", false],
    ["const A: Readonly<Record<Kind, Reason>> = { a: 'Paused' };", false],
    ["f(['Paused', other])", false],
  ])('is found in %s: %s', (source, isOne) => {
    expect(privateSets(source).length > 0).toBe(isOne);
  });
});
