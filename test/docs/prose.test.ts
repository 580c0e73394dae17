import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { refusedProse } from '../../scripts/lint/prose.ts';

/**
 * Texts for users. Descriptions of CRDs, help, reasons, flags, metrics and alerts are in the generated pages of
 * docs/reference, so those pages hold their sources to the same words.
 */
const TEXTS = globSync(
  [
    ...[
      'README.md',
      'SECURITY.md',
      'docs/README.md',
      'docs/{tutorials,how-to,concepts,reference,runbooks}/*.md',
    ],
    ...['charts/*/README.md', 'charts/*/templates/NOTES.txt', 'deploy/samples/*.yaml', '.github/**/*.md'],
  ],
  { cwd: REPOSITORY },
);

test('all texts for users are looked at', () => {
  expect(TEXTS.length).toBeGreaterThan(80);
});

test.for(TEXTS)('%s has no refused phrase', (path) => {
  const findings = refusedProse(readFileSync(join(REPOSITORY, path), 'utf8'));
  expect(findings.map(({ line, found, instead }) => `${path}:${line}: "${found}": ${instead}`)).toEqual([]);
});

describe('a phrase', () => {
  test.for([
    ['Somebody paused it.', 'Somebody'],
    ['The machine bills on.', 'bills on'],
    ['It is told by the status.', 'is told'],
    ['To take it away, delete it.', 'take it away'],
    ['the definitions of the chart', 'the definitions'],
  ] as const)('is refused: %s', ([text, found]) => {
    expect(refusedProse(`\n${text}\n`)).toMatchObject([{ line: 2, found }]);
  });

  test('is code in a block, a span or the target of a link', () => {
    expect(refusedProse('`nobody`\n```sh\nnobody\n```\n[x](nobody.md)\n')).toEqual([]);
  });
});
