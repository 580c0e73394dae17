import { expect, test } from 'vitest';
import { at, identity, labelOf, UID } from '../../test/builders/observed.ts';
import { defaultConstants } from '../ownership/constants.ts';
import { makeRetainedLabel } from '../ownership/label.ts';
import { echoOf, echoOfRows, firstEcho } from './feed-observer.ts';

const ours = labelOf(1);
type Rows = readonly {
  readonly id: string;
  readonly label: string | null | undefined;
  readonly startedAt?: number;
}[];

test.for<readonly [string, Rows, string]>([
  ['nothing', [], 'unknown'],
  [
    'a label of ours, beside machines of others',
    [
      { id: '9', label: null },
      { id: '1', label: ours },
    ],
    'echoed',
  ],
  [
    'a recorded machine without a label, beside machines of others',
    [
      { id: '9', label: null },
      { id: '1', label: null },
    ],
    'notEchoed',
  ],
  [
    'a label that the rental of its machine sent',
    [{ id: '1', label: labelOf(1, at(-301)), startedAt: at(-300) }],
    'echoed',
  ],
  [
    'a label of ours that a machine got after its rental',
    [{ id: '9', label: labelOf(1, at(-301)), startedAt: at(-90_000) }],
    'unknown',
  ],
  [
    'the label by which a machine was kept',
    [
      {
        id: '9',
        label: makeRetainedLabel(identity, { uid: UID, attempt: 1, issuedAt: at(-301) }),
        startedAt: at(-300),
      },
    ],
    'unknown',
  ],
  ['a recorded machine of a service that has no labels', [{ id: '1', label: undefined }], 'notEchoed'],
  ['a machine without a label that nobody recorded', [{ id: '9', label: null }], 'unknown'],
  ['a recorded machine that a person labelled', [{ id: '1', label: 'mine' }], 'unknown'],
  ['a recorded machine whose label was emptied', [{ id: '1', label: '' }], 'unknown'],
  ['a label of ours that was cut', [{ id: '9', label: ours.slice(0, 50) }], 'unknown'],
  [
    'both a label of ours and a recorded machine without one',
    [
      { id: '1', label: null },
      { id: '2', label: ours },
    ],
    'echoed',
  ],
])('a list with %s', ([, rows, echo]) => {
  const listed = rows.map((row) => ({ startedAt: undefined, ...row }));
  expect(echoOfRows(listed, new Set(['1']), { identity, constants: defaultConstants })).toBe(echo);
});

test('what a status remembers is believed', () => {
  expect([echoOf(undefined), echoOf(true), echoOf(false)]).toEqual(['unknown', 'echoed', 'notEchoed']);
});

test.each([
  ['always', false, 'echoed'],
  ['never', true, 'notEchoed'],
  ['observe', undefined, 'unknown'],
  ['observe', true, 'echoed'],
  ['observe', false, 'notEchoed'],
] as const)(
  'a market that keeps labels %s, with %s in the status, begins with %s',
  (kept, remembered, echo) => {
    expect(firstEcho(kept, remembered)).toBe(echo);
  },
);
