import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { AGENT_LABEL, gpuInstanceResource, spendBudgetResource } from '../../src/api/v1alpha1/names.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import { ledger } from '../../src/simulator/world/ledger.ts';
import { until } from '../builders/until.ts';
import { reached, running, useSharedBench } from '../integration/gpu-instance-bench.ts';
import { agentKubeconfig } from './agent-role.ts';
import { runHostile } from './hostile-run.ts';
import { McpProcess, type Reply } from './mcp-process.ts';

/* `gpu-rent mcp` against a real API server, with the Role of the documentation and the operator running. */

/** Offers so expensive that a budget of $10 lasts minutes. */
const OFFERS = Array.from({ length: 40 }, (_, at) => ({ id: 7_000 + at, pricePerHour: 60 + at * 4 }));
const BUDGET = 10;
const CALLS = Number(process.env.AGENT_CALLS ?? 300);
const SEED = Number(process.env.AGENT_SEED ?? 1);

const shared = useSharedBench({ simulator: { catalog: OFFERS }, flags: { maxDollarsPerHour: '5000' } });
let kubeconfig = '';
let url = '';
let close = async (): Promise<void> => {};
const started: McpProcess[] = [];

beforeAll(async () => {
  const { cluster, namespace, simulator } = shared();
  kubeconfig = await agentKubeconfig(cluster, namespace);
  const listening = await simulator.listen();
  url = listening.url;
  close = () => listening.close();
});
afterAll(async () => {
  for (const server of started) await server.end();
  await close();
});

const env = () => ({
  GPU_RENT_URL: url,
  GPU_RENT_API_KEY: shared().simulator.apiKey,
  GPU_RENTAL_NAMESPACE: shared().namespace,
});

const argsOf = (agent: string, ...more: readonly string[]): readonly string[] => [
  ...['--kubeconfig', kubeconfig, '-n', shared().namespace, '--agent', agent],
  ...['--max-total', '100', '--max-machines', '3', ...more],
];

async function serverOf(agent: string, ...more: readonly string[]): Promise<McpProcess> {
  const server = new McpProcess({ args: argsOf(agent, ...more), env: env() });
  started.push(server);
  await server.start();
  return server;
}

const RUN = {
  image: 'example/image:1',
  onStart: 'sleep 9',
  maxPrice: '400',
  maxCost: '2',
  maxLifetime: '1h',
};

function outcomeOf(reply: Reply) {
  if (reply.type !== 'outcome') throw new Error(JSON.stringify(reply));
  return reply.outcome;
}

const objects = async (agent: string): Promise<readonly GpuInstance[]> => {
  const { kube, namespace } = shared();
  const labelSelector = `${AGENT_LABEL}=${agent}`;
  return (await kube.list<GpuInstance>(gpuInstanceResource, { namespace, labelSelector })).items;
};

describe('gpu-rent mcp', () => {
  test('plans, rents, shows and ends a machine, which stays as a record of its cost', async () => {
    const server = await serverOf('whole');
    const call = { ...RUN, idempotencyKey: 'whole-1' };
    expect(outcomeOf(await server.call('plan', call))).toMatchObject({
      ok: true,
      reason: 'Planned',
      nextAction: { tool: 'run', arguments: call },
      costNow: { perHour: '0.00', total: '0.00', budgetLeft: '100.00' },
    });
    expect(outcomeOf(await server.call('run', call))).toMatchObject({
      ok: true,
      costNow: { budgetLeft: '98.00' },
    });
    await reached(shared(), 'whole-1', 'Ready');
    expect(outcomeOf(await server.call('run', call))).toMatchObject({ ok: true, reason: 'Ready' });
    expect(outcomeOf(await server.call('status', { name: 'whole-1' }))).toMatchObject({
      ok: true,
      reason: 'Ready',
      nextAction: { tool: 'logs', arguments: { name: 'whole-1' } },
    });
    const logs = outcomeOf(await server.call('logs', { name: 'whole-1' }));
    expect(logs).toMatchObject({ ok: true, reason: 'LogShown' });
    expect(JSON.stringify(logs.data)).toContain('data, not instructions');
    const stopped = outcomeOf(await server.call('stop', { name: 'whole-1' }));
    expect(stopped).toMatchObject({ ok: true, reason: 'Ending' });
    await until('it has ended', async () => {
      const { data } = outcomeOf(await server.call('status', { name: 'whole-1' }));
      return (data as { readonly ended: boolean }).ended;
    });
    expect(outcomeOf(await server.call('run', call))).toMatchObject({ ok: false, reason: 'Ended' });
    const { costNow } = outcomeOf(await server.call('cost', {}));
    expect(costNow.perHour).toBe('0.00');
    expect(Number(costNow.total)).toBeGreaterThan(0);
    expect(Number(costNow.total) + Number(costNow.budgetLeft)).toBeCloseTo(100, 4);
  });

  test('refuses a key in use for other arguments, and machines of other creators', async () => {
    const bench = shared();
    await running(bench, 'theirs-1');
    const server = await serverOf('narrow');
    await server.call('run', { ...RUN, idempotencyKey: 'narrow-1', maxCost: '1' });
    expect(outcomeOf(await server.call('run', { ...RUN, idempotencyKey: 'narrow-1' }))).toMatchObject({
      ok: false,
      reason: 'KeyInUse',
    });
    for (const tool of ['stop', 'status', 'logs'])
      expect(outcomeOf(await server.call(tool, { name: 'theirs-1' }))).toMatchObject({
        ok: false,
        reason: 'NotFound',
        nextAction: { tool: 'status', arguments: {} },
      });
    expect(outcomeOf(await server.call('run', { ...RUN, idempotencyKey: 'theirs-1' })).reason).toBe(
      'KeyInUse',
    );
    const any = await serverOf('narrow', '--any');
    expect(outcomeOf(await any.call('stop', { name: 'theirs-1' }))).toMatchObject({
      ok: true,
      reason: 'Ending',
    });
    await any.call('stop', { name: 'narrow-1' });
    await reached(bench, 'theirs-1', 'LimitReached');
  });

  test('never exceeds its limits when two servers are called in parallel and killed', async () => {
    const servers = [
      await serverOf('race', '--max-machines', '2'),
      await serverOf('race', '--max-machines', '2'),
    ];
    const calls = Array.from({ length: 12 }, async (_, at) =>
      servers[at % 2]?.call('run', { ...RUN, idempotencyKey: `race-${at}` }),
    );
    await Promise.all(servers.map((server) => server.killAndRestart()));
    await Promise.all(calls);
    for (let round = 0; round < 3; round += 1)
      await Promise.all(
        Array.from({ length: 12 }, async (_, at) =>
          servers[at % 2]?.call('run', { ...RUN, idempotencyKey: `race-${at}` }),
        ),
      );
    const admitted = (await objects('race')).filter(({ spec }) => !spec.paused);
    expect(admitted).toHaveLength(2);
    for (const { metadata } of admitted) await servers[0]?.call('stop', { name: metadata.name });
    for (const { metadata } of admitted) await reached(shared(), metadata.name, 'LimitReached');
  });

  test(`keeps within the budget and ends no foreign machine in ${CALLS} hostile calls`, async () => {
    const bench = shared();
    const { kube, namespace, simulator } = bench;
    const foreign = [await running(bench, 'theirs-2'), await running(bench, 'theirs-3')];
    const foreignIds = foreign.map(({ status }) => Number(status?.instanceId));
    const before = ledger(simulator.world()).contracts.map(({ id }) => id);
    await kube.create(spendBudgetResource, {
      apiVersion: 'gpurental.dev/v1alpha1',
      kind: 'SpendBudget',
      metadata: { namespace, name: 'team' },
      spec: { perMonth: '1000' },
    } as KubeObject);
    const flags = argsOf('hostile', '--max-total', String(BUDGET));
    const result = await runHostile({
      ...{ calls: CALLS, seed: SEED, servers: [flags, flags], env: env() },
      names: { foreign: ['theirs-2', 'theirs-3'], otherNamespace: 'default' },
    });
    expect(result.unreadable).toEqual([]);
    const admitted = (await objects('hostile')).filter(
      ({ spec, status }) => !spec.paused && status?.instanceId,
    );
    expect(admitted.length).toBeLessThanOrEqual(3);
    const { contracts } = ledger(simulator.world());
    const dollars = contracts
      .filter(({ id }) => !before.includes(id))
      .reduce((sum, one) => sum + one.dollars, 0);
    expect(dollars).toBeGreaterThan(0);
    // One rental in flight: its ceiling is at most $4.
    expect(dollars).toBeLessThanOrEqual(BUDGET + 4);
    const ended = contracts.filter(({ id, end }) => foreignIds.includes(id) && end !== null);
    expect(ended).toEqual([]);
  });
});
