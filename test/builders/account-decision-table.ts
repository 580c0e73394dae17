import { join } from 'node:path';
import { expect, test } from 'vitest';
import { decide } from '../../src/controllers/marketplace-account/decide.ts';
import type { Action, Decision, Observed } from '../../src/controllers/marketplace-account/types.ts';
import { goldenText } from './golden-text.ts';
import { observed } from './observed-account.ts';

/** A situation of an account in one sentence, what of it is not usual, and the acts that it leads to. */
export type AccountRow = readonly [sentence: string, situation: Partial<Observed>, acts: readonly string[]];

/**
 * Tables of what accounts decide. A row states what is done; conditions, fields and events stand in
 * `test/golden/decisions`, so that no word or number of them changes unseen.
 */
export function accountDecisionTables(name: string) {
  const golden = goldenText(join(import.meta.dirname, '..', 'golden', 'decisions', `${name}.txt`));
  const sentences: string[] = [];
  return {
    table(rows: readonly AccountRow[]): void {
      sentences.push(...rows.map(([sentence]) => sentence));
      test.each(rows)('%s', (sentence, situation, acts) => {
        const decision = decide(observed(situation));
        expect(decision.actions.map(inWords)).toEqual(acts);
        golden.expect(sentence, whole(decision));
      });
    },
    /** Call it last in the file. */
    close(): void {
      test('the golden text tells these situations and no others', () => golden.expectNoOther(sentences));
    },
  };
}

function inWords(action: Action): string {
  if (action.type === 'event') return `event ${action.reason}`;
  if (action.type === 'setReadiness') return `ready ${action.why?.reason ?? 'for rentals'}`;
  return action.type;
}

function whole({ status, actions, needsFinalizer, requeueAfterMs }: Decision): string {
  const { conditions = [], ...fields } = status;
  return [
    `looks in ${requeueAfterMs} ms; finalizer ${needsFinalizer}`,
    ...conditions.map(
      ({ type, status: is, reason, message, lastTransitionTime }) =>
        `${type} ${is} ${reason} since ${lastTransitionTime}: ${message}`,
    ),
    ...Object.entries(fields).map(([name, value]) => `field ${name}: ${JSON.stringify(value)}`),
    ...actions.map((action) => `act ${JSON.stringify(action)}`),
  ].join('\n');
}
