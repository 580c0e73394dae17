import { describe, expect, test } from 'vitest';
import { groupObject, workerObject } from '../../../../test/builders/group-worker.ts';
import { NOW } from '../../../../test/builders/observed-group.ts';
import { annotations } from '../../../api/v1alpha1/names.ts';
import {
  type FigureName,
  originOf,
  type PullPlan,
  pullPlan,
  pullTarget,
  readJsonReply,
  readPrometheusReply,
} from './http-pull.ts';
import { readPushed } from './push.ts';
import { staticRecord } from './sources.ts';
import { believable, believableIfGiven, type LoadRecord, MAX_FIGURE, measuredPerf } from './state.ts';

const FIGURES: Readonly<Record<Exclude<FigureName, 'error'>, string>> = {
  newLoad: 'w.new',
  rejectedLoad: 'w.rejected',
  currentLoad: 'w.current',
  waitingLoad: 'w.waiting',
  maxPerf: 'w.perf',
  inFlight: 'w.requests',
};
const plan = (figures: PullPlan['figures'], more: Partial<PullPlan> = {}): PullPlan => ({
  ...{ path: '/', format: 'JSON', scheme: 'HTTP', finishedRequests: undefined },
  ...more,
  figures,
});
const ALL: Omit<LoadRecord, 'arrived'> = {
  currentLoad: 3,
  waitingLoad: 4,
  maxPerf: 5,
  inFlight: 6,
  error: '',
};
const NONE: Omit<LoadRecord, 'arrived'> = {
  ...{ currentLoad: 0, waitingLoad: undefined, maxPerf: undefined, inFlight: undefined, error: '' },
};

describe('a JSON reply', () => {
  const json = plan({ ...FIGURES, error: 'w.error' });
  const body = { new: 1, rejected: 2, current: 3, waiting: 4, perf: 5, requests: 6 };
  const read = (w: unknown) => readJsonReply(JSON.stringify({ w }), json, NOW);

  test('returns each figure at its path, and up to 256 characters of its error', () => {
    const arrived = { type: 'amount', newLoad: 1, rejectedLoad: 2 };
    expect(read(body)).toEqual({ arrived, ...ALL });
    expect(read({ ...body, error: 'x'.repeat(300) })).toEqual({ arrived, ...ALL, error: 'x'.repeat(256) });
  });

  test('may contain only arrived work', () => {
    const arrived = { type: 'amount', newLoad: 1, rejectedLoad: 0 };
    expect(read({ new: 1 })).toEqual({ arrived, ...NONE });
    expect(read({ new: 1, error: { code: 7 }, perf: 0 })).toEqual({ arrived, ...NONE });
  });

  test.each(['rejected', 'current', 'waiting', 'perf', 'requests'])(
    'with a negative %s names it',
    (figure) => {
      expect(() => read({ ...body, [figure]: -1 })).toThrow(`w.${figure} is negative`);
    },
  );

  test.each<[string, unknown]>([
    ['a text', 'new'],
    ['a list', [1]],
    ['nothing', null],
    ['a number', 5],
    ['an object without them', {}],
  ])('with %s instead of figures is rejected', (_, w) => {
    expect(() => read(w)).toThrow('w.new is not a number');
  });

  test('names a figure without a path by its own name', () => {
    expect(() => readJsonReply('{}', plan({}), NOW)).toThrow('newLoad is not a number');
  });

  test.each(['[]', 'null', '5', '"w"'])('that is %s is rejected', (text) => {
    expect(() => readJsonReply(text, json, NOW)).toThrow('the reply is not a JSON object');
  });
});

describe('a Prometheus reply', () => {
  const names = Object.fromEntries(
    Object.entries(FIGURES).map(([key, name]) => [key, name.replace('.', '_')]),
  );
  const metrics = plan(names, { format: 'Prometheus', finishedRequests: 'w_finished' });
  const lines = ['w_new 10', 'w_rejected 2', 'w_current 3', 'w_waiting 4', 'w_perf 5', 'w_requests 6'];
  const counted = (series: Readonly<Record<string, number>>) => ({
    type: 'counter',
    series: new Map(Object.entries(series)),
  });
  const read = (...more: readonly string[]) => readPrometheusReply(more.join('\n'), metrics, NOW);

  test('returns each figure, and waiting requests at the mean work of finished ones', () => {
    const arrived = counted({ w_new: 10, w_rejected: 2 });
    expect(read(...lines)).toEqual({ arrived, ...ALL, waitingLoad: 4, inFlight: 10 });
    expect(read(...lines, 'w_finished 2')).toMatchObject({ waitingLoad: 20, inFlight: 10 });
    expect(read(...lines, 'w_finished 0')).toMatchObject({ waitingLoad: 4 });
    // A request is at least one unit of work.
    expect(read(...lines, 'w_finished 40')).toMatchObject({ waitingLoad: 4 });
  });

  test('may contain only arrived work', () => {
    expect(read('w_new 10')).toEqual({ arrived: counted({ w_new: 10 }), ...NONE });
    expect(read('w_new 10', 'w_requests 6')).toMatchObject({ inFlight: 6, waitingLoad: undefined });
    const bare = plan({ newLoad: 'w_new' }, { format: 'Prometheus' });
    expect(readPrometheusReply('w_new 10\nundefined 7', bare, NOW)).toMatchObject(NONE);
  });

  test('is summed over labels, without comments and invalid lines', () => {
    const text = [
      '# w_new 900',
      'w_new{gpu="0"} 4',
      'w_new{gpu="1"} 6',
      'w_new',
      '',
      'w_newer 9',
      'temperature -5',
      'no sample at all',
    ];
    expect(read(...text).arrived).toEqual(counted({ 'w_new{gpu="0"}': 4, 'w_new{gpu="1"}': 6 }));
    expect(read(...text, 'w_current{gpu="0"} 2', 'w_current{gpu="1"} 1').currentLoad).toBe(3);
  });

  test('may have any text in its labels', () => {
    const text = ['w_new{path="/v1/{id}",gpu="0"} 4', 'w_new{name="a \\"b\\" }"} 6', 'w_new{} 1', 'w_new{ 9'];
    expect(read(...text).arrived).toEqual(
      counted({ 'w_new{path="/v1/{id}",gpu="0"}': 4, 'w_new{name="a \\"b\\" }"}': 6, 'w_new{}': 1 }),
    );
  });

  test('may have times up to a minute ahead', () => {
    expect(read(`w_new 10 ${NOW + 60_000}`).arrived).toEqual(counted({ w_new: 10 }));
    expect(read(`w_new 10 ${NOW - 60_000}`).arrived).toEqual(counted({ w_new: 10 }));
    expect(() => read(`w_new 10 ${NOW + 60_001}`)).toThrow('w_new has a time in the future');
  });

  test('is an error when the group names no metric of its work', () => {
    const nameless = plan({}, { format: 'Prometheus' });
    expect(() => readPrometheusReply('newLoad 10', nameless, NOW)).toThrow('the reply has no newLoad');
  });

  test.each<[string, string]>([
    ['w_current 1', 'the reply has no w_new'],
    ['w_new +Inf', 'w_new is larger'],
    ['w_new ten', 'w_new is not a number'],
    ['w_new 10\nw_perf -1', 'w_perf is negative'],
  ])('is rejected when it is: %s', (text, why) => {
    expect(() => read(text)).toThrow(why);
  });
});

describe('a pushed report', () => {
  test('returns each figure', () => {
    const body = {
      new_load: 1,
      rej_load: 2,
      cur_load: 3,
      max_perf: 5,
      num_requests_working: 6,
      error_msg: 'e'.repeat(300),
    };
    expect(readPushed({ ...body, wake: { cost: 9 } })).toEqual({
      record: {
        ...{ ...ALL, waitingLoad: undefined, error: 'e'.repeat(256) },
        arrived: { type: 'amount', newLoad: 1, rejectedLoad: 2 },
      },
      wakeCost: 9,
    });
  });

  test.each([undefined, null])('of the older form, whose new_load is %s, returns a rate', (new_load) => {
    expect(readPushed({ new_load, cur_load: 3 })).toEqual({
      record: { arrived: { type: 'rate', load: 3 }, ...NONE },
      wakeCost: 0,
    });
  });

  test.each(['cur_load', 'rej_load', 'max_perf', 'num_requests_working', 'new_load'])(
    'with a negative %s names it',
    (figure) => {
      expect(() => readPushed({ new_load: 1, [figure]: -1 })).toThrow(`${figure} is negative`);
    },
  );

  test('of the older form with a negative rate names it', () => {
    expect(() => readPushed({ cur_load: -1 })).toThrow('cur_load is negative');
  });
});

test('accepts figures up to the maximum', () => {
  expect(believable('f', MAX_FIGURE)).toBe(MAX_FIGURE);
  expect(() => believable('f', MAX_FIGURE + 1)).toThrow(expect.objectContaining({ name: 'FigureError' }));
  expect([believableIfGiven('f', undefined), believableIfGiven('f', null)]).toEqual([undefined, undefined]);
  expect([measuredPerf('f', 0), measuredPerf('f', 7), measuredPerf('f', null)]).toEqual([
    undefined,
    7,
    undefined,
  ]);
});

describe('a static load', () => {
  const annotated = (load: string) =>
    groupObject({}, { metadata: { annotations: { [annotations.staticLoad]: load } } });
  const of = (load: number, waitingLoad: number) => ({
    arrived: { type: 'rate', load },
    ...NONE,
    waitingLoad,
  });

  test('is the annotation, else the spec, else 0', () => {
    const spec = { load: { type: 'Static', static: { load: '900', queue: '5' } } };
    expect(staticRecord(groupObject(spec))).toEqual(of(900, 5));
    expect(staticRecord(annotated(' 12.25 '))).toEqual(of(12.25, 0));
    expect(staticRecord(groupObject())).toEqual(of(0, 0));
  });

  test.each(['', 'many', '-1', '9e3', '5 units', '5.', '1.x'])('is not accepted as %j', (text) => {
    expect(() => staticRecord(annotated(text))).toThrow('is not a load');
  });
});

describe('the target for the load of a worker', () => {
  const port = (containerPort: number, protocol: 'TCP' | 'UDP', publicPort: number) => ({
    containerPort,
    protocol,
    publicPort,
  });
  const object = workerObject('w', {
    spec: {
      ports: [
        { name: 'stun', containerPort: 9, protocol: 'UDP' },
        { name: 'http', containerPort: 80 },
        { name: 'load', containerPort: 81 },
      ],
    },
    status: {
      publicAddress: '203.0.113.7',
      ports: [port(80, 'UDP', 1), port(9, 'TCP', 2), port(81, 'TCP', 4), port(80, 'TCP', 3)],
    },
  });
  const asking = (httpPull: object) => groupObject({ load: { type: 'HTTPPull', httpPull } });

  test('is its first TCP port, or the one with a name or number', () => {
    expect(pullTarget(asking({}), object).address.port).toBe(3);
    expect(pullTarget(asking({ port: 'load' }), object).address.port).toBe(4);
    expect(pullTarget(asking({ port: 81 }), object).address.port).toBe(4);
  });

  test('is an identity port by its name (B15)', () => {
    const { spec } = groupObject({
      template: { spec: { image: 'x/y:1', offers: [{}], ports: [{ name: 'load', containerPort: 70_000 }] } },
    }).spec.template;
    const worker = { ...object, spec, status: { ...object.status, ports: [port(41_234, 'TCP', 41_234)] } };
    expect(pullTarget(asking({ port: 'load' }), worker as typeof object).address.port).toBe(41_234);
  });

  test.each<[string, object]>([
    ['without a public address', { ...object, status: { ...object.status, publicAddress: undefined } }],
    ['without a mapped port', { ...object, status: { publicAddress: '203.0.113.7' } }],
    ['without a declared port', { ...object, spec: { ...object.spec, ports: undefined } }],
    ['without a status', { ...object, status: undefined }],
  ])('is an error %s', (_, worker) => {
    expect(() => pullTarget(asking({}), worker as typeof object)).toThrow('no public port for load reports');
  });

  test('uses HTTP by default, and brackets for IPv6', () => {
    expect(originOf(pullTarget(asking({}), object), '203.0.113.7')).toBe('http://203.0.113.7:3');
    expect(originOf(pullTarget(asking({ scheme: 'HTTPS' }), object), '2a00::8')).toBe('https://[2a00::8]:3');
  });

  test('follows the preset with the changes of the spec', () => {
    const planOf = (httpPull: object) => pullPlan(asking(httpPull).spec.load.httpPull);
    expect(pullPlan(undefined)).toEqual(planOf({ preset: 'Pyworker' }));
    expect(pullPlan(undefined)).toMatchObject({ scheme: 'HTTP', path: '/worker_status/', format: 'JSON' });
    const own = planOf({ preset: 'VLLM', path: '/m', figures: { maxPerf: 'perf', newLoad: undefined } });
    expect(own).toMatchObject({
      path: '/m',
      format: 'Prometheus',
      finishedRequests: 'vllm:request_success_total',
    });
    expect(own.figures).toMatchObject({ maxPerf: 'perf', newLoad: 'vllm:generation_tokens_total' });
  });
});
