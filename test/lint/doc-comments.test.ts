import { describe, expect, test } from 'vitest';
import {
  docCommentsOf,
  messagesOf,
  refusedInComment,
  refusedInMessage,
} from '../../scripts/lint/doc-comments.ts';

const foundIn = (text: string, of: 'function' | 'other') =>
  refusedInComment(text, of).map(({ found }) => found);

describe('first word of a doc comment', () => {
  test.each([
    ['What a machine costs.', 'What'],
    ['Whether the machine runs.', 'Whether'],
    ['Of the newest list.', 'Of'],
    ['One that nothing claims.', 'One'],
  ])('is refused as a clause without subject: %s', (text, found) => {
    expect(foundIn(text, 'other')).toEqual([found]);
    expect(foundIn(text, 'function')).toEqual([found]);
  });

  test.each(['The cost of a machine.', 'Ids of the listed machines.', 'True if the machine runs.'])(
    'is a noun for a value and refused for a function: %s',
    (text) => {
      expect(foundIn(text, 'other')).toEqual([]);
      expect(foundIn(text, 'function')).toHaveLength(1);
    },
  );

  test.each(['Returns the cost of a machine.', 'Throws a RangeError.', '`Rented` of {@link Rule}.'])(
    'is accepted for a function: %s',
    (text) => {
      expect(foundIn(text, 'function')).toEqual([]);
    },
  );
});

describe('phrases', () => {
  test.each([
    ['Returns the price; undefined where there is none.', 'undefined where'],
    ['Returns true if the account is asked again.', 'is asked'],
    ['Counts machines of ours.', 'of ours'],
    ['Sends what it is.', 'what it is'],
    ['Runs if nobody stops it.', 'nobody'],
  ])('refuses in %s: %s', (text, found) => {
    expect(foundIn(text, 'function')).toContain(found);
    expect(refusedInMessage(text).map((finding) => finding.found)).toContain(found);
  });

  test('reports the line within the text', () => {
    expect(refusedInMessage('First line.\nThe key is told.')).toMatchObject([{ line: 2 }, { line: 2 }]);
  });

  test('skips code', () => {
    expect(foundIn('Returns `nobody` and `what it is`.', 'function')).toEqual([]);
  });
});

describe('source', () => {
  test.each([
    ['export function run(): void {', 'function'],
    ['async function* pages() {', 'function'],
    ['const isBad = ({ state }: Row): boolean => state;', 'function'],
    ['const twice = (run: () => void) => run();', 'function'],
    ['  get(uid: string): Summary;', 'function'],
    ['  async *pages<T>(from: T) {', 'function'],
    ['  get size(): number {', 'other'],
    ['  readonly run: () => void;', 'other'],
    ['const MAX = 5;', 'other'],
    ['export interface Row {', 'other'],
  ])('documents by %s a %s', (declaration, of) => {
    expect(docCommentsOf(`/** Text. */\n${declaration}\n`)).toEqual([{ line: 1, text: 'Text.', of }]);
  });

  test('joins the lines of a comment without asterisks', () => {
    expect(docCommentsOf('const a = 1;\n/**\n * One.\n * Two.\n */\nconst b = 2;\n')).toEqual([
      { line: 2, text: 'One.\nTwo.', of: 'other' },
    ]);
  });

  test('holds sentences in literals, and neither names nor comments', () => {
    const source = `// A comment isn't a message.
const a = ['one', 'The key was refused again.', \`It is \${b} in all.\`];`;
    expect(messagesOf(source).map(({ text }) => text)).toEqual([
      'The key was refused again.',
      'It is X in all.',
    ]);
  });
});
