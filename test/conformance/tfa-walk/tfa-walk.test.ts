import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clientOf } from '../../builders/simulated-client.ts';
import { simulatedService } from '../../builders/simulated-service.ts';
import { type Border, TfaModel } from '../../builders/tfa-model.ts';
import { readStrictly } from '../../settings/reader.ts';
import {
  answerAgain,
  logInByBackupCode,
  logInByChallenge,
  logInByTotp,
  SESSION_SECONDS,
  useSession,
  verifyAgain,
} from './logins.ts';
import {
  addNumber,
  addTotp,
  authorize,
  authorizeByBackupCode,
  completeAuthorization,
  regenerate,
  remove,
} from './methods.ts';
import { beginLogin, email, resend, sms, smsAgain } from './sends.ts';
import { advance, type Draw, type Move, picked, type Walk } from './walk.ts';

const WALK_RUNS = readStrictly(process.env, (reader) => reader.whole('WALK_RUNS', 1, 1_000_000)) ?? 40;

/*
 * Long walks of our client through all of two-factor authentication of one account: by key, by the session of a
 * login and logged out with a secret alone; several methods, several challenges at once; the clock steps to a
 * second before, onto and behind each moment at which something ends.
 */

/** Steps to where something ends, or a second beside it, and tries what ends there. */
async function approach(walk: Walk, border: Border | undefined, draw: Draw): Promise<void> {
  if (!border) return;
  const to = border.at + ((draw.index % 3) - 1) * 1000;
  advance(walk, Math.max(0, to - walk.model.now) / 1000);
  for (const probe of PROBES[border.ends]) await probe(walk, { ...draw, index: border.index, isRight: true });
}

/** Sends wrong codes until the method is locked, and the right one when the lockout ends. */
async function lockOut(walk: Walk, draw: Draw): Promise<void> {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    await logInByTotp(walk, { ...draw, isRight: false, byKey: true });
  }
  const lockouts = walk.model.borders().filter(({ ends }) => ends === 'lockout');
  if (draw.isRight) await approach(walk, picked(lockouts, draw.index), draw);
}

const PROBES: Readonly<Record<Border['ends'], readonly Move[]>> = {
  window: [addTotp],
  challenge: [
    logInByChallenge,
    completeAuthorization,
    (walk, draw) => logInByTotp(walk, { ...draw, byKey: false }),
  ],
  recentSms: [smsAgain],
  lockout: [verifyAgain],
};

const MOVES: Readonly<Record<string, Move>> = {
  wait: async (walk, { index }) => advance(walk, index % 700),
  toBorder: (walk, draw) => approach(walk, picked(walk.model.borders(), draw.index), draw),
  email,
  sms,
  resend,
  authorize,
  authorizeByBackupCode,
  completeAuthorization,
  addTotp,
  addNumber,
  logInByTotp,
  logInByChallenge,
  logInByBackupCode,
  answerAgain,
  lockOut,
  beginLogin,
  remove,
  regenerate,
  useSession,
};

/** Right answers to pending authorizations and first methods come often, or walks would stay outside. */
const names = fc.constantFrom(
  ...Object.keys(MOVES),
  'toBorder',
  'toBorder',
  'authorize',
  'completeAuthorization',
  'addTotp',
  'logInByTotp',
);

const steps = fc.array(
  fc.record({ name: names, index: fc.nat(999), isRight: fc.boolean(), byKey: fc.boolean() }),
  {
    minLength: 30,
    maxLength: 120,
  },
);

async function begun(): Promise<Walk> {
  const service = simulatedService({
    catalog: 1,
    settings: {
      tfa: { smsPerWindow: 1e6, phoneCap: 1e6, methodsPerType: 1e6, sessionSeconds: SESSION_SECONDS },
    },
  });
  const walk: Walk = {
    service,
    client: clientOf(service),
    model: new TfaModel(service.simulator.now()),
    session: undefined,
    login: '',
  };
  await beginLogin(walk);
  return walk;
}

/** Checks the status, as after every step. */
async function checkStatus({ client, model }: Walk): Promise<void> {
  const status = await client.tfa.status();
  expect({
    enabled: status.enabled,
    ids: status.methods.map(({ id }) => id),
    locked: status.methods.map(({ lockedUntil }) => lockedUntil ?? 0),
    codes: status.backupCodesRemaining,
    authorized: status.newMethodAuthorized,
  }).toEqual({
    enabled: model.isOn,
    ids: model.methods.map(({ id }) => String(id)),
    locked: model.methods.map(({ lockedUntil }) => (model.now < lockedUntil ? lockedUntil : 0)),
    codes: [...model.codes.values()].filter(Boolean).length,
    authorized: model.mayAdd,
  });
  expect(status.methods.filter(({ isPrimary }) => isPrimary)).toHaveLength(model.isOn ? 1 : 0);
}

test('long walks of key, session and logged-out callers end as the specification says, to the second', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (walked) => {
      const walk = await begun();
      for (const { name, ...draw } of walked) {
        await MOVES[name]?.(walk, draw);
        await checkStatus(walk);
      }
    }),
    { numRuns: WALK_RUNS },
  );
});
