import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../lib/json.ts';
import { storedForm } from '../../lib/stored-form.ts';
import type { GpuInstanceStatus } from './gpu-instance.ts';
import { gpuInstanceForm, gpuInstanceStoredStatus } from './gpu-instance-form.ts';
import { decodeStatus, encodeStatus, MAX_RECORD } from './record.ts';

const AT = '2026-11-20T12:00:00Z';
const encode = (status: object) => encodeStatus(gpuInstanceForm, status as Record<string, unknown>);
const decode = (stored: object) => decodeStatus(gpuInstanceForm, stored as Record<string, unknown>);

const word = fc.stringMatching(/^[a-z0-9]{1,12}$/);
const money = fc.stringMatching(/^[0-9]{1,4}[.][0-9]{2}$/);
const port = fc.integer({ min: 1, max: 65_535 });
const host = fc.oneof(fc.ipV4(), fc.ipV6(), fc.domain());
const some = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

const pastMachine = fc.record(
  {
    ...{ attempt: fc.nat(9), instanceId: word, reason: word, endedAt: fc.constant(AT), cost: money },
    ...{ rentedMinutes: fc.nat(999), hostId: word, gpuName: word, lastStatus: word },
  },
  { requiredKeys: ['attempt', 'instanceId', 'reason', 'endedAt', 'cost', 'rentedMinutes'] },
);
const mapped = fc.record(
  { containerPort: port, protocol: fc.constantFrom('TCP', 'UDP'), publicPort: port, name: word },
  { requiredKeys: ['containerPort', 'protocol', 'publicPort'] },
);
const condition = fc.record({
  type: fc.constantFrom('Ready', 'Rented', 'Foreign'),
  status: fc.constantFrom('True', 'False'),
  reason: word,
  message: fc.string(),
  lastTransitionTime: fc.constant(AT),
  observedGeneration: fc.nat(3),
});

/** Statuses as the operator writes them; `undefined` is a missing field. */
const statuses = fc
  .record({
    observedGeneration: fc.nat(3),
    phase: fc.constantFrom('Running', 'Lost'),
    conditions: some(fc.array(condition, { maxLength: 3 })),
    outage: some(fc.constant({ reason: 'Unreachable', since: AT })),
    attempt: some(fc.nat(9)),
    instanceId: some(word),
    claim: some(word),
    hostId: some(word),
    image: some(word),
    actualStatus: some(word),
    rentedAt: some(fc.constant(AT)),
    contractEnd: some(fc.record({ at: fc.constant(AT), isReported: fc.boolean() }, { requiredKeys: ['at'] })),
    endpoint: some(word),
    ssh: some(fc.record({ host, port })),
    publicAddress: some(host),
    ports: some(fc.array(mapped, { maxLength: 4 })),
    gpu: some(fc.record({ name: word, count: fc.nat(8), memory: word }, { requiredKeys: ['name', 'count'] })),
    cost: some(
      fc.record(
        { accrued: money, pricePerHour: money, since: fc.constant(AT), priceAssumed: fc.boolean() },
        { requiredKeys: ['accrued'] },
      ),
    ),
    facts: some(fc.array(fc.record({ field: word, value: word }), { maxLength: 3 })),
    history: some(fc.array(pastMachine, { maxLength: 5 })),
    binding: some(fc.record({ name: word })),
    requestedAt: some(word),
  })
  .map((status) => JSON.parse(JSON.stringify(status)) as GpuInstanceStatus);

describe('a stored status', () => {
  test('decodes to the status that was encoded', { tags: 'long' }, () => {
    fc.assert(
      fc.property(statuses, (status) => {
        const stored = JSON.parse(JSON.stringify(encode(status))) as object;
        expect(gpuInstanceStoredStatus.strict().safeParse(stored).error).toBeUndefined();
        expect(decode(stored)).toEqual(status);
        expect(canonicalJson(encode(decode(stored)))).toBe(canonicalJson(stored));
      }),
      { numRuns: 500 },
    );
  });

  test('decodes whatever it contains, and encodes again', { tags: 'long' }, () => {
    const anything = fc.record(
      {
        record: fc.oneof(
          fc.json(),
          fc.string(),
          fc.json().map((json) => `{"v":1,"more":${json}}`),
          fc.jsonValue(),
        ),
        machine: fc.jsonValue(),
        endpoint: fc.jsonValue(),
        cost: fc.jsonValue(),
        history: fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())),
        conditions: fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())),
        phase: fc.jsonValue(),
        attempt: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(anything, (stored) => {
        expect(() => encode(decode(stored))).not.toThrow();
      }),
      { numRuns: 2_000 },
    );
  });
});

const rented: GpuInstanceStatus = {
  observedGeneration: 1,
  phase: 'Running',
  attempt: 2,
  instanceId: '4711',
  claim: 'c0ffee',
  cost: { accrued: '1.25', pricePerHour: '0.30', since: AT },
};

describe('a record', () => {
  test('begins with its version and has sorted keys', () => {
    expect(encode({ ...rented, firstRentedAt: AT })).toEqual({
      observedGeneration: 1,
      phase: 'Running',
      machine: { id: '4711' },
      cost: rented.cost,
      record: `{"v":1,"attempt":2,"claim":"c0ffee","firstRentedAt":"${AT}"}`,
    });
  });

  test('is left out when there is nothing to remember', () => {
    expect(encode({ observedGeneration: 1, phase: 'Pending' })).toEqual({
      observedGeneration: 1,
      phase: 'Pending',
    });
  });

  test('drops the facts when it would be too long', () => {
    const facts = Array.from({ length: 264 }, (_, at) => ({ field: `f${at}`, value: 'x'.repeat(256) }));
    const stored = encode({ ...rented, facts });
    expect(stored['record']).toBe('{"v":1,"attempt":2,"claim":"c0ffee"}');
    expect(String(encode({ ...rented, facts: facts.slice(0, 40) })['record']).length).toBeLessThan(
      MAX_RECORD,
    );
    expect(decode(encode({ ...rented, facts: facts.slice(0, 40) }))).toHaveProperty('facts');
  });

  test('keeps keys of a newer operator', () => {
    const stored = { ...encode(rented), record: '{"v":1,"attempt":2,"claim":"c0ffee","later":{"a":[1]}}' };
    const status = decode(stored);
    expect(status).not.toHaveProperty('later');
    expect(encode({ ...status, phase: 'Stopped' })).toEqual({ ...stored, phase: 'Stopped' });
  });

  test('stays as it is when a newer version wrote it', () => {
    const stored = { ...encode(rented), record: '{"v":2,"secret":"of the future"}' };
    const status = decode(stored);
    expect(storedForm(status)?.problem).toMatchObject({ type: 'newer', version: 2 });
    expect(status).not.toHaveProperty('claim');
    expect(encode({ ...status, phase: 'Failed' })).toEqual({ ...stored, phase: 'Failed' });
  });

  test.each(['', 'nonsense', '[]', '{}', '{"v":0}', '{"v":"1"}', '{"v":1,"attempt":"two"}', 7])(
    'that says %j counts as no status of the machine',
    (record) => {
      const status = decode({ ...encode(rented), record });
      expect(storedForm(status)?.problem?.type).toBe('unreadable');
      expect(status).toEqual({
        ...{ observedGeneration: 1, phase: 'Running', cost: rented.cost },
        ...pickSymbols(status),
      });
    },
  );
});

/** Returns the mark, which `toEqual` compares. */
function pickSymbols(status: object): object {
  return Object.fromEntries(
    Object.getOwnPropertySymbols(status).map((symbol) => [
      symbol,
      (status as Record<symbol, unknown>)[symbol],
    ]),
  );
}

describe('a status of the form before the record', () => {
  const flat = {
    ...rented,
    endpoint: '203.0.113.7:22',
    ssh: { host: '203.0.113.7', port: 22 },
    history: [{ attempt: 1, instanceId: '1', reason: 'Exited', endedAt: AT, rentedMinutes: 3, cost: '0.1' }],
  };

  test('is read, and counts as outdated so that the next write stores the record', () => {
    const status = decode(flat);
    expect(storedForm(status)).toEqual({ isOutdated: true });
    expect(status).toMatchObject(flat);
    expect(encode(status)).toEqual(encode(flat));
  });

  test.each([
    { attempt: 1 },
    { instanceId: '1' },
    { endpoint: '203.0.113.7:22' },
    { gpu: { name: 'A', count: 1 } },
  ])('is known by %j', (status) => {
    expect(storedForm(decode(status))?.isOutdated).toBe(true);
  });

  test('is not seen in a new object', () => {
    expect(storedForm(decode({ observedGeneration: -1 }))).toBeUndefined();
  });
});
