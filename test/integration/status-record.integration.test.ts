import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { endpointGroupResource, gpuInstanceResource } from '../../src/api/v1alpha1/names.ts';
import type { Resource } from '../../src/runtime/kube/kube-object.ts';
import { until } from '../builders/until.ts';
import { commandsOf, type StoredStatus } from './commands.ts';
import { createGroup } from './endpoint-group-bench.ts';
import { conditionOf, destroys, reached, rents, running, useSharedBench } from './gpu-instance-bench.ts';

const shared = useSharedBench({ flags: { scalingSpeed: '20' } });

const calls = () => ({ rents: rents(shared()).length, destroys: destroys(shared()).length });

async function severalLists(): Promise<void> {
  const lists = () => shared().callsTo('GET', /\/instances\/$/).length;
  const before = lists();
  await until('several lists', () => lists() >= before + 4);
}

interface RecordedKind {
  readonly kind: 'gpui' | 'epg';
  readonly resource: Resource;
  /** Creates an object and waits until it is ready. */
  readonly create: (name: string) => Promise<unknown>;
  /** Top-level keys of the status of a ready object. */
  readonly shown: readonly string[];
  /** A change that rents or replaces a machine. */
  readonly change: object;
  readonly undo: object;
  /** Text of the record, and former names of stored fields. */
  readonly remembered: string;
  readonly former: readonly string[];
}

const KINDS: readonly RecordedKind[] = [
  {
    kind: 'gpui',
    resource: gpuInstanceResource,
    create: (name) => running(shared(), name),
    shown: ['binding', 'conditions', 'cost', 'endpoint', 'machine', 'observedGeneration', 'phase', 'record'],
    change: { spec: { image: 'example/other:2' } },
    undo: { spec: { image: 'example/image:1' } },
    remembered: '"claim":',
    former: ['instanceId', 'attempt'],
  },
  {
    kind: 'epg',
    resource: endpointGroupResource,
    create: runningGroup,
    shown: [
      ...['autoscaling', 'cold', 'conditions', 'draining', 'endpoint', 'load', 'observedGeneration', 'phase'],
      ...['pricePerHour', 'ready', 'record', 'replicas', 'selector', 'starting', 'total', 'updated'],
      'utilizationPercent',
    ],
    change: { spec: { replicas: 2 } },
    undo: { spec: { replicas: 1 } },
    remembered: '"everReady":true',
    former: ['hot', 'templateHash', 'everReady'],
  },
];

/** Creates a group of one worker with a fixed load, and waits until its status has every figure. */
async function runningGroup(name: string): Promise<void> {
  await createGroup(
    { bench: shared() },
    { replicas: 1, load: { type: 'Static', static: { load: '50' } } },
    name,
  );
  const { reason, status } = commandsOf(shared(), 'epg', name);
  await until(`${name} is ready`, async () => (await reason()) === 'Ready');
  await until(`${name} shows its use`, async () => (await status())['utilizationPercent'] !== undefined);
}

/** Waits until the Ready condition of an object has this reason. */
const edited = (kind: RecordedKind['kind'], name: string, reason: string) =>
  until(
    `${name} reports ${reason}`,
    async () => (await commandsOf(shared(), kind, name).reason()) === reason,
  );

describe.each(KINDS)('the status of a running $kind', ({ kind, resource, create, ...like }) => {
  const objectOf = (name: string) => commandsOf(shared(), kind, `${kind}-${name}`);
  const created = async (name: string) => {
    await create(`${kind}-${name}`);
    return objectOf(name);
  };

  test('fits on one screen', async () => {
    const text = await (await created('screen')).yaml();
    expect(text.split('\n').length).toBeLessThan(130);
    const { status } = parse(text) as { readonly status: Record<string, unknown> };
    expect(Object.keys(status).toSorted()).toEqual(like.shown.toSorted());
    expect(leaves({ ...status, conditions: undefined, record: undefined }).length).toBeLessThanOrEqual(20);
    expect(stringify(status, { lineWidth: 0 }).split('\n').length).toBeLessThan(75);
  });

  test('keeps the keys of a newer operator of the same version', async () => {
    const person = await created('later');
    const { record = '' } = await person.status();
    await person.editStatus({
      record: `{"v":1,"zeta":{"of":"the future"},${record.slice('{"v":1,'.length)}`,
    });
    await person.annotate('gpurental.dev/requested-at=now');
    const next = await until('the record is written again', async () => {
      const seen = await person.status();
      return seen.record?.includes('"requestedAt":"now"') ? seen : undefined;
    });
    expect(next.record).toContain('"zeta":{"of":"the future"}');
  });

  test('with a record of a newer version rents and destroys nothing, and goes on with the former one', async () => {
    const person = await created('newer');
    const { record } = await person.status();
    const seen = calls();
    const newer = '{"v":2,"of":"the future"}';
    await person.editStatus({ record: newer });
    await edited(kind, `${kind}-newer`, 'RecordUnreadable');
    await person.patch(like.change);
    await severalLists();
    expect(calls()).toEqual(seen);
    expect((await person.status()).record).toBe(newer);
    await person.patch(like.undo);
    await person.editStatus({ record });
    await edited(kind, `${kind}-newer`, 'Ready');
    expect(calls()).toEqual(seen);
  });

  test.each([
    ['unreadable', { record: 'nonsense' }],
    ['removed', { record: null }],
  ])('keeps its machine with its record %s, and stores the record again', async (name, change) => {
    const person = await created(name);
    const seen = calls();
    await person.editStatus(change);
    await until('the record is stored again', async () => isMended(await person.status(), like));
    await edited(kind, `${kind}-${name}`, 'Ready');
    await severalLists();
    expect(calls()).toEqual(seen);
  });

  test('in the form before the record is read, and stored with the record', async () => {
    const person = await created('flat');
    const seen = calls();
    await shared().stop();
    const ref = { namespace: shared().namespace, name: `${kind}-flat` };
    const before = (await shared().kube.get(resource, ref)) as { readonly status?: object } | undefined;
    const { conditions, observedGeneration, phase } = await person.status();
    // A merge patch cannot show an address of that form: the schema has another type there.
    const { endpoint: _endpoint, ...flat } = { endpoint: undefined, ...before?.status };
    const none = { record: null, machine: null, failing: null, cost: null, history: null };
    const gone = { gateway: null, autoscaling: null, ...(kind === 'gpui' && { endpoint: null }) };
    await person.editStatus({ ...none, ...gone, ...flat, conditions, observedGeneration, phase });
    expect(Object.keys(await person.status())).toEqual(expect.arrayContaining(like.former.slice(-1)));
    await shared().start();
    await until('the record is stored', async () => isMended(await person.status(), like));
    const status = await person.status();
    for (const name of like.former) expect(status).not.toHaveProperty(name);
    await edited(kind, `${kind}-flat`, 'Ready');
    expect(calls()).toEqual(seen);
  });
});

const isMended = ({ record = '' }: StoredStatus, { remembered }: Pick<RecordedKind, 'remembered'>): boolean =>
  record.startsWith('{"v":1,') && record.includes(remembered);

function leaves(value: unknown): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return value === undefined ? [] : [value];
  return Object.values(value).flatMap(leaves);
}

test('deletes no machine while a newer version wrote its record', async () => {
  await running(shared(), 'kept');
  const person = commandsOf(shared(), 'gpui', 'kept');
  const { record } = await person.status();
  const seen = calls();
  await person.editStatus({ record: '{"v":2}' });
  await reached(shared(), 'kept', 'RecordUnreadable');
  await person.delete('--wait=false');
  await severalLists();
  expect(calls()).toEqual(seen);
  expect(conditionOf(await shared().instance('kept'), 'Ready')?.reason).toBe('RecordUnreadable');
  await person.editStatus({ record });
  await until('it is gone', async () => (await shared().instance('kept')) === undefined);
  expect(calls().destroys).toBe(seen.destroys + 1);
});

test('deletes a group and its machine whatever version wrote its record', async () => {
  await runningGroup('left');
  const seen = calls();
  const person = commandsOf(shared(), 'epg', 'left');
  await person.editStatus({ record: '{"v":2}' });
  await edited('epg', 'left', 'RecordUnreadable');
  await person.delete();
  expect(calls()).toEqual({ ...seen, destroys: seen.destroys + 1 });
});

test('finds the machine of a forged record by the label', async () => {
  const before = await running(shared(), 'forged');
  const seen = calls();
  const person = commandsOf(shared(), 'gpui', 'forged');
  await person.editStatus({
    record: '{"v":1,"attempt":1,"claim":"0000000000000000000000000000000000000000"}',
  });
  await until('it shows its machine again', async () => {
    const { machine, record } = await person.status();
    const { id } = (machine ?? {}) as { readonly id?: string };
    return id === before.status?.instanceId && !record?.includes('00000000000000000000');
  });
  await reached(shared(), 'forged', 'Ready');
  await severalLists();
  expect(calls()).toEqual(seen);
});

test('reports a record that cannot be read by an event', async () => {
  const found = await until('an event', async () => {
    const text = await shared().cluster.kubectl(
      ...[
        ['-n', shared().namespace, 'get', 'events', '--field-selector=reason=RecordUnreadable', '-o', 'name'],
      ],
    );
    return text.trim() === '' ? undefined : text;
  });
  expect(found).toContain('event');
});
