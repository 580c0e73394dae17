import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  brokenTransfers,
  cyclesOf,
  folderDependencies,
  leafTransfers,
  mutualPairs,
  namesOnWalk,
  quantile,
  readSource,
  readSources,
} from '../../scripts/shape/measure.ts';
import { RENTAL_PATH } from '../../scripts/shape/rental-path.ts';

const TEXT = `import { other } from '../lib/other.ts';

export function open(): void {
  once();
  twice();
  twice();
}

function once(): void {
  once();
}

function twice(): void {}

class Box {
  #only = () => other();
  run(): void {
    this.#only();
  }
}
`;

describe('the shape of a file', () => {
  const file = readSource('cli/a.ts', TEXT);
  const named = (name: string) => file.functions.find((one) => one.name === name);

  test('counts lines and imports', () => {
    expect(file).toMatchObject({ lines: 20, imports: ['lib/other.ts'] });
  });

  test.each([
    ['open', { line: 3, lines: 5, isPrivate: false }],
    ['once', { lines: 3, isPrivate: true, hasSingleCaller: true }],
    ['twice', { lines: 1, isPrivate: true, hasSingleCaller: false }],
    ['#only', { isPrivate: true, hasSingleCaller: true }],
    ['run', { isPrivate: false }],
  ])('measures the function %s', (name, shape) => {
    expect(named(name)).toMatchObject(shape);
  });

  test('finds functions that take a whole observation, and not those that take a part', () => {
    const text = `export function all({ memory }: Facts): void {}
function part(facts: Pick<Facts, 'memory'>): void {}
const seen = (observed: Observed, id: string): void => part(observed);
`;
    expect(readSource('cli/b.ts', text).wholeTakers).toEqual([
      'src/cli/b.ts:1 all',
      'src/cli/b.ts:3 function without a name',
    ]);
  });

  test('counts each name once that a reader meets from a type on', () => {
    const files = [
      readSource('cli/b.ts', 'interface Top extends Base { readonly one: Leaf; readonly id: string }'),
      readSource('cli/c.ts', 'interface Base { readonly two: number }\ntype Leaf = { readonly id: string };'),
      readSource('cli/d.ts', 'interface Other { readonly three: Top }'),
    ];
    expect(namesOnWalk(files, 'Top').toSorted()).toEqual(['id', 'one', 'two']);
  });

  test('names the rows of a path that no longer hold', () => {
    const files = [file, readSource('lib/other.ts', 'export const other = () => 1;\n')];
    const path = [
      ['cli/a.ts', 'lib/other.ts', 'other'],
      ['cli/a.ts', 'lib/other.ts', 'gone'],
      ['cli/a.ts', 'lib/gone.ts', 'other'],
    ] as const;
    expect(brokenTransfers(files, path)).toEqual([
      'cli/a.ts → lib/other.ts (gone)',
      'cli/a.ts → lib/gone.ts (other)',
    ]);
  });
});

test('finds folders that import each other', () => {
  const files = [
    readSource('cli/a.ts', "import type { b } from '../lib/b.ts';"),
    readSource('lib/b.ts', "export { a } from '../controllers/x/a.ts';"),
    readSource('controllers/x/a.ts', "import { a } from '../../cli/a.ts';"),
    readSource('controllers/y/a.ts', "import { b } from '../../lib/b.ts';"),
  ];
  expect(cyclesOf(folderDependencies(files))).toEqual([['cli', 'controllers/x', 'lib']]);
});

describe('the mutual pairs of sub-folders', () => {
  const file = (path: string, ...imports: readonly string[]) =>
    readSource(path, imports.map((name) => `import '${name}';`).join('\n'));

  test('are folders inside the same one that import each other, with the imports to turn round', () => {
    const files = [
      file('cli/options/a.ts', '../output/b.ts'),
      file('cli/options/c.ts', '../output/b.ts'),
      file('cli/output/b.ts', '../options/deep/d.ts'),
      file('cli/options/deep/d.ts', '../../../lib/e.ts'),
    ];
    expect(mutualPairs(files)).toEqual([
      { folders: ['cli/options', 'cli/output'], imports: ['cli/output/b.ts → cli/options/deep/d.ts'] },
    ]);
  });

  test.each([
    ['one way only', [file('a/b/c.ts', '../d/e.ts'), file('a/d/e.ts')]],
    ['a folder and files beside it', [file('a/b/c.ts', '../e.ts'), file('a/e.ts', './b/c.ts')]],
    ['layers', [file('a/b.ts', '../c/d.ts'), file('c/d.ts', '../a/b.ts')]],
    ['files of one folder', [file('a/b.ts', './c.ts'), file('a/c.ts', './b.ts')]],
  ])('are not %s', (_, files) => {
    expect(mutualPairs(files)).toEqual([]);
  });

  test('do not exist in the sources: move what both need above them', () => {
    expect(mutualPairs(readSources(new URL('../..', import.meta.url).pathname))).toEqual([]);
  });
});

test('takes the lower of two middle values as the median', () => {
  expect(quantile([4, 1, 3, 2], 0.5)).toBe(2);
});

test('counts the calls of a path that go no further as leaves', () => {
  const path = [
    ['a.ts', 'b.ts', 'b'],
    ['b.ts', 'c.ts', 'c'],
    ['a.ts', 'c.ts', 'd'],
  ] as const;
  expect(leafTransfers(path)).toBe(2);
});

test('draws every file of the rental path in the architecture page', () => {
  const page = readFileSync(new URL('../../docs/internals/architecture.md', import.meta.url), 'utf8');
  const diagram = /```mermaid\n(flowchart TD.*?)```/s.exec(page)?.[1] ?? '';
  const files = new Set(RENTAL_PATH.flatMap((row) => row.slice(0, 2)));
  const names = [...files].map((file) => file.replace('controllers/gpu-instance/', ''));
  expect(names.filter((name) => !diagram.includes(name))).toEqual([]);
});

test('declares only calls of the rental path that the sources make', () => {
  const root = new URL('../..', import.meta.url).pathname;
  expect(brokenTransfers(readSources(root), RENTAL_PATH)).toEqual([]);
});
