import { expect, test } from 'vitest';
import { routeOf } from './request-route.ts';

const serves = (group: string): boolean => group === 'default/llm' || group === 'v1/models';

test.each([
  ['/default/llm/v1/chat/completions', '/v1/chat/completions'],
  ['/default/llm/v1/models?limit=1', '/v1/models?limit=1'],
  ['/default/llm', '/'],
  ['/default/llm/', '/'],
  ['/default/llm?x=1', '/?x=1'],
])('takes the prefix of the group off %s', (path, rest) => {
  expect(routeOf({ path, authority: 'gateway:8080' }, serves)).toEqual({ group: 'default/llm', path: rest });
});

test.each(['llm.default', 'llm.default:8080', 'LLM.Default.svc.cluster.local:80', 'llm.default.example.com'])(
  'leaves the path unchanged when the host %s names the group',
  (authority) => {
    const path = '/v1/chat/completions?x=1';
    expect(routeOf({ path, authority }, serves)).toEqual({ group: 'default/llm', path });
  },
);

test('believes the path before the host', () => {
  expect(routeOf({ path: '/v1/models', authority: 'llm.default' }, serves)).toEqual({
    group: 'v1/models',
    path: '/',
  });
});

test.each([
  { path: '/default/other/v1', authority: 'gateway' },
  { path: '/default', authority: 'gateway' },
  { path: '/', authority: 'localhost:8080' },
  { path: '/default%2Fllm/v1', authority: '' },
  { path: '//default/llm', authority: '[::1]:8080' },
])('finds no group for $path at $authority', (request) => {
  expect(routeOf(request, serves)).toBeUndefined();
});
