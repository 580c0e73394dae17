import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type SimulatedService, simulatedService } from '../../test/builders/simulated-service.ts';
import { contractMicros } from './world/ledger.ts';

/** Next action of a renter or the world. */
type Step =
  | { readonly type: 'rent'; readonly offer: number; readonly bid: boolean }
  | { readonly type: 'stop' | 'start' | 'reboot' | 'destroy'; readonly which: number }
  | { readonly type: 'wait'; readonly seconds: number }
  | { readonly type: 'fault'; readonly name: string; readonly which: number };

const OFFERS = [1, 2, 3, 4];
const which = fc.nat(5);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ type: fc.constant('rent' as const), offer: fc.constantFrom(...OFFERS), bid: fc.boolean() }),
  fc.record({ type: fc.constantFrom('stop', 'start', 'reboot', 'destroy'), which }),
  fc.record({ type: fc.constant('wait' as const), seconds: fc.integer({ min: 1, max: 400 }) }),
  fc.record({
    type: fc.constant('fault' as const),
    name: fc.constantFrom('offline', 'unknown', 'exited', 'host-death', 'outbid', 'destroyed-elsewhere'),
    which,
  }),
);

/** Statuses that may follow a status without a request in between (specification 3.1 and wire words). */
const BY_ITSELF: Readonly<Record<string, readonly string[]>> = {
  null: ['null', 'created', 'loading', 'running', 'offline', 'unknown', 'stopped'],
  created: ['created', 'loading', 'running', 'offline', 'unknown', 'stopped'],
  loading: ['loading', 'running', 'offline', 'unknown', 'stopped'],
  running: ['running', 'exited', 'offline', 'unknown', 'stopped'],
  rebooting: ['rebooting', 'running', 'offline', 'unknown', 'stopped'],
  stopped: ['stopped', 'offline', 'unknown', 'loading', 'running'],
  exited: ['exited', 'offline', 'unknown', 'stopped'],
};

/** Returns the statuses after a wait. Outages end; a crashed container stays down, as specified. */
const misfortune = (name: string, instance: number): object =>
  name === 'exited' ? { name, instance } : { name, instance, seconds: 50 };

class Walk {
  readonly service: SimulatedService = simulatedService({
    catalog: OFFERS.map((id) => ({
      id,
      machineId: id,
      hostId: 10 + (id % 2),
      pricePerHour: id,
      minBid: 0.1,
    })),
    settings: { billing: { initialCredit: 1e6 } },
  });
  readonly ids: number[] = [];
  #dollars = 0;
  #words = new Map<number, string>();

  async take(given: Step): Promise<void> {
    await this.#act(given);
    await this.#check(given);
  }

  async #act(given: Step): Promise<void> {
    const { service } = this;
    if (given.type === 'wait') return service.advance(given.seconds);
    if (given.type === 'rent') {
      const { body } = await service.call(`PUT /api/v0/asks/${given.offer}/`, {
        image: 'x',
        price: given.bid ? 0.5 : null,
      });
      if (typeof body.new_contract === 'number') this.ids.push(body.new_contract);
      return;
    }
    const id = this.ids[given.which % Math.max(1, this.ids.length)] ?? 0;
    if (given.type === 'fault') await service.call('POST /sim/faults', misfortune(given.name, id));
    else if (given.type === 'destroy') await service.call(`DELETE /api/v0/instances/${id}/`, {});
    else if (given.type === 'reboot') await service.call(`PUT /api/v0/instances/reboot/${id}/`, {});
    else
      await service.call(`PUT /api/v0/instances/${id}/`, {
        state: given.type === 'stop' ? 'stopped' : 'running',
      });
  }

  async #check(given: Step): Promise<void> {
    const world = this.service.simulator.world();
    const live = Object.values(world.tables.contracts);
    expect(new Set(live.map((contract) => contract.offerId)).size, 'one rental per offer').toBe(live.length);
    for (const offer of Object.values(world.tables.offers)) {
      const holder = live.find((contract) => contract.offerId === offer.id)?.id ?? null;
      expect(offer.rentedBy, 'the listing knows its contract').toBe(holder);
    }
    for (const { spans } of [
      ...live,
      ...Object.values(world.tables.endedContracts).map(({ last }) => last),
    ]) {
      for (const [index, span] of spans.slice(1).entries())
        expect(span.from, 'spans touch').toBe(spans[index]?.until);
    }
    const ledger = (await this.service.call('GET /sim/ledger')).body;
    const sum = [...live, ...Object.values(world.tables.endedContracts).map(({ last }) => last)].reduce(
      (total, contract) => total + contractMicros(contract, world.now),
      0,
    );
    expect(ledger.dollars, 'the ledger is the sum of its contracts').toBeCloseTo(sum / 1e6, 6);
    expect(ledger.dollars, 'money never comes back').toBeGreaterThanOrEqual(this.#dollars);
    const credit = (await this.service.call('GET /api/v0/users/current')).body.credit;
    expect(credit, 'credit is what was paid in less the ledger').toBeCloseTo(1e6 - ledger.dollars, 5);
    this.#dollars = ledger.dollars;
    await this.#checkWords(given);
  }

  /** Checks after a pure wait that each machine shows a status that may follow its last one. */
  async #checkWords(given: Step): Promise<void> {
    const { instances } = (await this.service.call('GET /api/v0/instances/')).body;
    for (const row of instances) {
      const word = String(row.actual_status);
      const last = this.#words.get(row.id);
      if (given.type === 'wait' && last && last in BY_ITSELF)
        expect(BY_ITSELF[last], `${last} then ${word}`).toContain(word);
      this.#words.set(row.id, word);
    }
  }
}

describe('the market under any sequence of calls and misfortunes', () => {
  test('rents each offer once, bills each second once and moves machines as specified', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const walk = new Walk();
        for (const given of steps) await walk.take(given);
      }),
      { numRuns: 60 },
    );
  });

  test('the same seed gives the same market', async () => {
    const worlds = await Promise.all(
      [1, 2].map(async () => {
        const service = simulatedService({ seed: 5, catalog: 50 });
        const { body } = await service.call('POST /api/v0/bundles/', { limit: 3 });
        await service.call(`PUT /api/v0/asks/${body.offers[0].id}/`, { image: 'x' });
        service.advance(130);
        return JSON.stringify(service.simulator.world());
      }),
    );
    expect(worlds[0]).toBe(worlds[1]);
  });
});
