import { describe, expect, test } from 'vitest';
import { groupObject, groupWorker, workerObject } from '../../../../test/builders/group-worker.ts';
import { createVirtualClock } from '../../../../test/builders/virtual-clock.ts';
import { Secret } from '../../../lib/secret.ts';
import { type Transport, TransportError, type TransportRequest } from '../../../lib/transport.ts';
import { defaultTimes } from '../times.ts';
import type { Worker } from '../workers/worker.ts';
import { LoadSources, type ReaderOptions } from './sources.ts';
import { LoadStore } from './state.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');

type Reply = {
  readonly status?: number;
  readonly body: string | readonly string[];
  readonly afterMs?: number;
};
type Answer = (request: TransportRequest) => Reply | 'refused' | 'silent';

const NOT_MAPPED = { allowPrivate: false, mapAddress: (address: string) => address };

function bench(answer: Answer, overrides: Partial<ReaderOptions> = {}) {
  const clock = createVirtualClock({ startMs: NOW });
  const loadStore = new LoadStore();
  const sent: TransportRequest[] = [];
  const transport: Transport = async (request) => {
    sent.push(request);
    const reply = answer(request);
    if (reply === 'refused') throw new TransportError('refused', { sent: false });
    if (reply === 'silent') return new Promise(() => {});
    if (reply.afterMs) await new Promise<void>((resolve) => clock.setTimer(reply.afterMs ?? 0, resolve));
    return {
      status: reply.status ?? 200,
      headers: {},
      body: (async function* () {
        for (const chunk of [reply.body].flat()) yield new TextEncoder().encode(chunk);
      })(),
      destroy() {},
    };
  };
  const readers = new LoadSources({
    ...{ clock, loadStore, transport, times: defaultTimes },
    addresses: NOT_MAPPED,
    tokenOf: () => new Secret('the-token'),
    prometheus: { url: PROMETHEUS_URL, transport, tenancy: { type: 'unrestricted' } },
    takesReports: true,
    takesGatewayReports: true,
    ...overrides,
  });
  const late: number[] = [];
  const onLate = () => late.push(clock.now() - NOW);
  /** Reads once and resolves with its duration in milliseconds. */
  const read = async (group = groupObject(), workers: readonly Worker[] = [groupWorker()]) => {
    let took: number | undefined;
    void readers.read(group, { workers, onLate }).then(() => {
      took = clock.now() - NOW;
    });
    await clock.advance(5000);
    return took;
  };
  const loadState = () => loadStore.get('uid-llm');
  const problem = () => [...loadState().problems.values()][0];
  const record = () => [...loadState().reporters.values()][0]?.record;
  return { clock, sent, read, late, loadState, problem, record };
}

const figures = (more: Record<string, unknown> = {}) =>
  JSON.stringify({ new_load: 5, cur_load: 2, max_perf: 90, ...more });

describe('a request to a worker', () => {
  test('goes to its public address and mapped port, with its token', async () => {
    const { read, sent, record } = bench(() => ({ body: figures() }));
    await read();
    expect(sent).toMatchObject([
      {
        method: 'GET',
        origin: 'http://203.0.113.7:20007',
        path: '/worker_status/',
        headers: { authorization: 'Bearer the-token', accept: 'application/json' },
      },
    ]);
    expect(record()).toMatchObject({ currentLoad: 2, maxPerf: 90, arrived: { type: 'amount', newLoad: 5 } });
  });

  test('is sent only while the worker serves', async () => {
    const { read, sent } = bench(() => ({ body: figures() }));
    await read(groupObject(), [
      groupWorker({ isServing: false }),
      groupWorker({ name: 'b', isDeleting: true }),
    ]);
    expect(sent).toEqual([]);
  });

  test.each<[string, string]>([
    ['127.0.0.1', 'loopback'],
    ['169.254.169.254', 'link-local'],
    ['10.96.0.1', 'private or cluster'],
    ['100.64.0.9', 'private or cluster'],
    ['::ffff:10.0.0.1', 'IPv4 address written as IPv6'],
    ['fe80::1', 'link-local'],
    ['fd00::1', 'private or cluster'],
    ['metadata.internal', 'no IP address'],
  ])('never goes to %s', async (publicAddress, why) => {
    const { status } = workerObject('w');
    const object = workerObject('w', { status: { ...status, publicAddress } });
    const { read, sent, problem } = bench(() => ({ body: figures() }));
    await read(groupObject(), [groupWorker({ object })]);
    expect(sent).toEqual([]);
    expect(problem()).toMatchObject({ kind: 'unreachable', detail: expect.stringContaining(why) });
  });

  test('goes to an IPv6 address, and to a mapped address', async () => {
    const { status } = workerObject('w');
    const object = workerObject('w', { status: { ...status, publicAddress: '2606:4700::1' } });
    const six = bench(() => ({ body: figures() }));
    await six.read(groupObject(), [groupWorker({ object })]);
    expect(six.sent[0]?.origin).toBe('http://[2606:4700::1]:20007');
    const mapped = bench(() => ({ body: figures() }), {
      addresses: { ...NOT_MAPPED, mapAddress: () => '127.0.0.1' },
    });
    await mapped.read();
    expect(mapped.sent[0]?.origin).toBe('http://127.0.0.1:20007');
  });

  test('is not sent without a mapped port', async () => {
    const object = workerObject('w', { status: { ...workerObject('w').status, ports: [] } });
    const { read, problem } = bench(() => ({ body: figures() }));
    await read(groupObject(), [groupWorker({ object })]);
    expect(problem()?.detail).toContain('set minDirectPorts and name the port');
  });
});

const PROMETHEUS = { type: 'HTTPPull', httpPull: { preset: 'VLLM' } };
const vllm = (lines: readonly string[]) => ({ body: lines.join('\n') });

describe('a reply', () => {
  test.each<[string, Record<string, unknown>, Reply | 'refused', 'unreachable' | 'invalid', string]>([
    ['that fails', {}, 'refused', 'unreachable', 'unreachable'],
    ['with status 500', {}, { status: 500, body: '' }, 'unreachable', 'HTTP 500'],
    ['that redirects', {}, { status: 302, body: '' }, 'unreachable', 'HTTP 302'],
    [
      'longer than 1 MiB',
      {},
      { body: Array(9).fill('y'.repeat(131_072)) },
      'unreachable',
      'longer than 1048576 bytes',
    ],
    ['that is not JSON', {}, { body: '{"new_load": NaN}' }, 'invalid', 'the reply is not JSON'],
    ['that is a list', {}, { body: '[1]' }, 'invalid', 'not a JSON object'],
    ['without the load', {}, { body: '{}' }, 'invalid', 'new_load is not a number'],
    ['with a negative figure', {}, { body: figures({ rej_load: -1 }) }, 'invalid', 'rej_load is negative'],
    ['with 10^30', {}, { body: figures({ new_load: 1e30 }) }, 'invalid', 'larger than 1000000000000'],
    [
      'without its counter',
      PROMETHEUS,
      vllm(['other 1']),
      'invalid',
      'the reply has no vllm:generation_tokens_total',
    ],
    ['with NaN', PROMETHEUS, vllm(['vllm:generation_tokens_total NaN']), 'invalid', 'is not a number'],
    [
      'with +Inf',
      PROMETHEUS,
      vllm(['vllm:generation_tokens_total +Inf']),
      'invalid',
      'larger than 1000000000000',
    ],
    [
      'from the future',
      PROMETHEUS,
      vllm([`vllm:generation_tokens_total 7 ${NOW + 70_000}`]),
      'invalid',
      'a time in the future',
    ],
  ])('%s is reported as a problem', async (_, load, reply, kind, detail) => {
    const { read, problem, loadState } = bench(() => reply);
    await read(groupObject(load['type'] ? { load } : {}));
    expect(problem()).toMatchObject({ kind, detail: expect.stringContaining(detail) });
    expect(problem()?.detail).toContain('worker w: ');
    expect(loadState().reporters.size).toBe(0);
  });

  test('in Prometheus text is summed over labels, with separate counters', async () => {
    const { read, record } = bench(() =>
      vllm([
        '# HELP vllm:generation_tokens_total tokens',
        'vllm:generation_tokens_total{model="a"} 600',
        'vllm:generation_tokens_total{model="b"} 400',
        'vllm:num_requests_waiting 3',
        'vllm:num_requests_running 2',
        'vllm:request_success_total 10',
      ]),
    );
    await read(groupObject({ load: PROMETHEUS }));
    expect(record()).toMatchObject({
      arrived: {
        type: 'counter',
        series: new Map([
          ['vllm:generation_tokens_total{model="a"}', 600],
          ['vllm:generation_tokens_total{model="b"}', 400],
        ]),
      },
      waitingLoad: 300,
      inFlight: 5,
    });
  });

  test('is read at custom names and paths', async () => {
    const httpPull = {
      preset: 'Custom',
      path: '/load',
      figures: { newLoad: 'work.new', currentLoad: 'a.b' },
    };
    const { read, record, sent } = bench(() => ({ body: '{"work":{"new":4},"a.b":9}' }));
    await read(groupObject({ load: { type: 'HTTPPull', httpPull } }));
    expect(sent[0]?.path).toBe('/load');
    expect(record()).toMatchObject({ arrived: { newLoad: 4 }, currentLoad: 9 });
  });
});

describe('slow workers', () => {
  const two = [groupWorker({ name: 'a' }), groupWorker({ name: 'b', object: workerObject('b') })];

  test('delay a decision by 100 ms, and their later figures cause another one', async () => {
    let asked = 0;
    const { read, late, loadState } = bench(() => ({ body: figures(), afterMs: asked++ === 0 ? 0 : 400 }));
    expect(await read(groupObject(), two)).toBe(100);
    expect(late).toEqual([400]);
    expect(loadState().reporters.size).toBe(2);
  });

  test('cause no other decision when all reply at once', async () => {
    const { read, late } = bench(() => ({ body: figures(), afterMs: 60 }));
    expect(await read(groupObject(), two)).toBe(60);
    expect(late).toEqual([]);
  });

  test('without a reply are aborted after their timeout', async () => {
    const { read, sent, late, problem } = bench(() => 'silent');
    expect(await read()).toBe(100);
    expect(late).toEqual([1100]);
    expect(problem()?.detail).toContain('no answer within 3000 ms');
    // A connection without an end would be missing for other workers.
    expect(sent.map(({ signal }) => signal?.aborted)).toEqual([true]);
  });
});

describe('a worker with a request in progress', () => {
  test('gets no second request', async () => {
    const { read, sent } = bench(() => 'silent');
    const patient = groupObject({ load: { type: 'HTTPPull', httpPull: { timeout: '8s' } } });
    await read(patient);
    await read(patient);
    expect(sent).toHaveLength(1);
    await read(patient);
    expect(sent).toHaveLength(2);
  });
});

const PROMETHEUS_URL = 'https://prometheus.example:9090/base/';

describe('one source for the whole group', () => {
  const queries = { loadQuery: 'load', queueQuery: 'queue' };
  const load = { type: 'Prometheus', prometheus: queries };
  const vector = (value: string, seconds = NOW / 1000) =>
    JSON.stringify({ data: { resultType: 'vector', result: [{ value: [seconds, value] }] } });

  test('sends each query to Prometheus', async () => {
    const { read, sent, record } = bench(({ path }) => ({
      body: vector(path.includes('queue') ? '40' : '300'),
    }));
    await read(groupObject({ load }));
    expect(sent.map(({ path }) => path)).toEqual([
      '/base/api/v1/query?query=load',
      '/base/api/v1/query?query=queue',
    ]);
    expect(record()).toMatchObject({ arrived: { type: 'rate', load: 300 }, waitingLoad: 40 });
  });

  test.each<[string, string, 'unreachable' | 'invalid', string]>([
    [
      'no series',
      JSON.stringify({ data: { resultType: 'vector', result: [] } }),
      'unreachable',
      'loadQuery returns no series',
    ],
    ['NaN', vector('NaN'), 'invalid', 'is not a number'],
    ['a negative load', vector('-1'), 'invalid', 'is negative'],
    ['10^30', vector('1e30'), 'invalid', 'larger than 1000000000000'],
    ['a time in the future', vector('1', NOW / 1000 + 120), 'invalid', 'a time in the future'],
    [
      'two series',
      JSON.stringify({ data: { resultType: 'vector', result: [{}, {}] } }),
      'invalid',
      'returns 2 series',
    ],
    ['a page', '<html>', 'invalid', 'the reply to loadQuery is not JSON'],
  ])('%s is a problem', async (_, body, kind, detail) => {
    const { read, problem } = bench(() => ({ body }));
    await read(groupObject({ load }));
    expect(problem()).toMatchObject({ kind, detail: expect.stringContaining(detail) });
  });

  describe('queries of group authors (M5)', () => {
    /** Returns a bench with a prom-label-proxy, or with a Prometheus, which ignores the parameter. */
    const behind = (isProxy: boolean, tenancy: object) => {
      const transport: Transport = async ({ path }) => {
        asked.push(path);
        const isRefused = isProxy && !path.includes('&namespace=');
        return {
          status: isRefused ? 400 : 200,
          headers: {},
          body: (async function* () {
            yield new TextEncoder().encode(vector('300'));
          })(),
          destroy() {},
        };
      };
      const asked: string[] = [];
      const prometheus = { url: PROMETHEUS_URL, transport, tenancy: tenancy as never };
      return { asked, ...bench(() => 'refused', { prometheus }) };
    };
    const parameter = { type: 'parameter', name: 'namespace' };

    test('scenario 95: are not sent unless an administrator sets their tenancy', async () => {
      const { read, asked, problem } = behind(true, { type: 'off' });
      await read(groupObject({ load }));
      expect(asked).toEqual([]);
      expect(problem()?.detail).toContain('--prometheus-tenancy');
    });

    test('carry the namespace of the group to a proxy that refused a query without it', async () => {
      const { read, asked, record } = behind(true, parameter);
      await read(groupObject({ load }));
      expect(record()).toMatchObject({ arrived: { load: 300 } });
      expect(asked).toEqual([
        '/base/api/v1/query?query=vector(1)',
        '/base/api/v1/query?query=load&namespace=team',
        '/base/api/v1/query?query=queue&namespace=team',
      ]);
    });

    test('are not sent to a Prometheus that answers without the parameter', async () => {
      const { read, asked, problem } = behind(false, parameter);
      await read(groupObject({ load }));
      expect(asked).toEqual(['/base/api/v1/query?query=vector(1)']);
      expect(problem()?.detail).toContain('must name a prom-label-proxy');
    });

    test.for([
      'x&namespace=other',
      'x#&namespace=other',
      'count(kube_secret_info{namespace="other"}) or {__name__=~".+"}',
      '{"namespace"="other"} # namespace=other',
    ])('carry only their own namespace with the query %s', async (loadQuery) => {
      const { read, asked } = behind(true, parameter);
      await read(groupObject({ load: { type: 'Prometheus', prometheus: { loadQuery } } }));
      const { searchParams } = new URL(`http://a${asked.at(-1)}`);
      expect([searchParams.getAll('namespace'), searchParams.getAll('query')]).toEqual([
        ['team'],
        [loadQuery],
      ]);
    });
  });

  test('names the flag when no Prometheus is configured', async () => {
    const { read, problem } = bench(() => ({ body: '' }), { prometheus: undefined });
    await read(groupObject({ load }));
    expect(problem()?.detail).toContain('--prometheus-url');
  });

  test.each<[string, boolean, string | undefined]>([
    ['names the flag when it accepts no reports', false, '--worker-report-bind-address'],
    ['reports no problem when it accepts reports', true, undefined],
  ])('sends no request to workers that push reports, and %s', async (_, takesReports, flag) => {
    const { read, problem, sent } = bench(() => 'refused', { takesReports });
    await read(groupObject({ load: { type: 'Push' } }));
    expect(problem()?.detail).toEqual(flag === undefined ? undefined : expect.stringContaining(flag));
    expect(sent).toEqual([]);
  });

  test.each<[string, boolean, readonly unknown[]]>([
    [
      'names the flag when it accepts no picker',
      false,
      [
        [
          '',
          {
            kind: 'unreachable',
            detail: 'pickers cannot report: the operator runs without --gateway-reports',
            at: NOW,
          },
        ],
      ],
    ],
    ['reports no problem when it accepts pickers', true, []],
  ])('sends no request for the load of a gateway, and %s', async (_, takesGatewayReports, problems) => {
    const { read, loadState, sent } = bench(() => 'refused', { takesGatewayReports });
    await read(groupObject({ gateway: {} }));
    expect([...loadState().problems]).toEqual(problems);
    expect(sent).toEqual([]);
  });

  test('reads a static load from the spec, or from the annotation first', async () => {
    const fixed = { load: { type: 'Static', static: { load: '250', queue: '30' } } };
    const spec = bench(() => 'refused');
    await spec.read(groupObject(fixed));
    expect(spec.record()).toMatchObject({ arrived: { type: 'rate', load: 250 }, waitingLoad: 30 });
    const annotated = bench(() => 'refused');
    const metadata = { annotations: { 'gpurental.dev/static-load': '900' } };
    await annotated.read(groupObject(fixed, { metadata }));
    expect(annotated.record()).toMatchObject({ arrived: { load: 900 } });
    const wrong = bench(() => 'refused');
    await wrong.read(
      groupObject(fixed, { metadata: { annotations: { 'gpurental.dev/static-load': '-5' } } }),
    );
    expect(wrong.problem()).toMatchObject({
      kind: 'invalid',
      detail: expect.stringContaining('static-load is not a load'),
    });
  });
});

describe('a worker with TLS', () => {
  const tls = { certificate: 'c', key: new Secret('k'), authorities: 'a', serverName: 'u1.llm' };
  const reply = { body: '{"new_load": 5}' };

  test('gets requests only by TLS, with the certificate of its gateway', async () => {
    const { read, sent } = bench(() => reply, { callerOf: async () => ({ type: 'tls', tls }) });
    await read();
    expect(sent.map(({ origin, tls: by }) => [origin, by])).toEqual([['https://203.0.113.7:20007', tls]]);
  });

  test('gets no request while the certificate is unknown, with the reason as a problem', async () => {
    const detail = 'Secret llm-gateway-client does not exist yet.';
    const { read, sent, loadState } = bench(() => reply, {
      callerOf: async () => ({ type: 'problem', detail }),
    });
    await read();
    expect(sent).toEqual([]);
    expect([...loadState().problems.values()].map((problem) => problem.detail)).toEqual([
      `worker w: ${detail}`,
    ]);
  });

  test('with another name in its certificate is reported', async () => {
    const cause = Object.assign(new Error('altnames'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    const transport: Transport = () => Promise.reject(new TransportError('x', { sent: false, cause }));
    const { read, loadState } = bench(() => reply, {
      transport,
      callerOf: async () => ({ type: 'tls', tls }),
    });
    await read();
    expect([...loadState().problems.values()].map((problem) => problem.detail)).toEqual([
      'worker w: does not prove that it is this worker of the group',
    ]);
  });
});
