import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ItemSplitter } from './json-items.ts';

function split(text: string, sizes: readonly number[]): { items: unknown[]; envelope: unknown } {
  const items: unknown[] = [];
  const splitter = new ItemSplitter((item) => items.push(item));
  const bytes = Buffer.from(text, 'utf8');
  let at = 0;
  for (let turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    splitter.push(bytes.subarray(at, at + size));
    at += size;
  }
  return { items, envelope: splitter.end() };
}

const leaf = fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.boolean(), fc.constant(null));
const item = fc.dictionary(fc.string(), fc.oneof(leaf, fc.array(leaf), fc.dictionary(fc.string(), leaf)));
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 10 });

test('scenario 60: property: gives the same as JSON.parse, however the bytes are cut and the keys ordered', () => {
  fc.assert(
    fc.property(
      fc.array(item, { maxLength: 6 }),
      sizes,
      fc.boolean(),
      fc.boolean(),
      (items, cut, last, spaced) => {
        const metadata = { resourceVersion: '7', continue: 'a"items":[{' };
        const list = last ? { kind: 'L', metadata, items } : { items, kind: 'L', metadata };
        const result = split(JSON.stringify(list, undefined, spaced ? 2 : undefined), cut);
        expect(result.items).toEqual(JSON.parse(JSON.stringify(items)));
        expect(result.envelope).toEqual({ kind: 'L', metadata, items: [] });
      },
    ),
    { numRuns: 500 },
  );
});

test.each([
  ['an array of another name', '{"other":[{"a":1}],"items":[{"b":2}]}', [{ b: 2 }]],
  ['an array of that name further down', '{"x":{"items":[{"a":1}]},"items":[]}', []],
  ['a list without items', '{"items":null,"metadata":{}}', []],
])('is not misled by %s', (_what, text, expected) => {
  expect(split(text, [1]).items).toEqual(expected);
});

test.each([['{"items":[{"a":1}'], ['{"items":[{"a":1}],"meta'], ['']])(
  'refuses a list that breaks off: %s',
  (text) => {
    expect(() => split(text, [3])).toThrow('breaks off');
  },
);

test('refuses an item that is no JSON', () => {
  expect(() => split('{"items":[{"a":tru}]}', [5])).toThrow('broken JSON');
});
