import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import { onBehalfOf } from '../lib/background.ts';
import { type LogFields, silentLogger } from '../lib/logger.ts';
import { createMetricRegistry } from '../server/metric-registry.ts';
import { createProcessMetrics } from '../server/runtime-metrics.ts';
import { applyProcessPolicy } from './process-policy.ts';

const OBJECT = { task: 'reconcile gpuinstance', object: 'team/trainer' };

function setUp() {
  const events = new EventEmitter();
  const clock = createVirtualClock();
  const registry = createMetricRegistry();
  const lines: [string, LogFields | undefined][] = [];
  const exits: number[] = [];
  const policy = applyProcessPolicy({
    events,
    clock,
    metrics: createProcessMetrics(registry, 'operator'),
    log: { ...silentLogger, error: (message, fields) => lines.push([message, fields]) },
    exit: (code) => exits.push(code),
    graceMs: 35_000,
  });
  const counted = async (kind: string) =>
    (await registry.expose()).match(new RegExp(`process_faults_total\\{kind="${kind}"\\} (\\d+)`))?.[1];
  return { events, clock, lines, exits, policy, counted };
}

test('scenario 91: logs an unhandled rejection once with its object, counts it and goes on (C1)', async () => {
  const { events, clock, lines, exits, policy, counted } = setUp();
  const error = new Error('nobody waited');
  expect(await counted('unhandledRejection')).toBe('0');
  onBehalfOf(OBJECT, () => events.emit('unhandledRejection', error));
  expect(lines).toEqual([['Unhandled rejection', { ...OBJECT, error }]]);
  expect(await counted('unhandledRejection')).toBe('1');
  await clock.advance(3_600_000);
  expect(policy.ended.aborted).toBe(false);
  expect(exits).toEqual([]);
});

test('scenario 91: ends the process in order after an uncaught exception, and by force when that takes too long', async () => {
  const { events, clock, lines, exits, policy, counted } = setUp();
  const error = new Error('out of a callback');
  onBehalfOf(OBJECT, () => events.emit('uncaughtException', error));
  events.emit('uncaughtException', error);
  expect(lines).toEqual([
    ['Uncaught exception', { ...OBJECT, error }],
    ['Uncaught exception', { error }],
  ]);
  expect(await counted('uncaughtException')).toBe('2');
  expect(policy.ended.aborted).toBe(true);
  await clock.advance(34_999);
  expect(exits).toEqual([]);
  await clock.advance(1);
  expect(exits).toEqual([1]);
});

test('leaves the process as it was when it is removed', () => {
  const { events, policy } = setUp();
  policy.remove();
  expect(events.eventNames()).toEqual([]);
});
