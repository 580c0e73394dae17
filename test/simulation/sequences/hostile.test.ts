import { describe, expect, test } from 'vitest';
import { HOSTILE_TEXTS, playHostile } from './hostile.ts';
import { editedOf, SUBJECTS } from './subjects.ts';

const TEXTS = Object.values(HOSTILE_TEXTS);
/** Assignments of texts to fields; `MODE=sequences make simulate` writes each text into each field. */
const ALLOTMENTS: readonly (readonly [string, (at: number) => string])[] = [
  ['a newline in every field', () => HOSTILE_TEXTS['newline'] ?? ''],
  ['all of them in turn', (at) => TEXTS[(at + 8) % TEXTS.length] ?? ''],
];

describe.for(SUBJECTS)('hostile texts in $plural', (subject) => {
  test.for(ALLOTMENTS)(
    'harm only the object that holds them: %s (C1)',
    { timeout: 180_000 },
    async ([, textOf]) => {
      const { problems, taken, refused } = await playHostile(editedOf(subject), textOf);
      expect(problems).toEqual([]);
      expect(taken).toBeGreaterThan(15);
      expect(refused).toBeGreaterThan(3);
    },
  );
});
