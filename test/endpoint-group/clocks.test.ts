import { describe, expect, test } from 'vitest';
import { SimulatedGroup } from '../builders/simulated-group.ts';

const HOUR_MS = 3_600_000;

function setClocks(life: SimulatedGroup, aheadMs: number): void {
  for (const { machine } of life.world.processes) machine.wallSkewMs = aheadMs;
}

describe('a clock that was ahead', () => {
  test('and is set back costs no tick: a load that rises then has workers added', async () => {
    const life = new SimulatedGroup();
    life.begin({ minLoad: '50' });
    await life.until('one is ready', () => life.status().ready === 1);
    life.fleet.offered = 50;
    await life.pass(120);
    setClocks(life, -HOUR_MS);
    await life.pass(30);
    life.fleet.offered = 250;
    await life.until('as many as it takes are ready', () => (life.status().ready ?? 0) >= 3, 300);
  });

  test('and is set back hides no silence', async () => {
    const life = new SimulatedGroup();
    life.begin({ minLoad: '50' });
    setClocks(life, HOUR_MS);
    await life.until('one is ready', () => life.status().ready === 1);
    await life.pass(120);
    setClocks(life, 0);
    life.fleet.answer = () => ({ type: 'silent' });
    const isMissed = () => life.condition('MetricsAvailable')?.status === 'False';
    await life.until('it is missed', isMissed, 120);
  });

  test('and wrote the status keeps no worker longer than its last load would have', async () => {
    const life = new SimulatedGroup();
    life.begin({ minLoad: '10', coldWorkers: 1, inactivityTimeout: '5m' });
    setClocks(life, 24 * HOUR_MS);
    await life.until('one is ready', () => life.status().ready === 1);
    life.fleet.offered = 300;
    await life.pass(100);
    const [process] = life.world.processes;
    if (!process) throw new Error('No operator runs.');
    life.world.crash(process.machine, 'in a test');
    life.fleet.offered = 0;
    life.edit({ minLoad: '0' });
    await life.until('none is hot', () => life.status().replicas === 0, 1200);
    await life.until('the pool is as large as without load', () => life.status().total === 1, 4000);
    expect(Date.parse(life.status().lastActivity ?? '')).toBeLessThan(life.world.now);
  });
});
