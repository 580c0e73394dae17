import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../lib/json.ts';
import { storedForm } from '../../lib/stored-form.ts';
import type { EndpointGroupStatus } from './endpoint-group.ts';
import { endpointGroupForm, endpointGroupStoredStatus } from './endpoint-group-form.ts';
import { decodeStatus, encodeStatus } from './record.ts';

const AT = '2026-11-20T12:00:00Z';
const encode = (status: object) => encodeStatus(endpointGroupForm, status as Record<string, unknown>);
const decode = (stored: object) => decodeStatus(endpointGroupForm, stored as Record<string, unknown>);

const word = fc.stringMatching(/^[a-z0-9]{1,12}$/);
const number = fc.stringMatching(/^[0-9]{1,4}[.][0-9]{2}$/);
const at = fc.constant(AT);
const count = fc.nat(9);
const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

const terms = {
  ...{ at: AT, load: '210.5', burstLoad: '215', longLoad: '240', queue: '0', capacity: '300' },
  ...{ rateCapacity: '233.889', queueCapacity: '210.5', hotCapacity: '233.889', totalCapacity: '600' },
  ...{ hotNeed: 3, totalNeed: 5, hot: 3, total: 5 },
};
const decision = fc.record(
  { ...fixed(terms), rule: fc.constantFrom('Load', 'Wake'), perf: number, explanation: fc.string() },
  { requiredKeys: [...(Object.keys(terms) as (keyof typeof terms)[]), 'rule'] },
);
const gateway = fc.record(
  {
    ...{ url: word, pickers: count, heldRequests: count, inFlightRequests: count, reportedAt: at },
    workers: fc.array(fc.record({ name: word, requests: count, work: number }), { maxLength: 2 }),
  },
  { requiredKeys: ['pickers', 'heldRequests'] },
);

function fixed<T extends object>(values: T): { [K in keyof T]: fc.Arbitrary<T[K]> } {
  const entries = Object.entries(values).map(([key, value]) => [key, fc.constant(value)]);
  return Object.fromEntries(entries) as { [K in keyof T]: fc.Arbitrary<T[K]> };
}

/** Statuses as the operator writes them; `undefined` is a missing field. */
const statuses = fc
  .record({
    observedGeneration: fc.nat(3),
    phase: fc.constantFrom('Ready', 'Scaling'),
    ...{ replicas: count, cold: count, ready: count, total: count, updated: count },
    selector: some(word),
    load: some(number),
    pricePerHour: some(number),
    endpoint: some(word),
    outage: some(fc.constant({ reason: 'Unreachable', since: AT, httpStatus: 503 })),
    templateHash: some(word),
    everReady: some(fc.boolean()),
    lastActivity: some(at),
    panicUntil: some(at),
    loadMaxima: some(fc.array(fc.record({ at, load: number }), { maxLength: 3 })),
    failingWorkers: some(
      fc.array(fc.record({ worker: word, instanceId: word, since: at, error: word }), { maxLength: 3 }),
    ),
    lastReplacement: some(fc.record({ worker: word, at, count })),
    gateway: some(gateway),
    endpointsConfigMap: some(word),
    autoscaling: some(decision),
    requestedAt: some(word),
    wokenAt: some(word),
  })
  .map((status) => JSON.parse(JSON.stringify(status)) as EndpointGroupStatus);

describe('the stored status of a group', () => {
  test('decodes to the status that was encoded', { tags: 'long' }, () => {
    fc.assert(
      fc.property(statuses, (status) => {
        const stored = JSON.parse(JSON.stringify(encode(status))) as object;
        expect(endpointGroupStoredStatus.strict().safeParse(stored).error).toBeUndefined();
        expect(decode(stored)).toEqual(status);
        expect(canonicalJson(encode(decode(stored)))).toBe(canonicalJson(stored));
      }),
      { numRuns: 500 },
    );
  });

  test('decodes whatever it contains, and encodes again', { tags: 'long' }, () => {
    const names = ['record', 'gateway', 'autoscaling', 'failing', 'conditions', 'everReady', 'replicas'];
    const value = fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue()));
    const anything = fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] });
    fc.assert(
      fc.property(anything, (stored) => {
        expect(() => encode(decode(stored))).not.toThrow();
      }),
      { numRuns: 2_000 },
    );
  });

  test('shows failing workers by name, and the decision by its rule', () => {
    const failing = { worker: 'llm-1', instanceId: '4711', since: AT, error: 'CUDA error' };
    const stored = encode({
      failingWorkers: [failing],
      autoscaling: { ...terms, rule: 'Load', explanation: 'Why.' },
      gateway: { url: 'https://gateway.example', pickers: 2, heldRequests: 1, reportedAt: AT },
    });
    expect(stored).toEqual({
      failing: ['llm-1'],
      autoscaling: { rule: 'Load', explanation: 'Why.' },
      gateway: { url: 'https://gateway.example', heldRequests: 1 },
      record: `{"v":1,${canonicalJson({
        autoscaling: terms,
        failingWorkers: [{ instanceId: '4711', since: AT, error: 'CUDA error' }],
        gateway: { pickers: 2, reportedAt: AT },
      }).slice(1)}`,
    });
  });

  test('reads the form before the record once, without its field for hot workers, and marks it for a write', () => {
    const flat = {
      ...{ replicas: 3, cold: 1, templateHash: 'abc', everReady: true, lastActivity: AT, wokenAt: 'now' },
      autoscaling: { ...terms, rule: 'Load' },
      failingWorkers: [{ worker: 'llm-1', instanceId: '4711', since: AT, error: 'CUDA error' }],
      gateway: { pickers: 2, heldRequests: 1 },
    };
    const read = decode({ ...flat, hot: 3 });
    expect(JSON.parse(JSON.stringify(read))).toEqual(flat);
    expect(storedForm(read)?.isOutdated).toBe(true);
    expect(decode(encode(read))).toEqual(flat);
  });

  test.each([
    ['removed', undefined],
    ['unreadable', 'nonsense'],
    ['with an incomplete decision', '{"v":1,"autoscaling":{"load":"1"}}'],
  ])('keeps the figures for people of a group whose record is %s, and no decision', (_what, record) => {
    const { record: _lost, ...shown } = encode({
      ...{ replicas: 3, load: '7', templateHash: 'abc', everReady: true },
      autoscaling: { ...terms, rule: 'Load' },
      failingWorkers: [{ worker: 'llm-1', instanceId: '4711', since: AT, error: 'CUDA error' }],
      gateway: { pickers: 2, heldRequests: 1 },
    });
    expect(JSON.parse(JSON.stringify(decode({ ...shown, ...(record && { record }) })))).toEqual({
      ...{ replicas: 3, load: '7' },
      gateway: { pickers: 0, heldRequests: 1 },
    });
  });

  test.each([
    ['decision', { autoscaling: undefined }, 'autoscaling'],
    ['rule of the decision', { autoscaling: { explanation: 'Why.' } }, 'autoscaling'],
    ['failing workers', { failing: undefined }, 'failingWorkers'],
    ['failing workers of the same number', { failing: ['llm-1', 'llm-2'] }, 'failingWorkers'],
  ])('leaves out what the record has more of a status without its %s', (_what, removed, missing) => {
    const stored = encode({
      autoscaling: { ...terms, rule: 'Load', explanation: 'Why.' },
      failingWorkers: [{ worker: 'llm-1', instanceId: '4711', since: AT, error: 'CUDA error' }],
      gateway: { pickers: 2, heldRequests: 1, reportedAt: AT },
      templateHash: 'abc',
    });
    const kept = ['autoscaling', 'failingWorkers', 'gateway', 'templateHash'].filter(
      (name) => name !== missing,
    );
    expect(Object.keys(decode({ ...stored, ...removed })).toSorted()).toEqual(kept);
  });

  test('completes the gateway of a status from which only its stored part was removed', () => {
    const { gateway: _removed, ...stored } = encode({
      gateway: { url: 'https://gateway.example', pickers: 2, heldRequests: 1, reportedAt: AT },
    });
    expect(decode(stored)).toEqual({ gateway: { pickers: 2, heldRequests: 0, reportedAt: AT } });
  });

  test('keeps its record when another client adds a key of the record to the gateway', () => {
    const stored = { gateway: { heldRequests: 1, workers: 'none' }, record: '{"v":1,"everReady":true}' };
    const whole = { everReady: true, gateway: { pickers: 0, heldRequests: 1 } };
    expect(decode(stored)).toEqual(whole);
    expect(decode(encode(decode(stored)))).toEqual(whole);
  });

  test('keeps unknown keys of the record', () => {
    const read = decode({ replicas: 1, record: '{"v":1,"everReady":true,"zeta":{"of":"the future"}}' });
    expect(read).toMatchObject({ replicas: 1, everReady: true });
    expect(encode(read)['record']).toContain('"zeta":{"of":"the future"}');
  });

  test('keeps a record of a newer version as it is', () => {
    const record = '{"v":2,"pace":"slow"}';
    const read = decode({ record, replicas: 5 });
    expect(storedForm(read)?.problem).toEqual({ type: 'newer', version: 2, text: record });
    expect(encode(read)).toEqual({ record, replicas: 5 });
  });

  test('has room for every list at its maximum length, and drops the figures of the gateway first', () => {
    const name = 'n'.repeat(63);
    const whole = (nameLength: number) => ({
      everReady: true,
      loadMaxima: Array.from({ length: 61 }, () => ({ at: AT, load: '123456789012.123' })),
      failingWorkers: Array.from({ length: 64 }, () => ({
        ...{ worker: name, instanceId: '123456789012', since: AT, error: '"'.repeat(160) },
      })),
      gateway: {
        ...{ pickers: 2, heldRequests: 1 },
        workers: Array.from({ length: 128 }, () => ({
          ...{ name: 'n'.repeat(nameLength), requests: 100_000, work: '123456789012.123', perf: '1' },
        })),
      },
    });
    expect(String(encode(whole(63))['record'])).toContain('"gateway"');
    const { record } = encode(whole(400));
    expect(String(record).length).toBeLessThan(65_536);
    expect(String(record)).not.toContain('"gateway"');
    expect(String(record)).toContain('"failingWorkers"');
  });

  test('shows about twenty values beside the conditions', () => {
    const stored = encode({
      ...{ observedGeneration: 1, phase: 'Ready', replicas: 3, selector: 'a=b', cold: 2, ready: 3 },
      ...{ starting: 0, draining: 0, total: 5, updated: 5, load: '7', utilizationPercent: 50 },
      ...{ pricePerHour: '1.25', endpoint: 'llm.team.svc', everReady: true },
      gateway: { url: 'https://gateway.example', pickers: 2, heldRequests: 1, inFlightRequests: 3 },
      autoscaling: { ...terms, rule: 'Load', explanation: 'Why.' },
      failingWorkers: [{ worker: 'llm-1', instanceId: '4711', since: AT, error: 'CUDA error' }],
    });
    const leaves = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? Object.values(value).reduce((sum: number, one) => sum + leaves(one), 0)
        : 1;
    expect(leaves({ ...stored, record: [] })).toBe(20);
  });
});
