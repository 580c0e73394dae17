import { afterEach, describe, expect, test, vi } from 'vitest';
import { given } from '../../test/builders/observed.ts';
import { accountWith } from '../../test/builders/observed-account.ts';
import { PROVEN, type Wired, wiredUnder } from '../../test/builders/wired.ts';
import { refOf } from '../accounts/registry.ts';
import { API_VERSION, annotations } from '../api/v1alpha1/names.ts';
import type { RawOptions } from '../config.ts';
import { IDENTITY_SECRET } from '../ownership/identity.ts';
import { makeLabel } from '../ownership/label.ts';

const ACCOUNT = accountWith({ metadata: { namespace: 'red' } });

/** Pauses are for real marketplaces, and this one is simulated. */
const UNPACED = { pacing: 'off', marketplaceUrl: ['http://127.0.0.1:9'] };

let wired: Wired | undefined;
afterEach(() => wired?.end());

function wiringOf(flags: RawOptions = {}): Wired {
  wired = wiredUnder(flags);
  return wired;
}

/** Returns an object with the intent of a rental that it may have begun. */
function instance(intent?: object) {
  const { spec } = given().object;
  const noted = intent && { [annotations.rentalIntent]: JSON.stringify(intent) };
  return {
    ...{ apiVersion: API_VERSION, kind: 'GpuInstance', spec },
    metadata: { name: 'job', annotations: noted },
  };
}

const FOREIGN = { v: 1, uid: 'uid', attempt: 1, issuedAt: 1, mac: 'of nobody' };

/** Creates two objects of an account that each request another offer at this price. */
async function twoAsk(flags: RawOptions, dollars = 1) {
  const { wiring } = wiringOf(flags);
  await wiring.installation.resolve();
  const session = wiring.registry.connect(ACCOUNT, PROVEN);
  const state = wiring.installation.state();
  if (state.type !== 'known') throw new Error(`the installation is ${state.type}`);
  const label = makeLabel(state.identity, { uid: 'a', attempt: 1, issuedAt: 1 });
  session.observer.labelReadBack(label, label, 1);
  return ['a', 'b'].map((objectUid, index) => {
    const pricePerHour = dollars * 1_000_000;
    const decision = session.admission.request({
      ...{ objectUid, offerId: String(index + 1), pricePerHour },
      ...{ namespace: 'team', generation: 1, wake() {} },
    });
    return decision.type === 'ticket' ? 'ticket' : decision.reason;
  });
}

describe('rentals of an account', () => {
  test('keep the pace that the marketplace documents, unless pacing is off', async () => {
    expect(await twoAsk({})).toEqual(['ticket', 'Queued']);
    expect(await twoAsk(UNPACED)).toEqual(['ticket', 'ticket']);
  });

  test.each([
    ['maxRentalsPerHour', '1', 'AtLimit'],
    ['maxLiveMachines', '1', 'AtLimit'],
    ['maxDollarsPerHour', '1', 'AtLimit'],
  ])('are refused by the spend limits: %s', async (flag, value, reason) => {
    expect(await twoAsk({ ...UNPACED, [flag]: value })).toEqual(['ticket', reason]);
  });
});

test('who waits for the labels of a namespace is woken when they are read, and when others are read', async () => {
  const { wiring, memory, clock } = wiringOf();
  const selector = { matchLabels: { team: 'gpu' } };
  const session = wiring.registry.connect(
    accountWith({
      metadata: { namespace: 'red' },
      spec: { allowedNamespaces: { from: 'Selector', selector } },
    }),
    PROVEN,
  );
  wiring.connections.closeAll();
  const woken = vi.fn();
  wiring.registry.onChange(woken);
  const readAnew = async () => {
    const before = session.permits('blue');
    await clock.advance(100);
    return [before, session.permits('blue'), woken.mock.calls.length];
  };
  expect(await readAnew()).toEqual([undefined, false, 1]);
  const blue = { kind: memory.kind('namespaces'), namespace: undefined, name: 'blue' };
  const labelled = { name: 'blue', labels: selector.matchLabels };
  memory.writes.update(blue, (current) => ({ ...current, metadata: labelled }), undefined);
  await clock.advance(60_000);
  expect(await readAnew()).toEqual([false, true, 2]);
});

test('what is written of an account that has no session is awaited in the copy of accounts', async () => {
  const { wiring, create, sync } = wiringOf();
  create('marketplaceaccounts', { ...ACCOUNT, apiVersion: API_VERSION, kind: 'MarketplaceAccount' });
  await sync();
  const wrote = vi.spyOn(wiring.caches.accounts, 'wrote');
  await wiring.registry.statusWriter(refOf(ACCOUNT))?.recordRetained({
    ...{ instanceId: '5', objectUid: 'uid', owner: 'red/job', policy: 'Retain', pricePerHour: 1 },
  });
  expect(wrote.mock.lastCall?.[0]).toMatchObject({ status: { retained: [{ instanceId: '5' }] } });
});

describe('an identity', () => {
  const identityIn = ({ memory }: Wired, namespace: string) =>
    memory.writes.read({ kind: memory.kind('secrets'), namespace, name: IDENTITY_SECRET });

  test('is made in the namespace of the operator, and knows which namespaces were watched', async () => {
    const { wiring, ...cluster } = wiringOf({ namespace: 'blue', watchNamespace: ['red', 'blue'] });
    await wiring.installation.resolve();
    const { data } = identityIn({ wiring, ...cluster }, 'blue') as { data: Record<string, string> };
    expect(Buffer.from(data['scope'] ?? '', 'base64').toString()).toBe('blue,red');
  });

  test('is not made where an object has rented', async () => {
    const { wiring, create, sync } = wiringOf();
    create('gpuinstances', instance(FOREIGN));
    await sync();
    expect((await wiring.installation.resolve()).type).toBe('lost');
  });

  test('is not made where an object has rented that no cache shows yet (H7)', async () => {
    const { wiring, create } = wiringOf();
    create('gpuinstances', instance(FOREIGN));
    expect((await wiring.installation.resolve()).type).toBe('lost');
  });

  test('scenario 81: is made while no account is listed: no new account holds up the first start of the others (H7)', async () => {
    const { wiring, create, sync } = wiringOf();
    create('marketplaceaccounts', { ...ACCOUNT, apiVersion: API_VERSION, kind: 'MarketplaceAccount' });
    await sync();
    expect((await wiring.installation.resolve()).type).toBe('known');
  });

  test('proves the intents of objects: one that it did not sign is in doubt', async () => {
    const { wiring, create, sync } = wiringOf();
    await wiring.installation.resolve();
    create('gpuinstances', instance(FOREIGN));
    await sync();
    expect(wiring.objects.all()).toMatchObject([{ hasOpenIntent: false, hasDoubtfulIntent: true }]);
  });
});

test('an account in a namespace that is not named is out of sight, which is not the same as missing', () => {
  const lookup = (flags: Parameters<typeof wiringOf>[0], namespace: string) =>
    wiringOf(flags).wiring.registry.get({ namespace, name: 'default' });
  expect(lookup({ watchNamespace: ['blue'] }, 'green')).toEqual({ type: 'missing', isUnwatched: true });
  expect(lookup({ watchNamespace: ['blue'] }, 'blue')).toEqual({ type: 'missing' });
  expect(lookup({}, 'green')).toEqual({ type: 'missing' });
});

test('objects of namespaces that are not named are not read', async () => {
  const { wiring, create, sync } = wiringOf({ watchNamespace: ['blue'] });
  create('gpuinstances', instance());
  await sync();
  expect(wiring.caches.instances.list()).toEqual([]);
});
