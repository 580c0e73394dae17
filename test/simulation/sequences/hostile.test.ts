import { describe, expect, test } from 'vitest';
import { HOSTILE_TEXTS, playHostile } from './hostile.ts';
import { editedOf, SUBJECTS } from './subjects.ts';

const TEXTS = Object.values(HOSTILE_TEXTS);
/** `MODE=sequences make simulate` writes each text into each field. */
const ROUNDS = [0, 8];

describe.for(SUBJECTS)('hostile texts in $plural', (subject) => {
  test.for(ROUNDS)(
    'harm only the object that holds them, allotted from %i (C1)',
    async (round) => {
      const edited = editedOf(subject);
      const textOf = (at: number) => TEXTS[(at + round) % TEXTS.length] ?? '';
      const { problems, taken, refused } = await playHostile(edited, textOf);
      expect(problems).toEqual([]);
      expect(taken).toBeGreaterThan(15);
      expect(refused).toBeGreaterThan(3);
    },
    120_000,
  );
});
