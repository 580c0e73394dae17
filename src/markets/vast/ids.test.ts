import { describe, expect, test } from 'vitest';
import { compareIds } from '../../market/ids.ts';
import { pathId, toId, toOptionalWireId, toWireId } from './ids.ts';

describe('an id', () => {
  test('is text here, and the same number on the wire', () => {
    expect([toId(0), toId(4711), toId(undefined)]).toEqual(['0', '4711', undefined]);
    expect([toWireId('0', 'instanceId'), toWireId('4711', 'instanceId')]).toEqual([0, 4711]);
    expect(pathId('4711', 'instanceId')).toBe('4711');
  });

  test('stays left out where it may be', () => {
    expect(toOptionalWireId<undefined>(undefined, 'templateId')).toBeUndefined();
    expect(toOptionalWireId<null>(null, 'templateId')).toBeNull();
    expect(toOptionalWireId<undefined>('3', 'templateId')).toBe(3);
  });

  test.each(['', ' 1', '01', '-1', '1.5', '1e3', 'i-0abc', '../1', '9007199254740993'])(
    'that this marketplace does not use is refused with its field: %j',
    (id) => {
      const refused = { kind: 'invalidRequest', outcome: 'refused' };
      expect(() => toWireId(id, 'instanceId')).toThrow(expect.objectContaining(refused));
      expect(() => pathId(id, 'offerId')).toThrow(`offerId ${JSON.stringify(id)}`);
    },
  );
});

test('ids are ordered as their numbers are, and any others in a fixed order', () => {
  expect(['100', '9', '10', '9'].toSorted(compareIds)).toEqual(['9', '9', '10', '100']);
  expect(['b1', 'a2', 'a1'].toSorted(compareIds)).toEqual(['a1', 'a2', 'b1']);
});
