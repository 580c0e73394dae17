import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ListHistory } from './feed-state.ts';

const REMEMBERED = 256;

/** Returns the same answers computed from the full history of lists. */
function model(lists: readonly (readonly string[])[]) {
  const begun = lists.map((_, index) => index * 10);
  return {
    absences: (id: string) => {
      const since = lists.findLastIndex((ids) => ids.includes(id)) + 1;
      return begun.slice(Math.max(since, lists.length - REMEMBERED));
    },
    begunSince: (time: number) =>
      begun.filter((at, index) => at >= time && (index === 0 || index >= lists.length - REMEMBERED)),
  };
}

test('a history answers as if it remembered everything, cut to the first list and the latest ones', () => {
  const list = fc.uniqueArray(fc.constantFrom('1', '2', '3', '4'));
  const run = fc.tuple(list, fc.integer({ min: 1, max: 300 }));
  fc.assert(
    fc.property(fc.array(run, { maxLength: 5 }), (runs) => {
      const lists = runs.flatMap(([ids, times]) => Array.from({ length: times }, () => ids));
      const history = new ListHistory();
      for (const [index, ids] of lists.entries()) history.record(index * 10, ids);
      const expected = model(lists);
      for (const id of ['1', '2', '3', '4']) expect(history.absences(id)).toEqual(expected.absences(id));
      for (const time of [0, 5, lists.length * 10 - 20]) {
        expect(history.begunSince(time)).toEqual(expected.begunSince(time));
      }
    }),
    { numRuns: 60 },
  );
});

test('a machine that every list names is absent from none, however long it is there', () => {
  const history = new ListHistory();
  for (let index = 0; index < 3 * REMEMBERED; index++) {
    history.record(index, ['7']);
    expect(history.absences('7')).toEqual([]);
  }
});
