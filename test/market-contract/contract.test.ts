import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/lib/logger.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { Secret } from '../../src/lib/secret.ts';
import type { CallPurpose } from '../../src/market/call-options.ts';
import { MarketplaceError } from '../../src/market/errors.ts';
import type { Market } from '../../src/market/market.ts';
import { createPacer } from '../../src/market/pacing.ts';
import type { RentRequest } from '../../src/market/rental.ts';
import { openMarket } from '../../src/markets/catalog.ts';
import { simulatedService } from '../builders/simulated-service.ts';
import { toyService } from '../builders/toy-market.ts';
import { createVirtualClock } from '../builders/virtual-clock.ts';

/** A service with free machines, and the ways to open and to age it. */
interface Bench {
  readonly market: Market;
  /** Opens the same login with another key. */
  readonly openWith: (key: Secret | ((purpose: CallPurpose) => Secret)) => Market;
  readonly key: string;
  readonly advance: (seconds: number) => Promise<void>;
}

function vast(): Bench {
  const service = simulatedService();
  const clock = createVirtualClock({ startMs: service.simulator.now() });
  const openWith: Bench['openWith'] = (key) =>
    openMarket('Vast', {
      ...{ url: 'http://127.0.0.1:9', key, transport: service.simulator.handle, clock },
      ...{ random: seededRandom(1), log: silentLogger, pacer: createPacer({ clock, scale: 0 }) },
    });
  const key = service.simulator.apiKey;
  return {
    market: openWith(new Secret(key)),
    openWith,
    key,
    advance: async (seconds) => service.advance(seconds),
  };
}

function toy(): Bench {
  const clock = createVirtualClock({ startMs: 1_000_000 });
  const service = toyService(clock);
  const openWith: Bench['openWith'] = (key) => service.open({ key });
  return {
    market: openWith(new Secret(service.key)),
    openWith,
    key: service.key,
    advance: (seconds) => clock.advance(seconds * 1_000),
  };
}

const LABEL = 'x'.repeat(104);
const REQUEST: RentRequest = {
  ...{
    image: 'example/image:1',
    diskGB: 10,
    label: LABEL,
    env: { A: 'a-secret-value' },
    ports: [],
    ssh: true,
  },
};
const BOUNDS = { deadlineMs: 30_000 };
const ABSENT = '999999999';

const idsOf = async (market: Market) => (await market.machines()).machines.map(({ id }) => id);

async function firstOffer(market: Market) {
  const [offer] = await market.offers({
    filters: [{ field: 'rentable', operator: 'eq', value: true }],
    limit: 5,
  });
  if (!offer) throw new Error('the market offers nothing');
  return offer;
}

async function rented(market: Market): Promise<string> {
  const { id } = await firstOffer(market);
  return (await market.rent(id, REQUEST, BOUNDS)).instanceId;
}

/** Returns the error of a call. */
async function errorOf(call: Promise<unknown>): Promise<MarketplaceError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof MarketplaceError) return error;
  throw new Error(`no MarketplaceError: ${String(error)}`);
}

describe.each([
  ['Vast', vast],
  ['Toy', toy],
] as const)('the market %s', (name, bench) => {
  test('has its name in its facts', () => {
    expect(bench().market.about.name).toBe(name);
  });

  test('names the price of an offer before it is rented', async () => {
    expect((await firstOffer(bench().market)).pricePerHour).toBeGreaterThan(0);
  });

  test('names the host of an offer and of a machine, or of neither', async () => {
    const { market } = bench();
    const { machineId, hostId } = await firstOffer(market);
    const row = await market.machine(await rented(market));
    const named = [machineId, hostId, row?.machineId, row?.hostId].map((id) => id !== undefined);
    expect(named).toEqual(Array(4).fill(market.about.namesHosts));
  });

  test('creates exactly one machine by one rental', async () => {
    const { market } = bench();
    expect(await idsOf(market)).toEqual([]);
    const id = await rented(market);
    expect(await idsOf(market)).toEqual([id]);
  });

  test('creates nothing when it refuses an offer that does not exist', async () => {
    const { market } = bench();
    expect(await errorOf(market.rent(ABSENT, REQUEST, BOUNDS))).toMatchObject({
      kind: 'offerGone',
      outcome: 'refused',
    });
    expect(await idsOf(market)).toEqual([]);
  });

  test('shows a label if it keeps labels, and none if it does not', async () => {
    const { market } = bench();
    const row = await market.machine(await rented(market));
    expect(row?.label).toBe(market.about.label.kept === 'never' ? undefined : LABEL);
  });

  test('names the time at which billing began and the price of a machine', async () => {
    const { market } = bench();
    const row = await market.machine(await rented(market));
    expect(row?.startedAt).toBeGreaterThan(0);
    expect(row?.pricePerHour).toBeGreaterThan(0);
  });

  test('boots a machine from pending or loading to running, with its own word beside the state', async () => {
    const { market, advance } = bench();
    const id = await rented(market);
    expect(['pending', 'loading']).toContain((await market.machine(id))?.state);
    await advance(600);
    const row = await market.machine(id);
    expect(row?.state).toBe('running');
    expect(row?.marketStatus).toMatch(/\S/);
  });

  test('shows the same machine in the list and by itself', async () => {
    const { market } = bench();
    const id = await rented(market);
    expect((await market.machines()).machines).toEqual([await market.machine(id)]);
  });

  test('ends a machine by destroy, and says of an absent one that it is not there', async () => {
    const { market } = bench();
    const id = await rented(market);
    await market.destroy(id);
    expect(await idsOf(market)).toEqual([]);
    expect(await market.machine(id)).toBeNull();
    expect(await errorOf(market.destroy(id))).toMatchObject({ kind: 'notFound', outcome: 'refused' });
  });

  test('harms no machine when an absent id is destroyed', async () => {
    const { market } = bench();
    const id = await rented(market);
    await errorOf(market.destroy(ABSENT));
    expect(await idsOf(market)).toEqual([id]);
  });

  test('uses no id twice', async () => {
    const { market } = bench();
    const first = await rented(market);
    await market.destroy(first);
    expect(await rented(market)).not.toBe(first);
  });

  test('stops and starts a machine if it offers both', async () => {
    const { market, advance } = bench();
    const id = await rented(market);
    await advance(600);
    expect([market.stop, market.start].map((call) => call !== undefined)).toEqual(
      Array(2).fill(market.about.hasStop),
    );
    if (!market.stop || !market.start) return;
    await market.stop(id);
    await advance(60);
    expect((await market.machine(id))?.state).toBe('stopped');
    await market.start(id);
    await advance(600);
    expect((await market.machine(id))?.state).toBe('running');
  });

  test('runs a command on the files of a stopped machine if it offers that', async () => {
    const { market, advance } = bench();
    expect(market.runCommand === undefined).toBe(market.about.fileCommands === undefined);
    if (!market.runCommand) return;
    const id = await rented(market);
    await advance(600);
    await market.stop?.(id);
    expect(await market.runCommand(id, 'ls')).toContain('tmp\n');
    expect(await market.runCommand(id, 'ls /none')).toContain('No such file or directory');
    expect(await errorOf(market.runCommand(id, 'reboot'))).toMatchObject({ outcome: 'refused' });
    expect(await errorOf(market.runCommand(ABSENT, 'ls'))).toMatchObject({ kind: 'notFound' });
  });

  test('returns the last lines of a log if it offers that', async () => {
    const { market, advance } = bench();
    expect(market.readLog === undefined).toBe(market.about.containerLog === undefined);
    if (!market.readLog) return;
    const id = await rented(market);
    await advance(6_000);
    const lines = (await market.readLog(id, 100)).trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(3);
    expect((await market.readLog(id, 2)).trimEnd().split('\n')).toEqual(lines.slice(-2));
    expect(await errorOf(market.readLog(ABSENT, 2))).toMatchObject({ kind: 'notFound', outcome: 'refused' });
  });

  test('changes a label if it offers that, and only then keeps any', async () => {
    const { market } = bench();
    expect(market.relabel === undefined).toBe(market.about.label.kept === 'never');
    if (!market.relabel) return;
    const id = await rented(market);
    await market.relabel(id, 'another');
    expect((await market.machine(id))?.label).toBe('another');
  });

  test('finds offers for a bid only if it takes bids', async () => {
    const { market } = bench();
    const found = await market.offers({ filters: [], pricing: 'bid', limit: 5 });
    expect(found.length > 0).toBe(market.about.hasBids);
  });

  test('names the same user at every proof of a key', async () => {
    const { market } = bench();
    const { id } = await market.login();
    expect(id).toMatch(/\S/);
    expect((await market.login()).id).toBe(id);
  });

  test('shows that a key may destroy without destroying a machine', async () => {
    const { market } = bench();
    const id = await rented(market);
    expect(await market.mayDestroy()).toBe(true);
    expect(await idsOf(market)).toEqual([id]);
  });

  test('refuses a wrong key, and names no secret in the error', async () => {
    const { openWith, market } = bench();
    const { id } = await firstOffer(market);
    const stranger = openWith(new Secret('a-wrong-key'));
    for (const call of [stranger.login(), stranger.machines(), stranger.rent(id, REQUEST, BOUNDS)]) {
      const error = await errorOf(call);
      expect(error).toMatchObject({ kind: 'unauthorized', outcome: 'refused' });
      expect(error.message).not.toMatch(/a-wrong-key|a-secret-value/);
    }
    expect(await idsOf(market)).toEqual([]);
  });

  test('asks for the key of each call by its purpose', async () => {
    const { openWith, key } = bench();
    const asked: CallPurpose[] = [];
    const market = openWith((purpose) => {
      asked.push(purpose);
      return new Secret(key);
    });
    const { id } = await firstOffer(market);
    const { instanceId } = await market.rent(id, REQUEST, BOUNDS);
    await market.machines();
    await market.machine(instanceId);
    await market.destroy(instanceId);
    expect(asked).toEqual(['read', 'change', 'read', 'read', 'destroy']);
  });

  test('sends nothing when the caller takes a call back', async () => {
    const { market } = bench();
    const { id } = await firstOffer(market);
    const bounds = { ...BOUNDS, mayLeave: () => false };
    expect(await errorOf(market.rent(id, REQUEST, bounds))).toMatchObject({
      kind: 'aborted',
      outcome: 'refused',
    });
    const instanceId = await rented(market);
    expect(await errorOf(market.destroy(instanceId, bounds))).toMatchObject({ kind: 'aborted' });
    expect(await idsOf(market)).toEqual([instanceId]);
  });

  test('packs a short script, and refuses one that is too long with its figures', () => {
    const { script } = bench().market.about;
    expect(script.pack('date')).toEqual({ type: 'fits', script: 'date' });
    const random = seededRandom(1);
    const long = Array.from({ length: 20_000 }, () => String.fromCharCode(33 + random.next() * 90)).join('');
    const packed = script.pack(long);
    expect(packed).toMatchObject({ type: 'tooLong', bytes: expect.any(Number) });
    expect(packed.type === 'tooLong' && packed.packedLength > script.max).toBe(true);
  });

  test('refuses a field that no offer has', () => {
    expect(bench().market.about.offerFields.unknown('colour_of_the_case')).toContain('colour_of_the_case');
  });
});

test('the catalogue of markets refuses a name that it does not know', () => {
  const clock = createVirtualClock({ startMs: 0 });
  const options = {
    url: 'http://127.0.0.1:9',
    key: new Secret('k'),
    transport: async () => Promise.reject(new Error()),
  };
  const rest = { clock, random: seededRandom(1), log: silentLogger, pacer: createPacer({ clock }) };
  expect(() => openMarket('Toy', { ...options, ...rest })).toThrow('no market "Toy": it is one of Vast');
});
