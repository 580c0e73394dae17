import { describe, expect, test } from 'vitest';
import { groupObject, workerObject } from '../../../../test/builders/group-worker.ts';
import { createVirtualClock } from '../../../../test/builders/virtual-clock.ts';
import { Secret } from '../../../lib/secret.ts';
import { defaultTimes } from '../times.ts';
import { PushIntake, type PushOptions } from './push.ts';
import { LoadStore, loadOver } from './state.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const TOKEN = 'token-of-the-worker';
const group = groupObject({ load: { type: 'Push' } });
const worker = workerObject('w');

function intake(overrides: Partial<PushOptions> = {}) {
  const clock = createVirtualClock({ startMs: NOW });
  const loadStore = new LoadStore();
  const woken: string[] = [];
  const push = new PushIntake({
    ...{ clock, loadStore, times: defaultTimes },
    instancesById: (id) => (id === '7' || id === '7012' ? [worker] : []),
    groupOf: () => group,
    tokenOf: () => new Secret(TOKEN),
    isLeading: () => true,
    onWake: ({ metadata }) => woken.push(metadata.name),
    ...overrides,
  });
  const loadState = () => loadStore.get('uid-llm');
  const send = (report: Record<string, unknown> = {}, path = '/worker_status/') =>
    push.take(path, { id: 7, mtoken: TOKEN, new_load: 0, cur_load: 0, ...report });
  return { clock, loadState, push, send, woken };
}

describe('authentication of a report', () => {
  test.each<[string, Record<string, unknown>, number]>([
    ['accepts a worker with its token', {}, 200],
    ['accepts an id as text', { id: '7' }, 200],
    ['accepts the field worker_id', { id: undefined, worker_id: 7 }, 200],
    ['rejects another token', { mtoken: 'token-of-the-w0rker' }, 401],
    ['rejects a part of the token', { mtoken: TOKEN.slice(0, -1) }, 401],
    ['rejects a missing token', { mtoken: undefined }, 401],
    ['rejects a token that is a list', { mtoken: [TOKEN] }, 401],
    ['rejects an unknown machine', { id: 8 }, 401],
    ['rejects a missing id', { id: undefined }, 401],
    ['accepts a long id as text', { id: '7012' }, 200],
    ['rejects an id with other text', { id: '7; drop' }, 401],
    ['rejects an id with a prefix', { id: 'c7' }, 401],
    ['rejects an id that is a list', { id: [7] }, 401],
    ['rejects an id that is no integer', { id: 7.5 }, 401],
    ['rejects a token that is a number', { mtoken: 7 }, 401],
  ])('%s', (_, report, status) => {
    const { send, loadState } = intake();
    expect(send(report).status).toBe(status);
    expect(loadState().reporters.size).toBe(status === 200 ? 1 : 0);
  });

  test('rejects every worker while another replica leads', () => {
    const { send, loadState } = intake({ isLeading: () => false });
    expect(send()).toMatchObject({ status: 503, message: expect.stringContaining('another replica') });
    expect(loadState().reporters.size).toBe(0);
  });

  test('rejects a machine with an unknown token or without a group', () => {
    expect(intake({ tokenOf: () => undefined }).send().status).toBe(401);
    expect(intake({ groupOf: () => undefined }).send().status).toBe(401);
  });

  test('accepts two workers with the same id from two marketplaces', () => {
    const both = ['v', 'w'].map((name) => workerObject(name));
    const { send, loadState } = intake({
      instancesById: () => both,
      tokenOf: ({ metadata }) => new Secret(`token of ${metadata.name}`),
    });
    expect(['v', 'w', 'x'].map((name) => send({ mtoken: `token of ${name}` }).status)).toEqual([
      200, 200, 401,
    ]);
    expect(loadState().reporters.size).toBe(2);
  });

  test('rejects a worker of a group with another source', () => {
    const pulling = groupObject();
    expect(intake({ groupOf: () => pulling }).send()).toMatchObject({
      status: 409,
      message: expect.stringContaining('load.type: Push'),
    });
  });

  test('rejects a body that is no object', () => {
    const { push } = intake();
    for (const body of [null, 7, 'text', [], undefined]) {
      expect(push.take('/worker_status/', body).status).toBe(401);
    }
  });
});

describe('the intake of pushed reports', () => {
  test('reads the newer form: amounts since the last accepted report', async () => {
    const { send, clock, loadState } = intake();
    send({ new_load: 500 });
    await clock.advance(30_000);
    send({ new_load: 9000, rej_load: 600, cur_load: 40, max_perf: 120, num_requests_working: 3 });
    expect(loadOver(loadState().history, clock.now(), 30_000)).toBeCloseTo(320);
    const [reporter] = loadState().reporters.values();
    expect(reporter?.record).toMatchObject({ currentLoad: 40, maxPerf: 120, inFlight: 3 });
    expect(loadState().lastActivity).toBe(clock.now());
  });

  test('reads the older form: without new_load, cur_load is a rate', async () => {
    const { send, clock, loadState } = intake();
    send({ new_load: undefined, cur_load: 80 });
    await clock.advance(10_000);
    send({ new_load: undefined, cur_load: 80 });
    expect(loadOver(loadState().history, clock.now(), 20_000)).toBeCloseTo(80);
    const [reporter] = loadState().reporters.values();
    expect(reporter?.record.currentLoad).toBe(0);
  });

  test.each<[string, Record<string, unknown>, string]>([
    ['a negative figure', { new_load: -1 }, 'new_load is negative'],
    ['a text', { new_load: 'many' }, 'new_load is not a number'],
    ['10^-7', { max_perf: 1e-7 }, 'max_perf is smaller than 0.000001'],
    ['10^30', { cur_load: 1e30 }, 'cur_load is larger than 1000000000000'],
    ['a wake with a negative cost', { wake: { cost: -5 } }, 'wake.cost is negative'],
    ['an invalid wake', { wake: 5 }, 'the body is not a worker report'],
  ])('rejects %s by name and records a problem', (_, report, message) => {
    const { send, loadState } = intake();
    expect(send(report)).toEqual({ status: 400, message });
    expect(loadState().reporters.size).toBe(0);
    expect([...loadState().problems.values()]).toMatchObject([
      { kind: 'invalid', detail: `worker w: ${message}` },
    ]);
  });

  test('accepts ten reports a second', async () => {
    const { send, clock, loadState } = intake();
    expect(send().status).toBe(200);
    const tooFast = { status: 429, message: 'too many reports; send at most one per second' };
    expect(send({ new_load: 1000 })).toEqual(tooFast);
    await clock.advance(99);
    expect(send({ new_load: 1000 })).toEqual(tooFast);
    await clock.advance(1);
    expect(send({ new_load: 1000 }).status).toBe(200);
    expect(loadState().history.arrivals).toHaveLength(1);
  });

  test('takes a report after the clock went back as a new base', async () => {
    const { send, clock, loadState } = intake();
    send();
    await clock.advance(10_000);
    send({ new_load: 100 });
    clock.jumpWallClock(-3_600_000);
    expect(send({ new_load: 100 }).status).toBe(200);
    await clock.advance(10_000);
    send({ new_load: 700 });
    expect(loadOver(loadState().history, clock.now(), 10_000)).toBeCloseTo(70);
  });

  test('accepts a wake and the end of a request', async () => {
    const { send, woken, push, clock } = intake();
    send();
    expect(woken).toEqual([]);
    await clock.advance(1_000);
    expect(send({ wake: { cost: 10 } }).status).toBe(200);
    expect(woken).toEqual(['llm']);
    expect(send({}, '/delete_requests/').status).toBe(200);
    expect(push.take('/delete_requests/', { id: 7, mtoken: 'wrong' }).status).toBe(401);
    const paths = 'unknown path; use /worker_status/ or /delete_requests/';
    expect(send({}, '/other/')).toEqual({ status: 404, message: paths });
  });
});
