import { join } from 'node:path';
import { expect, test } from 'vitest';
import { decide } from '../../src/controllers/gpu-instance/decide.ts';
import { goldenText } from './golden-text.ts';
import { type Given, given } from './observed.ts';
import { outline } from './outline.ts';
import { wholeDecision } from './whole-decision.ts';

/** One sentence, what is given, and the decision in outline. */
export type DecisionRow = readonly [sentence: string, situation: Given, expected: Record<string, unknown>];

/**
 * Tables of decisions. A row states what matters; all that the decision says besides, to people and in fields,
 * stands in `test/golden/decisions`, so that no word of it changes unseen.
 */
export function decisionTables(name: string, always: Given = {}) {
  const golden = goldenText(join(import.meta.dirname, '..', 'golden', 'decisions', `${name}.txt`));
  const sentences: string[] = [];
  return {
    table(rows: readonly DecisionRow[]): void {
      sentences.push(...rows.map(([sentence]) => sentence));
      test.each(rows)('%s', (sentence, situation, expected) => {
        const observed = given({ ...always, ...situation });
        const step = decide(observed);
        expect(outline(step)).toEqual(expected);
        golden.expect(sentence, wholeDecision(step, observed.object.status));
      });
    },
    /** Call it last in the file. */
    close(): void {
      test('the golden text tells these situations and no others', () => golden.expectNoOther(sentences));
    },
  };
}
