import { describe, expect, test } from 'vitest';
import { refusedInName, refusedInTitle } from '../../scripts/lint/vocabulary.ts';

const wordsOf = (refused: readonly { readonly word: string }[]) => refused.map(({ word }) => word);

describe('refused words of names', () => {
  test.each([
    ['wordOf', ['word']],
    ['#tellNews', ['tell', 'news']],
    ['left-over-deeds', ['deeds']],
    ['MOST_LOOKS', ['most', 'looks']],
    ['LONGEST_WAIT_MS', ['longest']],
  ])('finds in %s: %j', (name, words) => {
    expect(wordsOf(refusedInName(name))).toEqual(words);
  });

  test.each(['keywords', 'lookup', 'foretold', 'mostRecent', 'MAX_WAIT_MS', 'requeueAfterMs'])(
    'finds none in %s',
    (name) => {
      expect(refusedInName(name)).toEqual([]);
    },
  );
});

describe('refused words of titles', () => {
  test.each([
    ['is told of each change', ['told']],
    ['Nobody shall wait', ['nobody', 'shall']],
  ])('finds in "%s": %j', (title, words) => {
    expect(wordsOf(refusedInTitle(title))).toEqual(words);
  });

  test.each(['reports a machine whose price changed', 'accepts the reason `Held`'])(
    'finds none in "%s"',
    (title) => {
      expect(refusedInTitle(title)).toEqual([]);
    },
  );
});
