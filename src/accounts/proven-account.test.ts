import { describe, expect, test } from 'vitest';
import { answeringTransport, reply } from '../../test/builders/answering-transport.ts';
import { observed } from '../../test/builders/observed-account.ts';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { silentLogger } from '../lib/logger.ts';
import { seededRandom } from '../lib/random.ts';
import { Secret } from '../lib/secret.ts';
import { defaultConstants } from '../ownership/constants.ts';
import { newIdentity } from '../ownership/identity.ts';
import type { AccountRecords } from './account-records.ts';
import { LoginConnections } from './login/login-connection.ts';
import { ProvenAccount } from './proven-account.ts';

const LOGIN = { url: 'https://market.example', userId: 7 };
const MONTH = '2026-11';
const CALM = { credit: 10_000_000, sshKeyRegistered: true, mayTearDown: true };

const identity = newIdentity(
  { id: new Uint8Array(16).fill(1), key: new Uint8Array(32).fill(2) },
  { kubeSystemUid: undefined, scope: '*' },
);

/** A proven account whose marketplace says that the key is of this user. */
function proven({ userId = 7, status }: { userId?: number; status?: MarketplaceAccount['status'] } = {}) {
  const clock = createVirtualClock({ startMs: Date.parse(`${MONTH}-20T12:00:00Z`) });
  const { transport } = answeringTransport(reply({ id: userId }));
  const connections = new LoginConnections({
    transport,
    clock,
    random: seededRandom(1),
    log: silentLogger,
    paced: false,
  });
  const connection = connections.open(LOGIN, { accountUid: 'account-uid', pollIntervalMs: 10_000 });
  connection.keys.set('account-uid', new Secret('key'), 'full');
  const account = { ...observed().account, ...(status && { status }) };
  return new ProvenAccount({
    account,
    connection,
    identity: () => identity,
    records: {} as AccountRecords,
    clock,
    brake: { maxRentalsPerHour: 3, maxLiveMachines: 100, maxDollarsPerHour: 1_000_000_000 },
    paced: false,
    constants: defaultConstants,
    minPollIntervalMs: 5_000,
    objects: () => [],
    namespaceAllowed: () => true,
    onChange: () => {},
    onNews: () => {},
    onLook: () => {},
  });
}

const ask = { objectUid: 'a', offerId: 1, pricePerHour: 500_000 };
const reasonOf = (account: ProvenAccount) => {
  const decision = account.tickets.request(ask);
  return decision.type === 'refused' ? decision.reason : decision.type;
};

describe('a proven account gives a ticket', () => {
  test('while nothing speaks against it', () => {
    const account = proven();
    account.proved(CALM);
    expect(reasonOf(account)).toBe('ticket');
  });

  test('scenario 33: never with a key that could not destroy what it rents', () => {
    const account = proven();
    account.proved({ ...CALM, mayTearDown: false });
    expect(reasonOf(account)).toBe('KeyTooNarrow');
    account.proved(CALM);
    expect(reasonOf(account)).toBe('ticket');
  });

  test('scenario 31: never while its controller says that it is not ready', () => {
    const account = proven();
    account.proved(CALM);
    account.refuse({ reason: 'AccountNotReady', message: 'The key was refused.' });
    expect(reasonOf(account)).toBe('AccountNotReady');
    account.refuse(undefined);
    expect(reasonOf(account)).toBe('ticket');
  });

  test('scenario 35: never without credit', () => {
    const account = proven();
    account.proved({ ...CALM, credit: 0 });
    expect(reasonOf(account)).toBe('InsufficientCredit');
  });

  test('never for more rentals within the hour than the brake allows, deleted objects included', () => {
    const rentals = [10, 20, 30].map((minute) => `${MONTH}-20T11:${minute}:00Z`);
    const account = proven({ status: { deletedObjects: { month: MONTH, spent: '0', rentals } } });
    account.proved(CALM);
    expect(reasonOf(account)).toBe('TooManyRentals');
  });
});

describe('the login of a proven account', () => {
  test('is proved again by a key of the same user', async () => {
    expect(await proven().proveLogin()).toBe(true);
  });

  test('scenario 32: is not proved by a key of another user', async () => {
    expect(await proven({ userId: 8 }).proveLogin()).toBe(false);
  });
});
