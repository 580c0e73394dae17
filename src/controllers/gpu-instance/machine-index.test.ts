import { describe, expect, test } from 'vitest';
import { ALL_AGREE, at, identity, LOGIN, labelOf, row, UID } from '../../../test/builders/observed.ts';
import type { MachineRow } from '../../market/machine.ts';
import { defaultConstants } from '../../ownership/constants.ts';
import { MachineIndex } from './memory.ts';

const session = { identity, login: LOGIN, agreement: () => ALL_AGREE };
const listOf = (...rows: readonly MachineRow[]) => ({
  begunAt: at(-3),
  endedAt: at(-1),
  rows: new Map(rows.map((each) => [each.id, each])),
});

describe('machines by the uid in their label', () => {
  const index = new MachineIndex(defaultConstants);
  const ids = (list: ReturnType<typeof listOf>, uid: string) =>
    index.labelled(session, list, uid).map(({ row: { id } }) => id);

  test('are those of each object, the oldest id first', () => {
    const rows = ['9', '4', '6'].map((id) => row({ id, label: labelOf(1) }));
    const list = listOf(...rows, row({ id: '5', label: labelOf(1, undefined, 'abc') }), row({ id: '1' }));
    expect(ids(list, UID)).toEqual(['4', '6', '9']);
    expect(ids(list, 'abc')).toEqual(['5']);
    expect(ids(list, 'def')).toEqual([]);
  });

  test('are returned with what their label proves', () => {
    const list = listOf(
      row({ id: '1', label: labelOf(2) }),
      row({ id: '2', label: labelOf(2), startedAt: undefined }),
      row({ id: '3', label: labelOf(2), startedAt: at(-9_000) }),
      row({ id: '4', label: `${labelOf(2)}0` }),
    );
    const told = index.labelled(session, list, UID).map(({ ownership }) => ownership.type);
    expect(told).toEqual(['labelled', 'undated', 'labelCopied']);
  });

  test('are those of the list that is asked about', () => {
    const older = listOf(row({ id: '1', label: labelOf(1) }));
    const newer = listOf(row({ id: '2', label: labelOf(1) }));
    expect([ids(older, UID), ids(newer, UID), ids(older, UID)]).toEqual([['1'], ['2'], ['1']]);
  });

  test('are worked out once per list, however many objects ask', () => {
    let read = 0;
    const list = listOf(row({ label: labelOf(1) }));
    list.rows.values = () => {
      read++;
      return Map.prototype.values.call(list.rows);
    };
    for (const uid of [UID, 'abc', 'def', UID]) index.labelled(session, list, uid);
    expect(read).toBe(1);
  });
});
