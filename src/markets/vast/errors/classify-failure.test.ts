import { expect, test } from 'vitest';
import { classifyFailure } from './classify-failure.ts';

const NOW = Date.UTC(2026, 10, 21, 13);
const context = { operation: 'try a call', area: 'any', effect: 'read', now: NOW } as const;

test.for([
  ['12', 12_000],
  ['86400', 86_400_000],
  ['86401', 86_400_000],
  ['1e306', 86_400_000],
  ['-1', undefined],
  ['soon', undefined],
  ['Sat, 21 Nov 2026 13:00:30 GMT', 30_000],
  ['Sat, 21 Nov 2026 12:00:00 GMT', 0],
  ['Fri, 31 Dec 2100 23:59:59 GMT', 86_400_000],
] as const)('Retry-After "%s" is a rest of %s ms, and never of more than a day', ([header, rest]) => {
  const reply = { status: 429, headers: { 'retry-after': header }, body: 'slow down' };
  expect(classifyFailure(reply, context).retryAfterMs).toBe(rest);
});

test.for([
  ['Bad API key', 'unauthorized'],
  ['', 'unauthorized'],
  ['no_such_instance', 'unauthorized'],
  ['Session expired. Please log in again.', 'sessionExpired'],
  ['Two Factor Authentication is required', 'twoFactorRequired'],
] as const)(
  'classifies 404 auth_error with the words "%s" as %s, never as gone (S7, D-cl1, scenario 19)',
  ([msg, kind]) => {
    const reply = { status: 404, headers: {}, body: JSON.stringify({ error: 'auth_error', msg }) };
    for (const area of ['any', 'instances', 'rent', 'search', 'account', 'groups'] as const)
      for (const effect of ['read', 'write'] as const)
        expect(classifyFailure(reply, { ...context, area, effect })).toMatchObject({
          kind,
          outcome: 'refused',
        });
  },
);

test('classifies 404 with another code by its status', () => {
  const reply = { status: 404, headers: {}, body: JSON.stringify({ error: 'no_such_thing', msg: 'gone' }) };
  expect(classifyFailure(reply, context).kind).toBe('notFound');
});
