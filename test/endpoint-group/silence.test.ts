import { describe, expect, test } from 'vitest';
import { annotations } from '../../src/api/v1alpha1/names.ts';
import { SimulatedGroup } from '../builders/simulated-group.ts';

const LONGER_THAN_ANY_WINDOW = 600;

const hostOf = (life: SimulatedGroup) => life.workers()[0]?.status?.hostId ?? 0;

/** Returns a group whose workers follow only the load, and whose machines now boot slowly. */
async function busy(offered: number, workers: number): Promise<SimulatedGroup> {
  const life = new SimulatedGroup();
  life.begin({ minLoad: String(offered) });
  await life.until('all serve', () => life.status().ready === workers);
  life.fleet.offered = offered;
  life.edit({ minLoad: '0' });
  await life.pass(120);
  await life.bootTakes(LONGER_THAN_ANY_WINDOW);
  return life;
}

describe('a group whose workers alone know of its load', () => {
  test('keeps its only worker while a new machine boots in place of one that died, however long that takes', async () => {
    const life = await busy(80, 1);
    await life.fault('host-death', { host: hostOf(life) });
    await life.until(
      'it is missed',
      () => life.condition('MetricsAvailable')?.reason === 'LoadUnavailable',
      300,
    );
    await life.until('it serves again', () => life.status().ready === 1, 1200);
    await life.pass(400);
    expect(life.status()).toMatchObject({ replicas: 1, ready: 1, load: '80' });
    expect(life.condition('MetricsAvailable')).toMatchObject({ status: 'True' });
    expect(life.rentals()).toBe(2);
  });

  test('keeps all that an outage takes away, also where the operator restarts meanwhile', async () => {
    const life = await busy(350, 4);
    await life.fault('mass-outage', { share: 1, seconds: LONGER_THAN_ANY_WINDOW });
    await life.pass(400);
    const [process] = life.world.processes;
    if (process) life.world.crash(process.machine, 'in a test');
    await life.pass(150);
    expect(life.status()).toMatchObject({ replicas: 4, ready: 0 });
    expect(life.condition('MetricsAvailable')).toMatchObject({ status: 'False', reason: 'LoadUnavailable' });
    await life.until('all serve', () => life.status().ready === 4, 1200);
    await life.pass(60);
    expect(life.status().replicas).toBeGreaterThanOrEqual(4);
  });

  test.each(['that slept long after it had served', 'that has never served'])(
    '%s is woken although its machine takes long to boot',
    async (which) => {
      const life = new SimulatedGroup();
      life.begin(which.includes('never') ? {} : { minLoad: '50' });
      if (!which.includes('never')) {
        await life.until('one serves', () => life.status().ready === 1);
        life.edit({ minLoad: '0' });
        await life.until('none is left', () => life.status().total === 0);
      } else await life.pass(3600);
      await life.bootTakes(LONGER_THAN_ANY_WINDOW);
      const before = life.rentals();
      life.annotate(annotations.wakeAt, 'now');
      await life.until('it serves', () => life.status().ready === 1, 900);
      expect(life.rentals() - before).toBe(1);
      await life.until('it sleeps again', () => life.status().total === 0, 600);
    },
  );

  test('keeps its only worker also where the operator restarts just after the machine died', async () => {
    const life = await busy(80, 1);
    await life.fault('host-death', { host: hostOf(life) });
    await life.until('it is away', () => life.status().ready === 0, 120);
    const [process] = life.world.processes;
    if (process) life.world.crash(process.machine, 'in a test');
    await life.until('it serves again', () => life.status().ready === 1, 1200);
    expect(life.rentals()).toBe(2);
  });

  test('gives up a worker that does not come back within its time to boot', async () => {
    const life = await busy(80, 1);
    await life.bootTakes(36_000);
    await life.fault('host-death', { host: hostOf(life) });
    await life.until('it is given up', () => life.status().replicas === 0, 2400);
  });
});
