import { describe, expect, test } from 'vitest';
import { given, holding, intent, labelOf, listed, machineOf, row } from '../../../test/builders/observed.ts';
import { type CandidatesInput, candidatesAfter } from './candidates.ts';
import type { ListView } from './types.ts';

const viewOf = (change: Partial<ListView>): ListView => {
  const { list } = given({ list: change }).machine;
  if (!list) throw new Error('no list');
  return list;
};
const { object } = given({ intent: intent() });
const candidates = (change: Partial<CandidatesInput>) => [
  ...candidatesAfter({ known: new Map(), view: viewOf({}), object, newest: intent(), ...change }),
];
const known = new Map([['7', labelOf(1)]]);

describe('candidatesAfter', () => {
  test('contains a machine that a list shows with the label of a purchase', () => {
    const view = viewOf({ labelled: [machineOf(1, { id: '7' })] });
    expect(candidates({ view })).toEqual([['7', labelOf(1)]]);
  });

  test('keeps it when the next list lacks it', () => {
    expect(candidates({ known })).toEqual([...known]);
  });

  test('drops it when it is on record, or a machine of the history', () => {
    const recorded = given({ status: { ...holding(), instanceId: '7' } }).object;
    expect(candidates({ known, object: recorded })).toEqual([]);
    const past = { ...given().object, status: { history: [{ instanceId: '7' }] } } as typeof object;
    expect(candidates({ known, object: past })).toEqual([]);
  });

  test('ignores labels that prove nothing', () => {
    const view = viewOf({ labelled: [listed(row({ id: '7', label: 'mine' }))] });
    expect(candidates({ view })).toEqual([]);
  });

  test('contains new machines without an owner if the market returns no labels', () => {
    const view = viewOf({ unowned: [row({ id: '7' }), row({ id: '8' })], doubtful: [row({ id: '9' })] });
    const newest = { ...intent(), knownIds: ['8'] };
    expect(candidates({ view, newest }).map(([id]) => id)).toEqual(['7', '9']);
    expect(candidates({ view })).toEqual([]);
    expect(candidates({ view, newest: undefined })).toEqual([]);
  });

  test('remembers at most 16', () => {
    const labelled = Array.from({ length: 20 }, (_, id) => machineOf(1, { id: `${id}` }));
    const ids = candidates({ view: viewOf({ labelled }) }).map(([id]) => id);
    expect(ids).toEqual(Array.from({ length: 16 }, (_, id) => `${id + 4}`));
  });
});
