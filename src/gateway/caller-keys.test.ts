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
