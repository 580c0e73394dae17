import { afterEach, expect, test } from 'vitest';
import { until } from '../builders/until.ts';
import { commandsOf } from './commands.ts';
import { createGroup, type GroupBench, groupBench } from './endpoint-group-bench.ts';
import {
  contracts,
  destroys,
  reached,
  readyBench,
  rents,
  running,
  useBenches,
} from './gpu-instance-bench.ts';

type Bench = Awaited<ReturnType<typeof readyBench>>;

useBenches();

let open: GroupBench | undefined;
afterEach(() => open?.close());

const calls = (bench: Bench) => ({ rents: rents(bench).length, destroys: destroys(bench).length });

test('a GpuInstance is edited, loses its status, is deleted and applied from a backup: one machine each time', async () => {
  const bench = await readyBench();
  const before = await running(bench, 'job');
  const person = commandsOf(bench, 'gpui', 'job');
  await person.patch({ spec: { replacement: { maxPerHour: 4 } } });
  await until('the edit is observed', async () => Number((await person.status())['observedGeneration']) >= 2);

  await person.editStatus(null);
  await until('the status is rebuilt', async () => {
    const { machine } = (await person.status()) as { readonly machine?: { readonly id?: string } };
    return machine?.id === before.status?.instanceId;
  });
  await reached(bench, 'job', 'Ready');
  expect(calls(bench)).toEqual({ rents: 1, destroys: 0 });

  const manifest = await person.backup();
  await person.delete();
  expect(bench.billing()).toEqual([]);
  await person.apply(manifest);
  const after = await reached(bench, 'job', 'Ready');
  expect(after.spec.replacement.maxPerHour).toBe(4);
  expect(after.status?.instanceId).not.toBe(before.status?.instanceId);
  expect(bench.billing()).toHaveLength(1);
  expect(contracts(bench)).toBe(2);
});

test('an EndpointGroup is edited, loses its status, is deleted and applied from a backup: no machine is rented twice', async () => {
  open = await groupBench();
  const { bench } = open;
  const isReady = () => open?.reached('its worker serves', ({ status }) => status?.ready === 1);
  await createGroup(open, { replicas: 1 });
  await isReady();
  const person = commandsOf(bench, 'epg', 'llm');
  await person.patch({ spec: { maxWorkers: 5 } });
  await until('the edit is observed', async () => Number((await person.status())['observedGeneration']) >= 2);

  await person.editStatus(null);
  await isReady();
  expect(calls(bench)).toEqual({ rents: 1, destroys: 0 });

  const manifest = await person.backup();
  await person.delete();
  await until('the machine of its worker is gone', () => bench.billing().length === 0);
  await person.apply(manifest);
  const after = await isReady();
  expect(after?.spec.maxWorkers).toBe(5);
  expect(bench.billing()).toHaveLength(1);
  expect(contracts(bench)).toBe(2);
});

test('a MarketplaceAccount loses its record or gets one of a newer operator: nothing is rented, destroyed or forgotten', async () => {
  const bench = await readyBench();
  await running(bench, 'job');
  const person = commandsOf(bench, 'gpuacct', 'default');
  const { record: before, login } = await until('its record is written', async () => {
    const status = await person.status();
    return String(status['record']).includes('lastRentalAt') ? status : undefined;
  });
  await person.editStatus({ record: null });
  await until('the record is rebuilt', async () =>
    String((await person.status())['record']).includes('lastRentalAt'),
  );
  expect((await person.status())['login']).toEqual(login);

  const newer = '{"v":2,"of":"the future"}';
  await person.editStatus({ record: newer });
  await until('it waits for a person', async () => (await person.reason()) === 'RecordUnreadable');
  expect((await person.status())['record']).toBe(newer);
  await person.editStatus({ record: before });
  await until('it goes on', async () => (await person.reason()) === 'Ready');
  expect(calls(bench)).toEqual({ rents: 1, destroys: 0 });
});
