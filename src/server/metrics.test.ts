import { describe, expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import type { EndpointGroup } from '../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import type { Outage } from '../api/v1alpha1/outage.ts';
import { totalCost } from '../instance/cost.ts';
import { TransportError } from '../lib/transport.ts';
import type { KubeObject } from '../runtime/kube/kube-object.ts';
import type { Change } from '../runtime/list-watch/object-store.ts';
import { costRows } from '../views/cost.ts';
import { instanceFigures } from '../views/instance-figures.ts';
import { type AccountFigures, showAccounts } from './account-metrics.ts';
import { type Conditioned, watchConditions } from './condition-metrics.ts';
import { showGroups } from './group-metrics.ts';
import { bootSeconds, endedReasons, watchInstances } from './instance-metrics.ts';
import { countedTransport, routeOf } from './marketplace-request-metrics.ts';
import { createMetricRegistry } from './metric-registry.ts';
import { watchOutages } from './outage-metrics.ts';
import { createRentalMetrics, endFailingDestroys } from './rental-metrics.ts';
import { createRuntimeMetrics, QUEUE_BUCKETS, RECONCILE_BUCKETS } from './runtime-metrics.ts';

/** Returns the lines of one family, without help and type. */
async function linesOf(registry: ReturnType<typeof createMetricRegistry>, name: string): Promise<string[]> {
  return (await registry.expose())
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
}

describe('the runtime under controller-runtime’s names', () => {
  test('every result of a controller is there from the start', async () => {
    const registry = createMetricRegistry();
    createRuntimeMetrics(registry).maxConcurrentReconciles('gpuinstance', 4);
    const totals = await linesOf(registry, 'controller_runtime_reconcile_total');
    expect(totals.map((line) => /result="(\w+)"/.exec(line)?.[1])).toEqual([
      'success',
      'error',
      'requeue',
      'requeue_after',
    ]);
    for (const family of [
      'reconcile_errors',
      'terminal_reconcile_errors',
      'reconcile_panics',
      'reconcile_timeouts',
    ]) {
      expect(await linesOf(registry, `controller_runtime_${family}_total`)).toEqual([
        `controller_runtime_${family}_total{controller="gpuinstance"} 0`,
      ]);
    }
  });

  test('counts an error by its result and in its own family', async () => {
    const registry = createMetricRegistry();
    createRuntimeMetrics(registry).reconciled('gpuinstance', 'error', 0.2);
    const text = await registry.expose();
    expect(text).toContain('controller_runtime_reconcile_total{controller="gpuinstance",result="error"} 1');
    expect(text).toContain('controller_runtime_reconcile_errors_total{controller="gpuinstance"} 1');
  });

  test('buckets are those of controller-runtime', async () => {
    const registry = createMetricRegistry();
    const metrics = createRuntimeMetrics(registry);
    metrics.reconciled('c', 'success', 0.01);
    metrics.waited('c', 0.01);
    const bounds = async (name: string) =>
      (await linesOf(registry, `${name}_bucket`)).map((line) =>
        Number(/le="([^"]+)"/.exec(line)?.[1]?.replace('+Inf', 'Infinity')),
      );
    expect(await bounds('controller_runtime_reconcile_time_seconds')).toEqual([
      ...RECONCILE_BUCKETS,
      Infinity,
    ]);
    expect(await bounds('workqueue_queue_duration_seconds')).toEqual([...QUEUE_BUCKETS, Infinity]);
    expect(RECONCILE_BUCKETS).toHaveLength(40);
    expect(QUEUE_BUCKETS).toHaveLength(12);
  });

  test('queues carry both name and controller', async () => {
    const registry = createMetricRegistry();
    const metrics = createRuntimeMetrics(registry);
    metrics.added('gpuinstance');
    metrics.depth('gpuinstance', 10, 3);
    expect(await linesOf(registry, 'workqueue_adds_total')).toEqual([
      'workqueue_adds_total{name="gpuinstance",controller="gpuinstance"} 1',
    ]);
    expect(await linesOf(registry, 'workqueue_depth')).toEqual([
      'workqueue_depth{name="gpuinstance",controller="gpuinstance",priority="10"} 3',
    ]);
  });

  test('requests, leadership', async () => {
    const registry = createMetricRegistry();
    const metrics = createRuntimeMetrics(registry);
    metrics.requested({ method: 'PUT', host: 'h:6443', code: '409', seconds: 0.1 });
    metrics.leading('gpu-rental-operator', true);
    metrics.ledAfter('gpu-rental-operator', 17);
    const text = await registry.expose();
    expect(text).toContain('rest_client_requests_total{code="409",method="PUT",host="h:6443"} 1');
    expect(text).toContain('leader_election_master_status{name="gpu-rental-operator"} 1');
    expect(text).toContain('gpu_rental_leader_gap_seconds{name="gpu-rental-operator"} 17');
  });
});

describe('requests to marketplaces', () => {
  test.each([
    ['/api/v0/asks/8001502/', '/api/v0/asks/{id}/'],
    ['/api/v0/instances/20/ssh/7/', '/api/v0/instances/{id}/ssh/{id}/'],
    ['/api/v1/instances/?limit=25&after_token=abc', '/api/v1/instances/'],
    ['/api/v0/users/current', '/api/v0/users/current'],
    ['/api/v0/volumes/5', '/api/v0/volumes/{id}'],
  ])('%s is counted as %s', (path, route) => {
    expect(routeOf(path)).toBe(route);
  });

  test('a request without a reply is counted too, and its error passes on', async () => {
    const registry = createMetricRegistry();
    const lost = new TransportError('lost', { sent: true });
    const transport = countedTransport(() => Promise.reject(lost), createVirtualClock(), registry);
    const request = { method: 'PUT', origin: 'https://m.example', path: '/api/v0/asks/5/', headers: {} };
    await expect(transport(request)).rejects.toBe(lost);
    expect(await linesOf(registry, 'gpu_rental_marketplace_requests_total')).toEqual([
      'gpu_rental_marketplace_requests_total{method="PUT",route="/api/v0/asks/{id}/",code="<error>"} 1',
    ]);
  });
});

describe('what controllers report', () => {
  test('rentals by outcome, destroys by reason, costs', async () => {
    const registry = createMetricRegistry();
    const metrics = createRentalMetrics(registry);
    metrics.rented('team/default');
    metrics.rentalFailed('team/default', 'offerGone');
    metrics.ended('team/default', 'HostOffline', 2_000_000);
    const text = await registry.expose();
    expect(text).toContain('gpu_rental_rentals_total{namespace="team",account="default",outcome="rented"} 1');
    expect(text).toContain(
      'gpu_rental_rentals_total{namespace="team",account="default",outcome="offerGone"} 1',
    );
    expect(text).toContain(
      'gpu_rental_machine_cost_dollars_sum{namespace="team",account="default",reason="HostOffline"} 2',
    );
  });

  test('a destroy that fails shows what it costs until it works', async () => {
    const registry = createMetricRegistry();
    const metrics = createRentalMetrics(registry);
    metrics.destroyFailing('team/a', 700_000);
    const family = 'gpu_rental_destroy_failing_dollars_per_hour';
    expect(await linesOf(registry, family)).toEqual([`${family}{namespace="team",name="a"} 0.7`]);
    metrics.destroyFailing('team/a', 0);
    expect(await linesOf(registry, family)).toEqual([]);
  });

  test('an account that goes leaves no figures behind', async () => {
    const registry = createMetricRegistry();
    let accounts = [ACCOUNT_FIGURES];
    showAccounts(registry, () => accounts);
    expect(await linesOf(registry, 'gpu_rental_dollars_per_hour')).toEqual([
      'gpu_rental_dollars_per_hour{namespace="team",account="default"} 1.5',
    ]);
    expect(await linesOf(registry, 'gpu_rental_mislabelled_dollars_per_hour')).toEqual([
      'gpu_rental_mislabelled_dollars_per_hour{namespace="team",account="default"} 0.4',
    ]);
    expect(await linesOf(registry, 'gpu_rental_credit_dollars')).toEqual([]);
    expect(await linesOf(registry, 'gpu_rental_breaker_open')).toEqual([
      'gpu_rental_breaker_open{namespace="team",account="default"} 1',
    ]);
    expect(await linesOf(registry, 'gpu_rental_pacing_wait_seconds')).toEqual([
      'gpu_rental_pacing_wait_seconds{namespace="team",account="default",class="rent"} 2',
    ]);
    expect(await linesOf(registry, 'gpu_rental_queued_instances')).toEqual([
      'gpu_rental_queued_instances{namespace="team",account="default"} 2',
    ]);
    expect(await linesOf(registry, 'gpu_rental_queue_longest_wait_seconds')).toEqual([
      'gpu_rental_queue_longest_wait_seconds{namespace="team",account="default"} 90',
    ]);
    accounts = [];
    expect(await linesOf(registry, 'gpu_rental_dollars_per_hour')).toEqual([]);
    expect(await linesOf(registry, 'gpu_rental_queued_instances')).toEqual([]);
  });

  test.each([
    ['lasts as long as it pays what bills now', 3_000_000, 1_500_000, [7200]],
    ['is used up', -10, 1_500_000, [0]],
    ['may not be read', undefined, 1_500_000, []],
    ['pays for nothing', 3_000_000, 0, []],
  ] as const)('credit that %s', async (_, credit, dollarsPerHour, seconds) => {
    const registry = createMetricRegistry();
    showAccounts(registry, () => [{ ...ACCOUNT_FIGURES, credit, dollarsPerHour }]);
    const family = 'gpu_rental_credit_runway_seconds';
    expect(await linesOf(registry, family)).toEqual(
      seconds.map((value) => `${family}{namespace="team",account="default"} ${value}`),
    );
  });
});

const ACCOUNT_FIGURES: AccountFigures = {
  namespace: 'team',
  account: 'default',
  dollarsPerHour: 1_500_000,
  credit: undefined,
  liveMachines: 2,
  rentalsLastHour: 3,
  spentThisMonth: 0,
  orphans: 1,
  orphanDollarsPerHour: 500_000,
  mislabelled: 1,
  mislabelledDollarsPerHour: 400_000,
  breakerOpen: true,
  listAgeSeconds: 4,
  queued: 2,
  queueSeconds: 90,
  waitSeconds: { rent: 2 },
};

/** Returns an informer as metrics use it. */
function source<T>(objects: T[]) {
  const listeners: ((change: Change<T>) => void)[] = [];
  return {
    list: () => objects,
    onChange: (listener: (change: Change<T>) => void) => listeners.push(listener),
    tell: (change: Change<T>) => {
      for (const listener of listeners) listener(change);
    },
  };
}

describe('conditions', () => {
  const object = (status: 'True' | 'False', at: string): Conditioned => ({
    apiVersion: 'v1',
    kind: 'X',
    metadata: { namespace: 'team', name: 'a' },
    status: { conditions: [{ type: 'Ready', status, reason: 'R', message: '', lastTransitionTime: at }] },
  });

  test('are counted, aged, and their changes timed', async () => {
    const registry = createMetricRegistry();
    const clock = createVirtualClock({ startMs: Date.parse('2026-11-20T10:01:30Z') });
    const before = object('False', '2026-11-20T10:00:00Z');
    const now = object('True', '2026-11-20T10:01:00Z');
    const objects = source([now]);
    watchConditions(registry, 'gpuinstance', { source: objects, clock });
    objects.tell({ type: 'updated', key: 'team/a', object: now, previous: before });
    const text = await registry.expose();
    const stem = 'gpu_rental_gpuinstance_status_condition';
    expect(text).toContain(`${stem}_count{type="Ready",status="True",reason="R"} 1`);
    expect(text).toContain(
      `${stem}_current_status_seconds{type="Ready",status="True",reason="R",namespace="team",name="a"} 30`,
    );
    expect(text).toContain(`${stem}_transitions_total{type="Ready",status="True",reason="R"} 1`);
    expect(text).toContain(`${stem}_transition_seconds_sum{type="Ready",status="False"} 60`);
  });
});

describe('P3: outages', () => {
  const object = (outage: Outage | undefined): KubeObject & { status: { outage?: Outage } } => ({
    apiVersion: 'v1',
    kind: 'X',
    metadata: { namespace: 'team', name: 'a' },
    status: { ...(outage && { outage }) },
  });
  const since = '2026-11-20T10:00:00Z';

  test('are counted at their start, aged while they last, and timed at their end, by cause and code', async () => {
    const registry = createMetricRegistry();
    const clock = createVirtualClock({ startMs: Date.parse('2026-11-20T10:01:13Z') });
    const lost = object({ reason: 'Unreachable', since, httpStatus: 503 });
    const well = object(undefined);
    const objects = source([lost]);
    watchOutages(registry, 'marketplaceaccount', { source: objects, clock });
    objects.tell({ type: 'updated', key: 'team/a', object: lost, previous: well });
    const stem = 'gpu_rental_marketplaceaccount_outage';
    const labels = 'reason="Unreachable",code="503"';
    const text = await registry.expose();
    expect(text).toContain(`${stem}s_total{${labels}} 1`);
    expect(text).toContain(`${stem}_seconds{namespace="team",name="a",${labels}} 73`);
    objects.tell({ type: 'updated', key: 'team/a', object: well, previous: lost });
    expect(await registry.expose()).toContain(`${stem}_duration_seconds_sum{${labels}} 73`);
  });

  test('have the code of the connection if there was no reply', async () => {
    const registry = createMetricRegistry();
    const clock = createVirtualClock({ startMs: Date.parse(since) });
    const objects = source([object({ reason: 'Unreachable', since, code: 'ECONNREFUSED' })]);
    watchOutages(registry, 'gpuinstance', { source: objects, clock });
    expect(await registry.expose()).toContain('reason="Unreachable",code="ECONNREFUSED"} 0');
  });
});

describe('groups', () => {
  test('show what their status says, and nothing that it does not say', async () => {
    const registry = createMetricRegistry();
    const group = (name: string, status: object | undefined) =>
      ({ metadata: { namespace: 'team', name }, spec: { maxWorkers: 9, load: {} }, status }) as EndpointGroup;
    const autoscaling = { hot: 3, total: 5, load: '80.25', capacity: '120.5' };
    const told = { replicas: 2, cold: 1, ready: 0, load: '80.25', pricePerHour: '0.75', autoscaling };
    const groups = [group('llm', told), group('new', undefined)];
    showGroups(registry, { list: () => groups });
    const shown = Object.entries({
      hot_workers: 2,
      cold_workers: 1,
      ready_workers: 0,
      desired_hot_workers: 3,
      desired_workers: 5,
      load: 80.25,
      capacity: 120.5,
      dollars_per_hour: 0.75,
    });
    for (const [figure, value] of shown) {
      const family = `gpu_rental_group_${figure}`;
      expect(await linesOf(registry, family)).toEqual([`${family}{namespace="team",name="llm"} ${value}`]);
    }
    groups.length = 0;
    expect(await linesOf(registry, 'gpu_rental_group_load')).toEqual([]);
  });
});

describe('machines', () => {
  const instance = (status: object, metadata: object = {}): GpuInstance =>
    ({
      apiVersion: 'gpurental.dev/v1alpha1',
      kind: 'GpuInstance',
      metadata: { namespace: 'team', name: 'a', uid: 'u', ...metadata },
      spec: { accountRef: { name: 'default' } },
      status,
    }) as GpuInstance;

  test.each([
    ['its machine is off the record', 'updated', {}, []],
    ['its object is gone', 'deleted', { instanceId: '7' }, []],
    ['nothing but its word changed', 'updated', { instanceId: '7', actualStatus: 'offline' }, [0.7]],
  ] as const)('a destroy that fails is shown until %s', async (_, type, status, expected) => {
    const registry = createMetricRegistry();
    const metrics = createRentalMetrics(registry);
    const objects = source<GpuInstance>([]);
    endFailingDestroys(metrics, objects);
    metrics.destroyFailing('team/a', 700_000);
    const change = { key: 'team/a', object: instance(status), previous: instance({ instanceId: '7' }) };
    objects.tell({ type, ...change });
    const family = 'gpu_rental_destroy_failing_dollars_per_hour';
    const lines = expected.map((amount) => `${family}{namespace="team",name="a"} ${amount}`);
    expect(await linesOf(registry, family)).toEqual(lines);
  });

  test('the first time a machine is seen running is its boot', () => {
    const rented = instance({ rentedAt: '2026-11-20T10:00:00Z' });
    const running = instance({ rentedAt: '2026-11-20T10:00:00Z', runningAt: '2026-11-20T10:01:15Z' });
    expect(bootSeconds(rented, running)).toBe(75);
    expect(bootSeconds(running, running)).toBeUndefined();
  });

  test('a machine that joins the history was replaced, unless the object itself goes', () => {
    const before = instance({ history: [{ instanceId: '1', reason: 'Exited' }] });
    const history = [
      { instanceId: '2', reason: 'HostOffline' },
      { instanceId: '1', reason: 'Exited' },
    ];
    expect(endedReasons(before, instance({ history }))).toEqual(['HostOffline']);
    expect(endedReasons(before, instance({ history }, { deletionTimestamp: 'now' }))).toEqual([]);
  });

  test('GPU utilization is that of the machine in the latest list, and absent for one that does not say it', async () => {
    const registry = createMetricRegistry();
    const objects = [instance({ instanceId: '7' }), instance({ instanceId: '8' }, { name: 'b' })];
    watchInstances(registry, {
      source: source(objects),
      clock: createVirtualClock(),
      spendingTime: () => 0,
      utilizationOf: ({ namespace, name }, id) =>
        namespace === 'team' && name === 'default' && id === '7' ? 0.25 : undefined,
    });
    const family = 'gpu_rental_instance_gpu_utilization_ratio';
    expect(await linesOf(registry, family)).toEqual([`${family}{namespace="team",name="a"} 0.25`]);
  });

  test('the age of a lease, and a machine without the proof that it can end itself, are those on record', async () => {
    const registry = createMetricRegistry();
    const clock = createVirtualClock({ startMs: Date.parse('2026-11-20T10:30:00Z') });
    const checkedAt = '2026-11-20T10:10:00Z';
    const objects = [
      instance({
        instanceId: '7',
        lease: { renewedAt: '2026-11-20T10:20:00Z' },
        selfEnd: { proof: 'Proven', checkedAt },
      }),
      instance(
        { instanceId: '8', lease: { since: checkedAt }, selfEnd: { proof: 'Unproven', checkedAt } },
        { name: 'b' },
      ),
      instance({ instanceId: '9', selfEnd: { proof: 'Unproven' } }, { name: 'c' }),
      instance({ lease: { renewedAt: '2026-11-20T10:40:00Z' }, instanceId: '10' }, { name: 'd' }),
    ];
    watchInstances(registry, {
      source: source(objects),
      clock,
      spendingTime: () => clock.now(),
      utilizationOf: () => undefined,
    });
    const age = 'gpu_rental_lease_age_seconds';
    expect(await linesOf(registry, age)).toEqual([
      `${age}{namespace="team",name="a"} 600`,
      `${age}{namespace="team",name="d"} 0`,
    ]);
    const unproven = 'gpu_rental_self_end_unproven';
    expect(await linesOf(registry, unproven)).toEqual([`${unproven}{namespace="team",name="b"} 1`]);
  });

  test('price, phase, GPU and use are those that `top` and `cost` print', async () => {
    const registry = createMetricRegistry();
    const clock = createVirtualClock({ startMs: Date.parse('2026-11-20T10:30:00Z') });
    const cost = { accrued: '1.00', pricePerHour: '0.256659', since: '2026-11-20T10:00:00Z' };
    const gpu = { name: 'RTX 4090', count: 2 };
    const status = { phase: 'Running', instanceId: '7', gpu, cost };
    const objects = [
      instance(status),
      instance(status, { name: 'going', deletionTimestamp: '2026-11-20T10:29:00Z' }),
      instance({ phase: 'Provisioning', instanceId: '8' }, { name: 'new' }),
    ];
    const utilizationOf = (): number => 0.25;
    watchInstances(registry, {
      source: source(objects),
      clock,
      spendingTime: () => clock.now(),
      utilizationOf,
    });
    const text = await registry.expose();
    for (const object of objects) {
      const {
        name,
        phase,
        gpu: shown,
        pricePerHour,
        gpuUtilization,
      } = instanceFigures(object, utilizationOf, clock.now());
      const [row] = costRows([object], clock.now());
      const labels = `namespace="team",name="${name}"`;
      const described = `phase="${phase}",gpu="${shown?.name ?? ''}",count="${shown?.count ?? ''}"`;
      expect(text).toContain(`gpu_rental_instance_info{${labels},account="default",${described}} 1`);
      expect(text).toContain(`gpu_rental_instance_dollars_per_hour{${labels}} ${pricePerHour ?? 0}\n`);
      expect(text).toContain(`gpu_rental_instance_dollars_per_hour{${labels}} ${row?.perHour}\n`);
      expect(text).toContain(`gpu_rental_instance_gpu_utilization_ratio{${labels}} ${gpuUtilization}\n`);
    }
    expect(text).toContain('phase="Deleting"');
  });

  test('money moves between writes', () => {
    const running = instance({
      cost: { accrued: '1.00', pricePerHour: '2.00', since: '2026-11-20T10:00:00Z' },
    });
    expect(totalCost(running.status?.cost, Date.parse('2026-11-20T10:30:00Z'))).toBe(2_000_000);
  });

  test('spending goes by the time of the service, and no faster when our wall clock is set', async () => {
    const registry = createMetricRegistry();
    const clock = createVirtualClock({ startMs: Date.parse('2026-11-20T10:00:00Z') });
    const began = clock.now();
    const since = '2026-11-20T10:00:00Z';
    const reported = { pricePerHour: '7.20', since };
    const objects = source([
      instance({ instanceId: '7', cost: { accrued: '5.00', pricePerHour: '3.60', since, reported } }),
    ]);
    watchInstances(registry, {
      ...{ source: objects, clock, utilizationOf: () => undefined },
      spendingTime: () => began + clock.monotonic(),
    });
    await registry.expose();
    clock.jumpWallClock(3_600_000);
    await clock.advance(1_000_000);
    const text = await registry.expose();
    expect(text).toContain('gpu_rental_dollars_spent_total{namespace="team",account="default"} 1\n');
    expect(text).toContain('gpu_rental_instance_provisional_dollars{namespace="team",name="a"} 1\n');
    expect(text).toContain('gpu_rental_provisional_month_dollars{namespace="team",account="default"} 1\n');
  });

  test('spending is counted once, through writes, extrapolation and the end of the object', async () => {
    const registry = createMetricRegistry();
    const clock = createVirtualClock({ startMs: Date.parse('2026-11-20T10:00:00Z') });
    const first = instance({
      cost: { accrued: '5.00', pricePerHour: '3.60', since: '2026-11-20T10:00:00Z' },
    });
    const objects = source([first]);
    watchInstances(registry, {
      source: objects,
      clock,
      spendingTime: () => clock.now(),
      utilizationOf: () => undefined,
    });
    const family = 'gpu_rental_dollars_spent_total';
    expect(await linesOf(registry, family)).toEqual([]);
    await clock.advance(1_000_000);
    expect(await linesOf(registry, family)).toEqual([`${family}{namespace="team",account="default"} 1`]);
    const ended = instance({ cost: { accrued: '6.50' } });
    objects.tell({ type: 'updated', key: 'team/a', object: ended, previous: first });
    objects.tell({ type: 'deleted', key: 'team/a', object: ended });
    objects.list().length = 0;
    expect(await linesOf(registry, family)).toEqual([`${family}{namespace="team",account="default"} 1.5`]);
  });
});
