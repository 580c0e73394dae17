import { expect, test } from 'vitest';
import { PRIVATE_HEADERS, SESSION_HEADERS } from './request-notes.ts';

test.each([
  ...[
    'x-forwarded-for',
    'x-real-ip',
    'forwarded',
    'via',
    'x-client-ip',
    'true-client-ip',
    'cf-connecting-ip',
  ],
  ...['x-gateway-cluster', 'x-gateway-retry', 'x-gpurental-work', 'x-gpurental-session'],
])('M7: %s stops at the gateway', (header) => {
  expect(PRIVATE_HEADERS).toContain(header);
});

test('a session that the client names for its worker too reaches it', () => {
  expect(PRIVATE_HEADERS).not.toContain(SESSION_HEADERS[1]);
});
