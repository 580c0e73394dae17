import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MarketplaceClient } from '../../src/markets/vast/client.ts';
import type { ActualStatus } from '../../src/markets/vast/instances/instance.ts';
import { clientOf, failureOf } from '../builders/simulated-client.ts';
import { type SimulatedService, simulatedService } from '../builders/simulated-service.ts';
import { readStrictly } from '../settings/reader.ts';

const PROFILES = ['public', 'specification'] as const;
const WALK_RUNS = readStrictly(process.env, (reader) => reader.whole('WALK_RUNS', 1, 1_000_000)) ?? 50;

async function rent(client: MarketplaceClient) {
  const offers = await client.offers.search({
    filters: [
      { field: 'rentable', operator: 'eq', value: true },
      { field: 'verified', operator: 'eq', value: true },
    ],
    limit: 1,
  });
  return client.instances.rent(
    offers[0]?.id ?? '',
    { image: 'example/image:1', diskGB: 10 },
    { deadlineMs: 30_000 },
  );
}

describe.for(PROFILES)('our client and instances, %s profile', (profile) => {
  test('searches, rents, polls until running, stops and destroys', async () => {
    const service = simulatedService({ profile });
    const client = clientOf(service);
    const { instanceId, instanceApiKey } = await rent(client);
    expect(instanceApiKey?.reveal()).toMatch(/\S/);
    expect((await client.instances.get(instanceId))?.actualStatus).toBeNull();
    service.advance(600);
    const running = await client.instances.get(instanceId);
    expect(running).toMatchObject({
      actualStatus: 'running',
      sshHost: expect.any(String),
      sshPort: expect.any(Number),
    });
    await client.instances.stop(instanceId);
    service.advance(60);
    const stopped = (await client.instances.get(instanceId))?.actualStatus;
    expect(stopped).toBe(profile === 'public' ? 'stopped' : 'exited');
    await client.instances.destroy(instanceId);
    expect((await client.instances.list()).instances).toEqual([]);
  });

  test('an account without instances lists none', async () => {
    expect((await clientOf(simulatedService({ profile })).instances.list()).instances).toEqual([]);
  });

  test('an offer is rented once', async () => {
    const service = simulatedService({ profile });
    const client = clientOf(service);
    const [offer] = await client.offers.search({ filters: [], limit: 1 });
    const wish = { image: 'x', diskGB: 10 };
    const options = { deadlineMs: 30_000 };
    await client.instances.rent(offer?.id ?? '', wish, options);
    const second = await failureOf(client.instances.rent(offer?.id ?? '', wish, options));
    expect({ kind: second.kind, outcome: second.outcome }).toEqual({ kind: 'offerGone', outcome: 'refused' });
  });
});

/** Step of a walk with its only machine. */
type Step =
  | { readonly type: 'wait'; readonly seconds: number }
  | { readonly type: 'rent' | 'stop' | 'start' | 'reboot' | 'recycle' | 'label' | 'destroy' }
  | { readonly type: 'hostLost'; readonly state: 'offline' | 'unknown' };

const wait = fc.record({ type: fc.constant('wait' as const), seconds: fc.integer({ min: 1, max: 400 }) });
const hostLost = fc.record({
  type: fc.constant('hostLost' as const),
  state: fc.constantFrom('offline', 'unknown' as const),
});

/** Steps of each profile: those of the specification, and the additional ones of the public service. */
const STEPS: Readonly<Record<(typeof PROFILES)[number], fc.Arbitrary<Step>>> = {
  specification: fc.oneof(
    { weight: 4, arbitrary: wait },
    {
      weight: 3,
      arbitrary: fc.record({ type: fc.constantFrom('rent', 'rent', 'stop', 'destroy' as const) }),
    },
    { weight: 1, arbitrary: hostLost },
  ),
  public: fc.oneof(
    { weight: 4, arbitrary: wait },
    {
      weight: 3,
      arbitrary: fc.record({ type: fc.constantFrom('rent', 'stop', 'start', 'destroy' as const) }),
    },
    { weight: 2, arbitrary: fc.record({ type: fc.constantFrom('reboot', 'recycle', 'label' as const) }) },
    { weight: 1, arbitrary: hostLost },
  ),
};

/** Possible next status of a machine, by its current one: specification 3.1 has six words. */
const NEXT: Readonly<Record<(typeof PROFILES)[number], Readonly<Record<string, readonly ActualStatus[]>>>> = {
  specification: {
    rented: [null],
    null: [null, 'loading', 'running', 'exited', 'offline', 'unknown'],
    loading: ['loading', 'running', 'exited', 'offline', 'unknown'],
    running: ['running', 'exited', 'offline', 'unknown'],
    exited: ['exited', 'offline', 'unknown'],
    // Stopped by its user all the same.
    offline: ['offline', 'exited'],
    unknown: ['unknown', 'exited'],
  },
  public: {
    rented: [null],
    null: [null, 'created', 'loading', 'running', 'stopped', 'offline', 'unknown'],
    created: ['created', 'loading', 'running', 'stopped', 'offline', 'unknown'],
    loading: ['loading', 'running', 'stopped', 'offline', 'unknown'],
    running: ['running', 'stopped', 'loading', 'rebooting', 'offline', 'unknown'],
    rebooting: ['rebooting', 'running', 'stopped', 'loading', 'offline', 'unknown'],
    stopped: ['stopped', 'loading', 'running', 'offline', 'unknown'],
    offline: ['offline'],
    unknown: ['unknown'],
  },
};

/** Machine as the walk knows it. */
interface Watched {
  id: string | undefined;
  seen: string;
  isLost: boolean;
  /** True if its user stopped it: compute is then not billed. */
  isStopped: boolean;
  /** Expected label. */
  label: string | null;
}

describe.for(PROFILES)('random walks of our client through the life of a machine, %s profile', (profile) => {
  test('show only what may follow, bill nothing after a destroy, and never bring a lost machine back', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(STEPS[profile], { maxLength: 60, size: 'max' }), async (walk) => {
        const service = simulatedService({ profile, catalog: 150 });
        const client = clientOf(service);
        const watched: Watched = {
          id: undefined,
          seen: 'none',
          isLost: false,
          isStopped: false,
          label: null,
        };
        for (const step of walk) {
          await take({ profile, service, client, watched }, step);
          await look({ profile, service, client, watched });
        }
      }),
      { numRuns: WALK_RUNS },
    );
  });
});

interface Walk {
  readonly profile: (typeof PROFILES)[number];
  readonly service: SimulatedService;
  readonly client: MarketplaceClient;
  readonly watched: Watched;
}

async function take(walk: Walk, step: Step): Promise<void> {
  const { watched } = walk;
  if (step.type === 'wait') return waitAndPay(walk, step.seconds);
  if (step.type === 'rent') return watched.id === undefined ? rentOne(walk) : undefined;
  if (watched.id === undefined) return undefined;
  if (step.type === 'hostLost') return loseHost(walk, step.state);
  if (step.type === 'destroy') return destroyOne(walk);
  await change(walk, watched.id, step.type);
  if (step.type === 'stop') watched.isStopped = true;
  if (step.type === 'start' || step.type === 'recycle') watched.isStopped = false;
}

async function change(
  { client, watched }: Walk,
  id: string,
  wanted: 'stop' | 'start' | 'reboot' | 'recycle' | 'label',
): Promise<void> {
  switch (wanted) {
    case 'stop':
      await client.instances.stop(id);
      return;
    case 'start':
      await client.instances.start(id);
      return;
    case 'recycle':
      await client.instances.recycle(id);
      return;
    case 'label':
      watched.label = `label after ${watched.seen}`;
      await client.instances.label(id, watched.label);
      return;
    case 'reboot':
      // Only what is meant to run can be rebooted.
      if (watched.isStopped)
        expect((await failureOf(client.instances.reboot(id))).message).toContain('not_running');
      else await client.instances.reboot(id);
      return;
    default: {
      wanted satisfies never;
    }
  }
}

/** Advances time and checks that each second costs the price in the row, or only the disk, whatever the status. */
async function waitAndPay(walk: Walk, seconds: number): Promise<void> {
  const { service, watched } = walk;
  const dollars = async (): Promise<number> => (await service.call('GET /sim/ledger')).body.dollars;
  const before = await dollars();
  const price = watched.id === undefined ? { whole: 0, disk: 0 } : await priceOf(walk, watched.id);
  service.advance(seconds);
  const rate = watched.isStopped ? price.disk : price.whole;
  expect((await dollars()) - before).toBeCloseTo((rate * seconds) / 3600, 5);
}

/** Returns the dollars per hour from the row, or the actual ones if no row shows them. */
async function priceOf({ profile, service }: Walk, id: string): Promise<{ whole: number; disk: number }> {
  if (profile === 'public') {
    const row = (await service.call(`GET /api/v0/instances/${id}/`)).body.instances;
    return { whole: row.dph_total, disk: row.storage_total_cost };
  }
  const { gpuPricePerHour = 0, diskPricePerHour = 0 } =
    service.simulator.world().tables.contracts[Number(id)] ?? {};
  return { whole: (gpuPricePerHour + diskPricePerHour) / 1e6, disk: diskPricePerHour / 1e6 };
}

async function rentOne({ client, watched }: Walk): Promise<void> {
  const { instanceId } = await rent(client);
  Object.assign(watched, { id: instanceId, seen: 'rented', isLost: false, isStopped: false, label: null });
}

/**
 * Takes a host offline: for good, or for a minute in the specification profile, where a lost machine stays lost after
 * its outage.
 */
function loseHost({ profile, service, watched }: Walk, state: 'offline' | 'unknown'): void {
  const contract = service.simulator.world().tables.contracts[Number(watched.id)];
  const machine = contract && service.simulator.world().tables.machines[contract.machineId];
  if (!machine || watched.isLost) return;
  const stateUntil = profile === 'public' ? null : service.simulator.now() + 60_000;
  service.put('machines', { ...machine, state, stateUntil });
  watched.isLost = true;
}

async function destroyOne({ service, client, watched }: Walk): Promise<void> {
  await client.instances.destroy(watched.id ?? '');
  Object.assign(watched, { id: undefined, seen: 'none' });
  const before = (await service.call('GET /sim/ledger')).body;
  service.advance(3600);
  const after = (await service.call('GET /sim/ledger')).body;
  expect({ billing: after.billing, dollars: after.dollars }).toEqual({ billing: 0, dollars: before.dollars });
}

async function look({ profile, client, watched }: Walk): Promise<void> {
  const { instances } = await client.instances.list();
  expect(instances.map(({ id }) => id)).toEqual(watched.id === undefined ? [] : [watched.id]);
  if (watched.id === undefined) return;
  const seen = await client.instances.get(watched.id);
  const status = seen?.actualStatus;
  expect(seen?.label ?? null).toBe(watched.label);
  expect(NEXT[profile][watched.seen]).toContain(status);
  if (watched.isLost) expect(status).not.toBe('running');
  watched.seen = String(status);
}
