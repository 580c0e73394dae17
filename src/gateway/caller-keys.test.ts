import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { callerKeys } from './caller-keys.ts';

const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');

const keys = callerKeys(
  new Map([
    ['alice', `${hashOf('a-old')}\n${hashOf('a-new').toUpperCase()}\n`],
    ['bob', hashOf('b')],
    ['README', 'no hash'],
  ]),
);

test.each([
  ['Bearer a-old', 'alice'],
  ['bearer  a-new ', 'alice'],
  ['Bearer b', 'bob'],
  ['Bearer c', undefined],
  [`Bearer ${hashOf('b')}`, undefined],
  ['Basic b', undefined],
  ['', undefined],
  [undefined, undefined],
])('takes %s for %s', (authorization, caller) => {
  expect(keys.callerOf(authorization)).toBe(caller);
});

test('accepts hashes as sha256sum prints them', () => {
  const printed = callerKeys(
    new Map([
      ['alice', `${hashOf('a')}  -\n`],
      ['bob', `sha256:${hashOf('b')}`],
    ]),
  );
  expect([printed.callerOf('Bearer a'), printed.callerOf('Bearer b')]).toEqual(['alice', 'bob']);
  expect(printed).toMatchObject({ isUsable: true, unusable: [] });
});

test('B09: names callers with a line that is no SHA-256, and accepts no plain key', () => {
  expect(keys).toMatchObject({ isUsable: true, unusable: ['README'] });
  const plain = callerKeys(
    new Map([
      ['alice', 'plain-key'],
      ['empty', ''],
    ]),
  );
  expect(plain).toMatchObject({ isUsable: false, unusable: ['alice'] });
  expect(plain.callerOf('Bearer plain-key')).toBeUndefined();
});
