import { expect, test } from 'vitest';
import { leadTo } from './open-page.ts';

test('the document leads to the URL with its token', () => {
  expect(leadTo('http://127.0.0.1:8090/#a-B_9')).toContain('content="0; url=http://127.0.0.1:8090/#a-B_9"');
});

test.each(['http://127.0.0.1/"><script>', 'javascript:alert(1)', 'http://127.0.0.1/\n'])(
  '%j is refused',
  (url) => {
    expect(() => leadTo(url)).toThrow('cannot be in a document');
  },
);
