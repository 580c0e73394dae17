import { join } from 'node:path';
import { expect, test } from 'vitest';
import { contradictions } from '../status-contract/contract.ts';
import { goldenText } from './golden-text.ts';

/** Result of a situation: the outline that its row states, and the full text. */
interface Judged<Outline> {
  readonly outline: Outline;
  readonly text: string;
  readonly conditions: Parameters<typeof contradictions>[0];
}

/**
 * Builds tables of decisions: a situation in one sentence, its unusual parts, and the relevant result. The full text
 * is in `test/golden/decisions/<name>.txt`, so that no word or number changes unnoticed.
 */
export function goldenTables<Situation, Outline>(
  name: string,
  judge: (situation: Situation) => Judged<Outline>,
) {
  const golden = goldenText(join(import.meta.dirname, '..', 'golden', 'decisions', `${name}.txt`));
  const sentences: string[] = [];
  return {
    table(rows: readonly (readonly [sentence: string, situation: Situation, expected: Outline])[]): void {
      sentences.push(...rows.map(([sentence]) => sentence));
      test.each(rows)('%s', (sentence, situation, expected) => {
        const { outline, text, conditions } = judge(situation);
        expect(outline).toEqual(expected);
        expect(contradictions(conditions)).toEqual([]);
        golden.expect(sentence, text);
      });
    },
    /** Checks for stale entries. Call it last in the file. */
    close(): void {
      test('the golden text tells these situations and no others', () => golden.expectNoOther(sentences));
    },
  };
}
