import { expect, test } from 'vitest';
import { parseBaseUrl } from './call.ts';

test.each([
  ['https://market.example', 'https://market.example', ''],
  ['https://market.example/', 'https://market.example', ''],
  ['http://127.0.0.1:8080/api//', 'http://127.0.0.1:8080', '/api'],
])('%s leads to %s', (text, origin, prefix) => {
  expect(parseBaseUrl(text)).toEqual({ origin, prefix });
});

test.each([
  ['market.example', /http or https/],
  ['file:///etc/passwd', /http or https/],
  ['https://user@market.example', /user name or password/],
  ['https://:word@market.example', /user name or password/],
  ['https://market.example/?key=1', /query or a fragment/],
  ['https://market.example/#top', /query or a fragment/],
])('%s is no address of a marketplace', (text, why) => {
  expect(() => parseBaseUrl(text)).toThrow(why);
});
