import { expect, test } from 'vitest';
import { accountKey, accountRefOf } from './account-ref.ts';

const metadata = { namespace: 'team' };

test('resolves a reference without a namespace in the namespace of the object', () => {
  const spec = { accountRef: { name: 'default' } };
  expect(accountRefOf({ spec, metadata })).toEqual({ namespace: 'team', name: 'default' });
});

test('keeps the namespace that a reference names', () => {
  const spec = { accountRef: { name: 'shared', namespace: 'platform' } };
  expect(accountKey(accountRefOf({ spec, metadata }))).toBe('platform/shared');
});

test('leaves the namespace empty when neither the reference nor the object has one', () => {
  const spec = { accountRef: { name: 'default' } };
  expect(accountRefOf({ spec, metadata: {} })).toEqual({ namespace: '', name: 'default' });
});
