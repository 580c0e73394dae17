import { expect, test } from 'vitest';
import { type BootstrapOptions, envoyBootstrap } from './envoy-config.ts';
import { PRIVATE_HEADERS } from './request-notes.ts';

const MIB = 2 ** 20;
const PLACE = { host: '127.0.0.1', port: 1 };

/** Returns all values of a key in the configuration, in the order of the text. */
function all(name: string, options: Partial<BootstrapOptions> = {}): readonly unknown[] {
  const found: unknown[] = [];
  const search = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, own] of Object.entries(value)) {
      if (key === name) found.push(own);
      search(own);
    }
  };
  search(JSON.parse(envoyBootstrap({ listen: PLACE, picker: PLACE, ...options })));
  return found;
}

interface Action {
  readonly name: string;
  readonly triggers: readonly {
    readonly threshold?: { readonly value: number };
    readonly scaled?: { readonly scaling_threshold: number };
  }[];
}

/** Returns the share of the heap at which Envoy starts an action. */
function beginOf(name: string): number {
  const [actions] = all('actions') as [readonly Action[]];
  const trigger = actions.find((action) => action.name.endsWith(name))?.triggers[0];
  return trigger?.threshold?.value ?? trigger?.scaled?.scaling_threshold ?? Number.NaN;
}

test('A5: sheds what costs least first, and resets requests under way last', () => {
  const order = [
    ...['reduce_timeouts', 'shrink_heap', 'disable_http_keepalive', 'stop_accepting_requests'],
    ...['stop_accepting_connections', 'reset_high_memory_stream'],
  ];
  const begins = order.map(beginOf);
  expect(begins).toEqual(begins.toSorted((one, other) => one - other));
  expect(begins.every((begin) => begin > 0.5 && begin < 1)).toBe(true);
});

test('A5: bounds the heap within the memory of its container, and each buffer', () => {
  expect(all('max_heap_size_bytes')).toEqual([384 * MIB]);
  expect(all('max_heap_size_bytes', { maxHeapBytes: 96 * MIB })).toEqual([96 * MIB]);
  expect(all('per_connection_buffer_limit_bytes')).toEqual([128 * 1024]);
  expect(all('initial_stream_window_size')).toEqual([128 * 1024]);
});

test('A6: gives one HTTP/2 connection of a client few streams', () => {
  const [ofClients] = all('http2_protocol_options') as [{ readonly max_concurrent_streams: number }];
  expect(ofClients.max_concurrent_streams).toBe(100);
});

test('A14: closes idle connections of clients after the time that is set', () => {
  expect(all('common_http_protocol_options')).toEqual([{ idle_timeout: '300s' }]);
  expect(all('common_http_protocol_options', { idleTimeoutMs: 1_500 })).toEqual([{ idle_timeout: '1.5s' }]);
});

test('M4: accepts HTTP/1.0', () => {
  expect(all('accept_http_10')).toEqual([true]);
});

test('M7: removes what clients say for Envoy, and what workers are not to see', () => {
  expect(all('prefix').slice(0, 2)).toEqual(['x-envoy-', 'x-gateway-']);
  expect(all('request_headers_to_remove')).toEqual([PRIVATE_HEADERS]);
});

interface Route {
  readonly match: { readonly headers?: readonly { readonly string_match: { readonly exact: string } }[] };
  readonly route: { readonly retry_policy?: { readonly retriable_status_codes?: readonly number[] } };
}

test.each([
  ['Full', [503]],
  ['Unseen', undefined],
])('A15: the route %s repeats a request after the statuses %s', (name, statuses) => {
  const [routes] = all('routes') as [readonly Route[]];
  const found = routes.find(({ match }) => match.headers?.[0]?.string_match.exact === name);
  expect(found?.route.retry_policy?.retriable_status_codes).toEqual(statuses);
  expect(routes.at(-1)).toMatchObject({ match: { prefix: '/' } });
  expect(routes.at(-1)?.match.headers).toBeUndefined();
  expect(routes.at(-1)?.route.retry_policy).toBeUndefined();
});

test('A6: a picker that ends cuts no request, and a request without a pick goes nowhere', () => {
  expect(all('failure_mode_allow')).toEqual([true]);
  const [filter] = all('inline_string');
  expect(filter).toMatch(/function envoy_on_request[\s\S]*"503"[\s\S]*picker_lost/);
});
