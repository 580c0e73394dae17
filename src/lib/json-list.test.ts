import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonListError, JsonListSplitter } from './json-list.ts';

function split(text: string, sizes: readonly number[]): { items: unknown[]; envelope: unknown } {
  const items: unknown[] = [];
  const onItem = (item: Buffer) => items.push(JSON.parse(item.toString('utf8')));
  const splitter = new JsonListSplitter({ key: 'items', onItem });
  const bytes = Buffer.from(text, 'utf8');
  let at = 0;
  for (let turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    splitter.push(bytes.subarray(at, at + size));
    at += size;
  }
  return { items, envelope: JSON.parse(splitter.end().toString('utf8')) };
}

const leaf = fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.boolean(), fc.constant(null));
const item = fc.dictionary(fc.string(), fc.oneof(leaf, fc.array(leaf), fc.dictionary(fc.string(), leaf)));
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 10 });

test('scenario 60: property: gives the same as JSON.parse, however the bytes are cut and the keys ordered', {
  tags: 'long',
}, () => {
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

test('property: gives the same as JSON.parse when strings are longer than chunks', { tags: 'long' }, () => {
  const piece = fc.oneof(
    fc.constantFrom('"', '\\', '}', ']', ',', 'ä'),
    fc.nat(9000).map((length) => 'x'.repeat(length)),
  );
  const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''));
  const chunks = fc.array(fc.integer({ min: 1, max: 7000 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.array(fc.record({ a: text, b: text }), { maxLength: 4 }), chunks, (items, cut) => {
      expect(split(JSON.stringify({ items }), cut).items).toEqual(items);
    }),
  );
});

test('property: what is read without an error is what JSON.parse reads, whatever was done to the bytes', {
  tags: 'long',
}, () => {
  const edit = fc.record({
    at: fc.nat(),
    cut: fc.nat(3),
    paste: fc.constantFrom('', ',', '{}', ']', '}', '"', '1', '\\'),
  });
  fc.assert(
    fc.property(
      fc.array(item, { maxLength: 4 }),
      fc.array(edit, { maxLength: 2 }),
      sizes,
      (items, edits, cut) => {
        let text = JSON.stringify({ kind: 'L', items, found: items.length });
        for (const { at, cut: length, paste } of edits) {
          const from = at % (text.length + 1);
          text = text.slice(0, from) + paste + text.slice(from + length);
        }
        const result = readable(() => split(text, cut));
        if (!result) return;
        const whole = JSON.parse(Buffer.from(text).toString('utf8'));
        // The value of the key may be no list; then nothing was cut out.
        if (result.items.length === 0) expect(result.envelope).toEqual(whole);
        else expect(result).toEqual({ items: whole.items, envelope: { ...whole, items: [] } });
      },
    ),
    { numRuns: 500 },
  );
});

function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof JsonListError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

test.each([
  ['an array of another name', '{"other":[{"a":1}],"items":[{"b":2}]}', [{ b: 2 }]],
  ['an array of that name further down', '{"x":{"items":[{"a":1}]},"items":[]}', []],
  ['a name that ends in that name', '{"a\\"items":[{"a":1}]}', []],
  ['a list without items', '{"items":null,"metadata":{}}', []],
])('is not misled by %s', (_what, text, expected) => {
  expect(split(text, [1]).items).toEqual(expected);
});

test.each([
  ['a list that breaks off in an item', '{"items":[{"a":1}', 'breaks off'],
  ['a list that breaks off behind the items', '{"items":[{"a":1}],"meta', 'breaks off'],
  ['nothing', '', 'breaks off'],
  ['two items without a comma', '{"items":[{"a":1}{"b":2}]}', 'not an object'],
  ['two commas', '{"items":[{"a":1},,{"b":2}]}', 'not an object'],
  ['a comma before the first item', '{"items":[,{"a":1}]}', 'not an object'],
  ['a comma behind the last item', '{"items":[{"a":1},]}', 'not an object'],
  ['a number among the items', '{"items":[{"a":1},7,{"b":2}]}', 'not an object'],
  ['null instead of an item', '{"items":[null]}', 'not an object'],
  ['text instead of an item', '{"items":["{}"]}', 'not an object'],
  ['the list twice', '{"items":[{"a":1}],"items":[{"b":2}]}', 'twice'],
])('refuses %s', (_what, text, why) => {
  expect(() => split(text, [3])).toThrow(JsonListError);
  expect(() => split(text, [3])).toThrow(why);
});
