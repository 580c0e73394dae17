import { describe, expect, test } from 'vitest';
import { groupObject } from '../../../../test/builders/group-worker.ts';
import { createVirtualClock } from '../../../../test/builders/virtual-clock.ts';
import { defaultTimes } from '../times.ts';
import { GatewayIntake, type GatewayIntakeOptions } from './gateway-intake.ts';
import { LoadStore, loadOver } from './state.ts';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const SECOND = 1000;

function bench({
  spec = { gateway: {} },
  ...overrides
}: Partial<GatewayIntakeOptions> & { readonly spec?: Record<string, unknown> } = {}) {
  const clock = createVirtualClock({ startMs: NOW });
  const loadStore = new LoadStore();
  const woken: string[] = [];
  const group = groupObject(spec);
  const intake = new GatewayIntake({
    ...{ clock, loadStore, times: defaultTimes },
    groupOf: (key) => (key === 'team/llm' ? group : undefined),
    isLeading: () => true,
    onHeld: ({ metadata }) => woken.push(metadata.name),
    ...overrides,
  });
  const send = (figures: Record<string, unknown> = {}, more: Record<string, unknown> = {}) =>
    intake.take({
      picker: 'picker-1',
      groups: [
        {
          ...{ namespace: 'team', name: 'llm', arrivedWork: 0, overestimatedWork: 0, refusedWork: 0 },
          ...{ heldRequests: 0, heldWork: 0, workers: [], ...figures },
        },
      ],
      ...more,
    });
  const loadState = () => loadStore.get('uid-llm');
  return { clock, intake, loadState, send, woken };
}

describe('a report of a picker', () => {
  test('adds arrived work to its group', async () => {
    const { clock, send, loadState } = bench();
    send();
    await clock.advance(SECOND);
    expect(send({ arrivedWork: 300 }).status).toBe(200);
    expect(loadOver(loadState().history, clock.now(), SECOND)).toBe(300);
    expect(loadState().lastActivity).toBe(NOW + SECOND);
  });

  test('counts from 0 if it is the first of its process, and from the last one otherwise', () => {
    const of = (more: Record<string, unknown>) => {
      const { send, loadState } = bench();
      send({ arrivedWork: 300 }, more);
      return loadOver(loadState().history, NOW, 10 * SECOND);
    };
    expect([of({ first: true }), of({ first: false }), of({})]).toEqual([30, 0, 0]);
  });

  test('is activity but no load in a group with another source', async () => {
    const { clock, send, loadState } = bench({ spec: { gateway: {}, load: { type: 'Push' } } });
    send();
    await clock.advance(SECOND);
    send({ arrivedWork: 300 });
    expect(loadOver(loadState().history, clock.now(), SECOND)).toBe(0);
    expect(loadState().lastActivity).toBe(NOW + SECOND);
    expect(loadState().pickers.byName.size).toBe(1);
  });

  test.each<[string, Record<string, unknown>, readonly string[]]>([
    ['wakes the group while requests wait', { heldRequests: 1 }, ['llm']],
    ['wakes nothing when work is in progress', { workers: [{ name: 'w', requests: 1, work: 1 }] }, []],
  ])('%s', (_, figures, expected) => {
    const { send, woken } = bench();
    send(figures);
    expect(woken).toEqual(expected);
  });

  test.each<[string, Record<string, unknown>]>([
    ['a group without a gateway', {}],
    ['a group whose gateway is off', { gateway: { enabled: false } }],
  ])('is ignored for %s', (_, spec) => {
    const { send, loadState, woken } = bench({ spec });
    expect(send({ heldRequests: 5, arrivedWork: 9 })).toEqual({
      status: 200,
      reply: { pickers: 1, groups: [] },
    });
    expect([loadState().pickers.byName.size, woken]).toEqual([0, []]);
  });

  test('is ignored for a group that does not exist', () => {
    const { send, woken } = bench();
    expect(send({ name: 'other', heldRequests: 5 })).toMatchObject({ reply: { groups: [] } });
    expect(woken).toEqual([]);
  });

  test('is accepted only by the leader', () => {
    const { send, loadState, woken } = bench({ isLeading: () => false });
    expect(send({ heldRequests: 1 })).toEqual({
      status: 503,
      message: 'another replica is the leader; retry',
    });
    expect([loadState().pickers.byName.size, woken]).toEqual([0, []]);
  });

  test.each<[string, Record<string, unknown>, Record<string, unknown>, string]>([
    ['a negative counter', { arrivedWork: -1 }, {}, 'groups.0.arrivedWork'],
    ['a counter that is no number', { arrivedWork: 'much' }, {}, 'groups.0.arrivedWork'],
    ['half a request', { heldRequests: 0.5 }, {}, 'groups.0.heldRequests'],
    ['more work than the maximum', { heldWork: 1e13 }, {}, 'groups.0.heldWork'],
    ['a worker without a name', { workers: [{ requests: 1, work: 1 }] }, {}, 'groups.0.workers.0.name'],
    ['an empty picker', {}, { picker: '' }, 'picker'],
    ['a picker with a line break in its name', {}, { picker: 'a\nb' }, 'picker'],
  ])('with %s is rejected as a whole with the name of the field', (_, figures, more, path) => {
    const { send, loadState } = bench();
    const answer = send(figures, more);
    expect(answer).toMatchObject({ status: 400, message: expect.stringMatching(new RegExp(`^${path}: `)) });
    expect(loadState().pickers.byName.size).toBe(0);
  });

  test.each([[null], ['text'], [[]], [7]])('that is %j is rejected', (body) => {
    expect(bench().intake.take(body)).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^the body: /),
    });
  });
});

describe('the response to a picker', () => {
  test('has the requests of other pickers, without idle workers', async () => {
    const { clock, send } = bench();
    const workers = [
      { name: 'w-a', requests: 2, work: 20 },
      { name: 'w-b', requests: 0, work: 0 },
      { name: 'w-c', requests: 0, work: 0, perf: 7 },
    ];
    expect(send({ workers })).toEqual({
      status: 200,
      reply: { pickers: 1, groups: [{ namespace: 'team', name: 'llm', workers: [] }] },
    });
    await clock.advance(5 * SECOND);
    expect(send({ workers: [{ name: 'w-a', requests: 9, work: 9 }] }, { picker: 'picker-2' })).toEqual({
      status: 200,
      reply: {
        pickers: 2,
        groups: [
          {
            ...{ namespace: 'team', name: 'llm' },
            workers: [
              { name: 'w-a', requests: 2, work: 20 },
              { name: 'w-c', requests: 0, work: 0, perf: 7 },
            ],
          },
        ],
      },
    });
    await clock.advance(10 * SECOND);
    expect(send({}, { picker: 'picker-2' })).toEqual({
      status: 200,
      reply: { pickers: 1, groups: [{ namespace: 'team', name: 'llm', workers: [] }] },
    });
  });

  test('is a refusal for one picker too many, until another is silent', async () => {
    const { clock, send } = bench();
    for (let index = 0; index < 64; index++) expect(send({}, { picker: `p${index}` }).status).toBe(200);
    expect(send({}, { picker: 'one-more' })).toEqual({
      status: 429,
      message: 'too many pickers: 64 report already',
    });
    expect(send({}, { picker: 'p0' }).status).toBe(200);
    await clock.advance(15 * SECOND);
    expect(send({}, { picker: 'one-more' }).status).toBe(200);
  });
});
