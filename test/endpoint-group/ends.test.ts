import { describe, expect, test } from 'vitest';
import { SimulatedGroup } from '../builders/simulated-group.ts';
import { metadataOf, objectAt } from '../simulation/memory-kube/json.ts';
import { NAMESPACE } from '../simulation/world.ts';

const isAsleep = (life: SimulatedGroup) => life.fleet.running === 0 && life.status().starting === 0;
const instances = (life: SimulatedGroup) => life.workers().map(({ status }) => status?.instanceId);

/** Edits the limits of the account as a user. */
function limitAccount(life: SimulatedGroup, limits: Record<string, string>): void {
  const kind = life.world.kube.kind('marketplaceaccounts');
  const [account] = life.world.kube.store.all(kind);
  if (!account) throw new Error('There is no account.');
  const name = String(metadataOf(account).name);
  life.world.kube.writes.update(
    { kind, namespace: NAMESPACE, name },
    (current) => ({ ...current, spec: { ...objectAt(current, 'spec'), limits } }),
    undefined,
  );
}

describe('a wake', () => {
  test('that a limit of the account forbids destroys no machine and avoids no host, and goes on once it is raised', async () => {
    const life = new SimulatedGroup();
    life.begin({ coldWorkers: 2 });
    await life.until('two sleep', () => life.status().cold === 2 && isAsleep(life));
    const before = instances(life);
    limitAccount(life, { maxSpendPerHour: '0.05' });
    await life.pass(30);
    life.edit({ minLoad: '150' });
    await life.pass(300);
    expect(instances(life)).toEqual(before);
    limitAccount(life, {});
    await life.until('both serve', () => life.status().ready === 2);
    expect(instances(life)).toEqual(before);
    expect(life.rentals()).toBe(2);
  });
});

describe('a machine that ends for good', () => {
  test('while it sleeps is replaced before anybody wants it', async () => {
    const life = new SimulatedGroup();
    life.begin({ coldWorkers: 1 });
    await life.until('one sleeps', () => life.status().cold === 1 && isAsleep(life));
    const [machine] = instances(life);
    await life.fault('destroyed-elsewhere', { instance: machine });
    await life.until('another sleeps', () => {
      const [now] = instances(life);
      return now !== undefined && now !== machine && isAsleep(life);
    });
    expect(life.status()).toMatchObject({ cold: 1, total: 1 });
  });

  test('since its lifetime is over is replaced by another', async () => {
    const life = new SimulatedGroup();
    life.create({ minLoad: '50' });
    const { template } = life.group()?.spec ?? {};
    life.edit({ template: { ...template, spec: { ...template?.spec, maxLifetime: '15m' } } as never });
    life.world.startProcess();
    await life.until('one serves', () => life.status().ready === 1);
    const [machine] = instances(life);
    await life.until('its time is over', () => life.status().ready === 0, 1000);
    await life.until('another serves', () => life.status().ready === 1, 300);
    expect(instances(life)).not.toContain(machine);
  });
});
