import { describe, expect, test } from 'vitest';
import {
  reply as answer,
  answeringTransport,
  type Script,
} from '../../../../test/builders/answering-transport.ts';
import { groupObject } from '../../../../test/builders/group-worker.ts';
import { createVirtualClock } from '../../../../test/builders/virtual-clock.ts';
import { PrometheusReader, prometheusRecord, sampledValue } from './prometheus.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const SECONDS = NOW / 1000;

const reply = (data: unknown) => JSON.stringify({ data });
const vector = (value: unknown, seconds: unknown = SECONDS) =>
  reply({ resultType: 'vector', result: [{ value: [seconds, value] }] });
const EMPTY = reply({ resultType: 'vector', result: [] });

describe('the load of a group from Prometheus', () => {
  const record = (answers: Readonly<Record<string, string>>) =>
    prometheusRecord(
      { loadQuery: 'load', queueQuery: 'queue', rejectedQuery: 'rejected' },
      async (query) => answers[query] ?? EMPTY,
      NOW,
    );

  test('includes rejected work', async () => {
    const answers = { load: vector('300'), queue: vector('40'), rejected: vector('25') };
    expect(await record(answers)).toMatchObject({ arrived: { type: 'rate', load: 325 }, waitingLoad: 40 });
  });

  test('has no queue and no rejected work without their series', async () => {
    expect(await record({ load: vector('300') })).toMatchObject({
      arrived: { type: 'rate', load: 300 },
      waitingLoad: 0,
    });
  });

  test('is an error when the load query returns no series', async () => {
    await expect(record({})).rejects.toThrow('loadQuery returns no series');
  });

  test.each(['load', 'queue', 'rejected'])(
    'names the query of its %s when the reply is invalid',
    async (query) => {
      const answers = { load: vector('1'), queue: vector('1'), rejected: vector('1'), [query]: 'nonsense' };
      await expect(record(answers)).rejects.toThrow(`the reply to ${query}Query is not JSON`);
    },
  );
});

describe('the reply to an instant query', () => {
  const value = (text: string) => sampledValue('loadQuery', text, NOW);

  test.each<[string, string, number | undefined]>([
    ['a vector of one', vector('12.5'), 12.5],
    ['a JSON number', vector(7), 7],
    ['a scalar', reply({ resultType: 'scalar', result: [SECONDS, '9'] }), 9],
    ['a time of a minute ahead', vector('1', SECONDS + 60), 1],
    ['an empty vector', EMPTY, undefined],
    ['a series without a value', reply({ resultType: 'vector', result: [{}] }), undefined],
    ['a series that is null', reply({ resultType: 'vector', result: [null] }), undefined],
  ])('may be %s', (_, text, expected) => {
    expect(value(text)).toBe(expected);
  });

  const NEITHER = 'does not return a vector or a number';
  test.each<[string, string, string]>([
    ['more than a minute ahead', vector('1', SECONDS + 61), 'returns a time in the future'],
    ['without a time', vector('1', null), 'returns a time in the future'],
    ['a list', vector([1]), 'is not a number'],
    ['a range', reply({ resultType: 'matrix', result: [{ value: [SECONDS, '1'] }] }), NEITHER],
    ['an object', reply({ resultType: 'vector', result: {} }), NEITHER],
    ['without a result', reply({ resultType: 'vector' }), NEITHER],
    ['nothing', 'null', NEITHER],
    ['a word', '"down"', NEITHER],
    [
      'two series',
      reply({ resultType: 'vector', result: [{}, {}] }),
      'returns 2 series; aggregate them to one',
    ],
  ])('is rejected when it is %s', (_, text, why) => {
    expect(() => value(text)).toThrow(`loadQuery ${why}`);
  });
});

describe('a reader of Prometheus', () => {
  const group = groupObject({ load: { type: 'Prometheus', prometheus: { loadQuery: 'load' } } });
  const reader = (script: Script) => {
    const clock = createVirtualClock({ startMs: NOW });
    const { transport, requests } = answeringTransport(script);
    const tenancy = { type: 'parameter', name: 'namespace' } as const;
    const prometheus = new PrometheusReader({ url: 'https://metrics', transport, tenancy }, clock);
    return { clock, requests, read: () => prometheus.read(group) };
  };
  const PROBE = '/api/v1/query?query=vector(1)';
  const proxy: Script = (request) => answer(vector('3'), request.path === PROBE ? 400 : 200)(request);

  test('verifies a proxy once in 10 minutes, and again after the clock went back', async () => {
    const { read, clock, requests } = reader(proxy);
    const proofs = async (afterMs: number) => {
      clock.jumpWallClock(afterMs);
      await read();
      return requests.filter(({ path }) => path === PROBE).length;
    };
    expect(await proofs(0)).toBe(1);
    expect(await proofs(0)).toBe(1);
    expect(await proofs(599_999)).toBe(1);
    expect(await proofs(1)).toBe(2);
    expect(await proofs(-1)).toBe(3);
    expect(requests[0]?.headers).toEqual({ accept: 'application/json' });
  });

  test('accepts only status 400 as the refusal of a proxy', async () => {
    const failing: Script = (request) => answer(vector('3'), request.path === PROBE ? 500 : 200)(request);
    await expect(reader(failing).read()).rejects.toThrow('HTTP 500');
  });

  test.each([
    ['CERT_HAS_EXPIRED', 'the certificate has expired; renew it'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'pass the PEM of its authority with --prometheus-ca'],
    ['ECONNREFUSED', 'unreachable'],
    [7, 'unreachable'],
  ])('reports the fix when the connection fails with %s', async (code, message) => {
    const cause = Object.assign(new Error('refused'), { code });
    const { read } = reader(() => Promise.reject(new Error('no reply', { cause })));
    await expect(read()).rejects.toThrow(message);
  });
});
