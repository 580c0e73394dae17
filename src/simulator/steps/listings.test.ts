import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../../test/builders/simulated-service.ts';

const DAY_SECONDS = 86_400;

async function rentable(service: SimulatedService): Promise<number> {
  const { body } = await service.call('POST /api/v0/bundles/', { rentable: { eq: true }, limit: 10_000 });
  return body.offers.length;
}

/** Offers whose listing has not ended; a search of all of them takes longer than a simulated month. */
function listed(service: SimulatedService): number {
  const { now, tables } = service.simulator.world();
  return Object.values(tables.offers).filter(({ columns }) => Number(columns.end_date) * 1000 > now).length;
}

/** Returns the listed offers of a market on each day of a year, and those that a search finds at its end. */
async function yearOf(catalog: number): Promise<readonly number[]> {
  const service = simulatedService({ seed: 3, catalog });
  const counts = [listed(service)];
  for (let day = 0; day < 365; day += 1) {
    service.advance(DAY_SECONDS);
    counts.push(listed(service));
  }
  return [...counts, await rentable(service)];
}

describe('listings of a market', () => {
  test('keep at least 95 % of all offers rentable through a year (M1)', async () => {
    const days = await yearOf(2200);
    const [atFirst = 0] = days;
    expect(atFirst).toBeGreaterThanOrEqual(2200);
    expect(Math.min(...days)).toBeGreaterThan(0.95 * atFirst);
    expect(Math.min(...days), 'some listings have ended').toBeLessThan(atFirst);
    expect(Math.max(...days)).toBeLessThanOrEqual(atFirst);
  });

  test('are the same for one seed', async () => {
    expect(await yearOf(200)).toEqual(await yearOf(200));
  });

  test('end in the same market after one long step as after many short ones', () => {
    const [long, short] = [1, 2].map(() => simulatedService({ seed: 5, catalog: 60 }));
    long?.advance(200 * DAY_SECONDS);
    for (let step = 0; step < 400; step += 1) short?.advance(DAY_SECONDS / 2);
    expect(short?.simulator.world().tables.offers).toEqual(long?.simulator.world().tables.offers);
  });

  test('wait while the offer is rented, and begin again once it is free', async () => {
    const ended = Math.floor(Date.UTC(2026, 0, 16) / 1000);
    const service = simulatedService({ catalog: [{ id: 1, columns: { end_date: ended } }] });
    const { body } = await service.call('PUT /api/v0/asks/1/', { image: 'x' });
    service.advance(10 * DAY_SECONDS);
    expect(service.simulator.world().tables.offers[1]?.columns.end_date).toBe(ended);
    await service.call(`DELETE /api/v0/instances/${body.new_contract}/`);
    service.advance(1);
    expect(await rentable(service)).toBe(1);
  });

  test('never end when their end is no number', async () => {
    const service = simulatedService({ catalog: [{ id: 1, columns: { end_date: 'x' } }] });
    service.advance(400 * DAY_SECONDS);
    expect(service.simulator.world().tables.offers[1]?.columns.end_date).toBe('x');
  });

  test('end for ever where hosts do not list again', async () => {
    const settings = { market: { relistHours: null } };
    const service = simulatedService({ catalog: 50, settings });
    service.advance(370 * DAY_SECONDS);
    expect(await rentable(service)).toBe(0);
  });
});
