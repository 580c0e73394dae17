import { expect, test } from 'vitest';
import { LoginConnections } from '../../src/accounts/connection.ts';
import { isSilent, recordedState, stateFields } from '../../src/instance/machine-state.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { Secret } from '../../src/lib/secret.ts';
import type { RentRequest } from '../../src/market/rental.ts';
import { toyService } from '../builders/toy-market.ts';
import { createVirtualClock } from '../builders/virtual-clock.ts';

const LOGIN = { url: 'https://toy.example', userId: 'toy-user' };
const REQUEST: RentRequest = { image: 'i', diskGB: 10, label: 'l', env: {}, ports: [], ssh: false };

/** Returns an account's connection to the toy market, with a key for that use. */
function connect(use: 'full' | 'teardown') {
  const clock = createVirtualClock({ startMs: 1_000_000 });
  const service = toyService(clock);
  const connections = new LoginConnections({
    openMarket: (_name, options) => service.open(options),
    transport: () => Promise.reject(new Error('the toy has no wire')),
    ...{ clock, random: seededRandom(1), log: silentLogger, paced: false },
  });
  const connection = connections.open(LOGIN, { accountUid: 'a', pollIntervalMs: 10_000, market: 'Toy' });
  connection.keys.set('a', { key: new Secret(service.key), use, mayDestroy: true });
  return { clock, service, connection, market: connection.marketOf('a') };
}

test('a feed follows machines of a market that has neither labels nor words of Vast.ai', async () => {
  const { clock, connection, market } = connect('full');
  const [offer] = await market.offers({
    filters: [{ field: 'gpuName', operator: 'eq', value: 'H100 SXM' }],
  });
  const { instanceId } = await market.rent(offer?.id ?? '', REQUEST, { deadlineMs: 30_000 });
  connection.feed.start();
  await clock.advance(0);
  const booting = connection.feed.latest()?.rows.get(instanceId);
  expect(booting).toMatchObject({ state: 'loading', label: undefined, gpuName: 'H100 SXM' });
  await clock.advance(40_000);
  const running = connection.feed.latest()?.rows.get(instanceId);
  expect(running?.state).toBe('running');
  if (!running) throw new Error('the machine is not listed');
  const recorded = stateFields(running);
  expect(recorded).toEqual({ actualStatus: 'UP', machineState: 'running' });
  expect(recordedState(recorded)).toEqual({ state: 'running', marketStatus: 'UP' });
  expect(isSilent(running, true)).toBe(false);
  connection.feed.stop();
});

test('a kept key destroys at any market, and rents at none', async () => {
  const { service, market } = connect('teardown');
  const full = service.open({ key: new Secret(service.key) });
  const [offer] = await market.offers({ filters: [] });
  await expect(market.rent(offer?.id ?? '', REQUEST, { deadlineMs: 30_000 })).rejects.toThrow(
    'a kept key is for listing and destroying only',
  );
  expect(service.created()).toBe(0);
  const { instanceId } = await full.rent(offer?.id ?? '', REQUEST, { deadlineMs: 30_000 });
  await market.destroy(instanceId);
  expect((await market.machines()).machines).toEqual([]);
});
