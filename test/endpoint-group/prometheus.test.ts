import { describe, expect, test } from 'vitest';
import { annotations } from '../../src/api/v1alpha1/names.ts';
import { PROMETHEUS, SimulatedGroup } from '../builders/simulated-group.ts';

const LOAD = { type: 'Prometheus', prometheus: { loadQuery: 'load', queueQuery: 'queue' } };

/** Returns a group that is back at zero after serving, and whose machines now need the given time to boot. */
async function atZero(bootSeconds: number): Promise<SimulatedGroup> {
  const life = new SimulatedGroup({
    flags: { prometheusUrl: PROMETHEUS, prometheusTenancy: 'unrestricted' },
  });
  life.begin({ load: LOAD, minLoad: '50' });
  await life.until('one serves', () => life.status().ready === 1);
  life.edit({ minLoad: '0' });
  await life.until('none is left', () => life.status().total === 0);
  await life.bootTakes(bootSeconds);
  return life;
}

describe('a group whose load is seen in front of it', () => {
  test('is woken from zero by the load, and has as many workers as that takes', async () => {
    const life = await atZero(60);
    life.fleet.offered = 250;
    await life.until('three serve', () => life.status().ready === 3, 300);
    await life.pass(600);
    expect(life.status()).toMatchObject({ replicas: 3, ready: 3, load: '250' });
  });

  test('is woken by request although its machine takes long to boot and no load is seen', async () => {
    const life = await atZero(600);
    const before = life.rentals();
    life.annotate(annotations.wakeAt, 'now');
    await life.until('it serves', () => life.status().ready === 1, 900);
    expect(life.rentals() - before).toBe(1);
    await life.until('it sleeps again', () => life.status().total === 0, 600);
  });

  test('gives up what boots for a load that is over', async () => {
    const life = await atZero(600);
    life.fleet.offered = 80;
    await life.until('one boots', () => life.status().replicas === 1, 60);
    life.fleet.offered = 0;
    await life.until('none is hot', () => life.status().replicas === 0, 450);
  });
});
