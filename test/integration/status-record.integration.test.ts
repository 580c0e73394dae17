import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { until } from '../builders/until.ts';
import { conditionOf, destroys, reached, rents, running, useSharedBench } from './gpu-instance-bench.ts';

const shared = useSharedBench();

interface Stored {
  readonly record?: string;
  readonly machine?: { readonly id?: string };
  readonly [key: string]: unknown;
}

const kubectl = (...args: readonly string[]) => shared().cluster.kubectl(['-n', shared().namespace, ...args]);

/** The status as the API server stores it. */
async function stored(name: string): Promise<Stored> {
  return JSON.parse(await kubectl('get', 'gpui', name, '-o', 'jsonpath={.status}')) as Stored;
}

/** Writes keys of the stored status as a person may; null removes one. */
const edit = (name: string, status: Stored | Readonly<Record<string, unknown>>) =>
  kubectl('patch', 'gpui', name, '--subresource=status', '--type=merge', '-p', JSON.stringify({ status }));

const calls = () => ({ rents: rents(shared()).length, destroys: destroys(shared()).length });

async function severalLists(): Promise<void> {
  const lists = () => shared().callsTo('GET', /\/instances\/$/).length;
  const before = lists();
  await until('several lists', () => lists() >= before + 4);
}

/** The object once it shows this machine with a record of this version. */
function mended(name: string, before: GpuInstance): Promise<Stored> {
  return until(`${name} shows its machine again`, async () => {
    const status = await stored(name);
    const isMended = status.machine?.id === before.status?.instanceId && status.record?.startsWith('{"v":1,');
    return isMended ? status : undefined;
  });
}

test('shows a running machine on one screen', async () => {
  await running(shared(), 'screen');
  const text = await kubectl('get', 'gpui', 'screen', '-o', 'yaml');
  expect(text.split('\n').length).toBeLessThan(130);
  const { status } = parse(text) as { readonly status: Record<string, unknown> };
  expect(Object.keys(status).toSorted()).toEqual([
    ...['binding', 'conditions', 'cost', 'endpoint', 'machine', 'observedGeneration', 'phase', 'record'],
  ]);
  expect(leaves({ ...status, conditions: undefined, record: undefined }).length).toBeLessThanOrEqual(20);
  expect(stringify(status, { lineWidth: 0 }).split('\n').length).toBeLessThan(75);
});

function leaves(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return value === undefined ? [] : [value];
  return Object.values(value).flatMap(leaves);
}

test('keeps the keys of a newer operator of the same version', async () => {
  await running(shared(), 'later');
  const { record = '' } = await stored('later');
  await edit('later', { record: `{"v":1,"zeta":{"of":"the future"},${record.slice('{"v":1,'.length)}` });
  await kubectl('annotate', 'gpui', 'later', 'gpurental.dev/requested-at=now');
  const next = await until('the record is written again', async () => {
    const seen = await stored('later');
    return seen.record?.includes('"requestedAt":"now"') ? seen : undefined;
  });
  expect(next.record).toContain('"zeta":{"of":"the future"}');
});

test('rents and destroys nothing for a record of a newer version, and goes on with the former one', async () => {
  const before = await running(shared(), 'newer');
  const { record } = await stored('newer');
  const seen = calls();
  const newer = '{"v":2,"of":"the future"}';
  await edit('newer', { record: newer });
  await reached(shared(), 'newer', 'RecordUnreadable');
  await kubectl('patch', 'gpui', 'newer', '--type=merge', '-p', '{"spec":{"image":"example/other:2"}}');
  await severalLists();
  expect(calls()).toEqual(seen);
  expect((await stored('newer')).record).toBe(newer);
  await kubectl(
    'patch',
    'gpui',
    'newer',
    '--type=merge',
    '-p',
    JSON.stringify({ spec: { image: before.spec.image } }),
  );
  await edit('newer', { record });
  await reached(shared(), 'newer', 'Ready');
  expect(calls()).toEqual(seen);
});

test('deletes nothing while a newer version wrote the record', async () => {
  await running(shared(), 'kept');
  const { record } = await stored('kept');
  const seen = calls();
  await edit('kept', { record: '{"v":2}' });
  await reached(shared(), 'kept', 'RecordUnreadable');
  await kubectl('delete', 'gpui', 'kept', '--wait=false');
  await severalLists();
  expect(calls()).toEqual(seen);
  expect(conditionOf(await shared().instance('kept'), 'Ready')?.reason).toBe('RecordUnreadable');
  await edit('kept', { record });
  await until('it is gone', async () => (await shared().instance('kept')) === undefined);
  expect(calls().destroys).toBe(seen.destroys + 1);
});

describe('a status that lost its record', () => {
  test.each([
    ['unreadable', { record: 'nonsense' }],
    ['removed', { record: null }],
    ['forged', { record: '{"v":1,"attempt":1,"claim":"0000000000000000000000000000000000000000"}' }],
  ])('finds its machine by the label: %s', async (name, change) => {
    const before = await running(shared(), name);
    const seen = calls();
    await edit(name, change);
    await mended(name, before);
    await reached(shared(), name, 'Ready');
    await severalLists();
    expect(calls()).toEqual(seen);
  });

  test('reports a record that cannot be read by an event', async () => {
    const found = await until('an event', async () => {
      const text = await kubectl('get', 'events', '--field-selector=reason=RecordUnreadable', '-o', 'name');
      return text.trim() === '' ? undefined : text;
    });
    expect(found).toContain('event');
  });
});

test('reads a status of the form before the record, and stores the record', async () => {
  const before = await running(shared(), 'flat');
  const seen = calls();
  await shared().stop();
  const { conditions, observedGeneration, phase } = await stored('flat');
  // A merge patch cannot show an address of that form: the schema has another type there.
  const { endpoint: _endpoint, ...flat } = before.status ?? {};
  const none = { record: null, machine: null, endpoint: null, cost: null, history: null };
  await edit('flat', { ...none, ...flat, conditions, observedGeneration, phase });
  expect((await stored('flat'))['instanceId']).toBe(before.status?.instanceId);
  await shared().start();
  const status = await mended('flat', before);
  expect(status).not.toHaveProperty('instanceId');
  expect(status).not.toHaveProperty('attempt');
  expect(status.record).toContain(`"claim":"${before.status?.claim}"`);
  await reached(shared(), 'flat', 'Ready');
  expect(calls()).toEqual(seen);
});
