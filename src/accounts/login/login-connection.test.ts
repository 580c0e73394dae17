import { expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import { LoginConnections } from './login-connection.ts';

const LOGIN = { url: 'https://market.example', userId: 7 };
const USER = { accountUid: 'account', pollIntervalMs: 10_000 };

function connections() {
  return new LoginConnections({
    transport: () => new Promise(() => {}),
    clock: createVirtualClock(),
    random: seededRandom(1),
    log: silentLogger,
    paced: true,
  });
}

test('what proves a key counts towards the pace of the login that it proves', async () => {
  const logins = connections();
  const probe = await logins.pacerOf(USER.accountUid).acquire('destroy');
  probe.release();
  const { pacer } = logins.open(LOGIN, USER);
  expect(pacer.nextSlotMs('destroy')).toBeGreaterThan(0);
  expect(logins.pacerOf(USER.accountUid)).toBe(pacer);
});

test('an account that is gone leaves no limiter behind', async () => {
  const logins = connections();
  const before = logins.pacerOf(USER.accountUid);
  logins.forget(USER.accountUid);
  expect(logins.pacerOf(USER.accountUid)).not.toBe(before);
});
