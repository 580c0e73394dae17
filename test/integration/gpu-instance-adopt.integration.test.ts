import { describe, expect, test } from 'vitest';
import type { OperatorBench } from '../builders/running-operator.ts';
import { until } from '../builders/until.ts';
import {
  conditionOf,
  contracts,
  deleteInstance,
  destroys,
  goneFromCluster,
  patchInstance,
  reached,
  readyBench,
  rents,
  running,
  useBenches,
} from './gpu-instance-bench.ts';

useBenches();

const ALLOWED = { account: { adoption: 'Unlabelled' } };

/** Rents a machine by hand, by default without a label. */
async function strangersMachine(bench: OperatorBench, label: string | null = null): Promise<string> {
  const [offer] = Object.values(bench.simulator.world().tables.offers);
  const reply = await bench.simulator.handle({
    method: 'PUT',
    origin: 'http://127.0.0.1:9',
    path: `/api/v0/asks/${offer?.id}/`,
    headers: { authorization: `Bearer ${bench.simulator.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ image: 'example/own:1', disk: 10, ...(label === null ? {} : { label }) }),
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of reply.body) chunks.push(chunk);
  return String(
    (JSON.parse(Buffer.concat(chunks).toString('utf8')) as { new_contract: number }).new_contract,
  );
}

const contractOf = (bench: OperatorBench, id: string) => bench.simulator.world().tables.contracts[Number(id)];

describe('adopting a machine', () => {
  test('Manage takes it over: guarded, claimed, labelled, and destroyed with its object', async () => {
    const bench = await readyBench(ALLOWED);
    const id = await strangersMachine(bench);
    const job = await running(bench, 'job', { adopt: { instanceId: id } });
    expect(job.status).toMatchObject({ instanceId: id, attempt: 1, claim: expect.any(String) });
    expect(job.metadata.finalizers).toEqual(['gpurental.dev/machine']);
    await until('the label', () => contractOf(bench, id)?.label?.startsWith('gpurental1:') === true);
    await deleteInstance(bench);
    await goneFromCluster(bench);
    expect(bench.billing()).toEqual([]);
    expect(rents(bench)).toEqual([]);
  });

  test('Observe shows it and never touches it, also when its object is deleted', async () => {
    const bench = await readyBench(ALLOWED);
    const id = await strangersMachine(bench);
    await bench.createInstance('job', { adopt: { instanceId: id, policy: 'Observe' } });
    const job = await reached(bench, 'job', 'Ready');
    expect(job.status?.claim).toBeUndefined();
    expect(job.metadata.finalizers ?? []).toEqual([]);
    await deleteInstance(bench);
    await goneFromCluster(bench);
    expect(contractOf(bench, id)?.label ?? null).toBeNull();
    expect(bench.billing()).toHaveLength(1);
    expect(destroys(bench)).toEqual([]);
  });

  test.each([
    ['of an account that does not allow it', {}, null, 'NotAllowedByAccount'],
    ["that carries someone's label", ALLOWED, 'mine', 'AdoptionTargetInvalid'],
  ] as const)('%s is refused', async (_, options, label, reason) => {
    const bench = await readyBench(options);
    const id = await strangersMachine(bench, label);
    await bench.createInstance('job', { adopt: { instanceId: id } });
    const refused = await reached(bench, 'job', reason);
    expect(conditionOf(refused, 'Stalled')?.status).toBe('True');
    expect(contractOf(bench, id)?.label ?? null).toBe(label);
  });

  test('of two objects that name one machine the older gets it', async () => {
    const bench = await readyBench(ALLOWED);
    const id = await strangersMachine(bench);
    await bench.stop();
    await bench.createInstance('older', { adopt: { instanceId: id } });
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await bench.createInstance('younger', { adopt: { instanceId: id } });
    await bench.start();
    await reached(bench, 'younger', 'AdoptionTargetInvalid');
    await reached(bench, 'older', 'Ready');
  });
});

describe('a service that gives no labels back', () => {
  const SILENT = { account: {}, simulator: { profile: 'specification' as const } };
  const ANY_PRICE = { offers: [{ allowUnknownPrice: true, verified: false, order: [] }] };

  test('rents, and destroys what it rented by the id on record', async () => {
    const bench = await readyBench(SILENT);
    await bench.createInstance('job', ANY_PRICE);
    const job = await reached(bench, 'job', 'Ready');
    expect(job.status?.instanceId).toBe(String(bench.billing()[0]?.id));
    await deleteInstance(bench);
    await goneFromCluster(bench);
    expect(bench.billing()).toEqual([]);
  });

  test('a lost answer is settled by the only machine that is new', async () => {
    const bench = await readyBench(SILENT);
    await strangersMachine(bench);
    const lists = () => bench.callsTo('GET', /\/instances\/$/).length;
    const enough = lists() + 2;
    await until('a list shows what was there before', () => lists() >= enough);
    await bench.fault('reset-after', { endpoint: 'rent' });
    await bench.createInstance('job', ANY_PRICE);
    const job = await reached(bench, 'job', 'Ready');
    expect(contracts(bench)).toBe(2);
    expect(rents(bench)).toHaveLength(1);
    expect(job.status?.attempt).toBe(1);
  });

  test('keeps one that reads exited because it was stopped, and rents another when it has to run again (D8)', async () => {
    const bench = await readyBench(SILENT);
    await bench.createInstance('job', ANY_PRICE);
    const first = (await reached(bench, 'job', 'Ready')).status?.instanceId;
    await patchInstance(bench, { spec: { powerState: 'Stopped' } });
    const stopped = await reached(bench, 'job', 'Stopped');
    expect(stopped.status).toMatchObject({ actualStatus: 'exited', instanceId: first });
    expect(destroys(bench)).toEqual([]);
    await patchInstance(bench, { spec: { powerState: 'Running' } });
    const again = (await reached(bench, 'job', 'Ready')).status?.instanceId;
    expect(again).not.toBe(first);
    expect(bench.billing().map(({ id }) => String(id))).toEqual([again]);
  });

  test('stops and keeps one with deletionPolicy Stop, which then reads exited (D8)', async () => {
    const bench = await readyBench(SILENT);
    await bench.createInstance('job', { ...ANY_PRICE, deletionPolicy: 'Stop' });
    await reached(bench, 'job', 'Ready');
    await deleteInstance(bench);
    await goneFromCluster(bench);
    expect(bench.billing()).toHaveLength(1);
    expect(destroys(bench)).toEqual([]);
  });

  test('two new machines after a lost answer are a question for a person', async () => {
    const bench = await readyBench(SILENT);
    await bench.fault('delayed-reply', { endpoint: 'rent', seconds: 60 });
    await bench.createInstance('job', ANY_PRICE);
    await until('the machine was made', () => contracts(bench) === 1);
    await strangersMachine(bench);
    await reached(bench, 'job', 'RentalUncertain');
    await until(
      'it names both',
      async () => conditionOf(await bench.instance('job'), 'Ready')?.message.includes(', ') === true,
    );
    expect(rents(bench)).toHaveLength(1);
    expect(destroys(bench)).toEqual([]);
  });
});
