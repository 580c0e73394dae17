import { required, text } from '../calls/fields.ts';
import { BOTH, endpoint, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { badRequest, notFound } from '../refusal.ts';
import type { Challenge } from '../tables/tfa.ts';
import { AUTHORIZED, completeAuthorization, requestAuthorization } from '../tfa/authorize.ts';
import { beginLogin, resendSmsCode, type SmsCall, sendEmailCode, sendSmsCode } from '../tfa/challenge.ts';
import { challengeSecret, issueTotpSecret, provisioningUri } from '../tfa/codes.ts';
import {
  confirmNewMethod,
  methodView,
  regenerateBackupCodes,
  removeMethod,
  statusView,
  updateMethod,
} from '../tfa/methods.ts';
import { type TfaStep, tfaRefusal } from '../tfa/step.ts';
import { completeLogin } from '../tfa/verify.ts';
import { userRow } from '../world/user-row.ts';
import {
  bearerCaller,
  bearerOrSecretCaller,
  moveTfa,
  noAuthentication,
  noAuthValue,
  PROOF,
  proofOf,
  TFA,
  type TfaCall,
  tfaAccountOf,
} from './tfa-call.ts';

function status(ctx: RouteContext): Reply {
  const { user } = bearerCaller(ctx);
  return json(statusView(tfaAccountOf(ctx, user.id), user.tfaStatus, ctx.now));
}

function requestRight(ctx: TfaCall): Reply {
  const { user } = bearerCaller(ctx);
  const call = {
    tfaMethod: ctx.body.tfa_method,
    methodId: ctx.body.tfa_method_id,
    backupCode: ctx.body.backup_code,
  };
  const authorization = moveTfa(ctx, user, (step) => requestAuthorization(step, call));
  if (authorization.type === 'granted') return json({ success: true, msg: AUTHORIZED });
  return json({ success: true, secret: authorization.secret });
}

function completeRight(ctx: TfaCall): Reply {
  const { user } = bearerCaller(ctx);
  const answer = { code: ctx.body.code, secret: ctx.body.secret };
  moveTfa(ctx, user, (step) => completeAuthorization(step, answer));
  return json({ success: true, msg: AUTHORIZED });
}

/** Checks no authorization and stores nothing: confirm-new does both (specification 4.8). */
function setUpTotp(ctx: RouteContext): Reply {
  const { user } = bearerCaller(ctx);
  const secret = issueTotpSecret(ctx.random, user.id);
  return json({ secret, provisioning_uri: provisioningUri(secret, user.email ?? user.username) });
}

function confirmNew(ctx: TfaCall): Reply {
  const { user } = bearerCaller(ctx);
  const { tfa_method: tfaMethod } = ctx.body;
  if (!tfaMethod) throw badRequest('tfa_method is required.');
  return confirm(ctx, { user, tfaMethod });
}

/** Serves the deprecated form of confirm-new, which supports SMS only and no legacy account (specification 7, 9). */
function submitTest(ctx: TfaCall): Reply {
  const { user } = bearerCaller(ctx);
  if (user.tfaStatus === 'legacy') {
    throw tfaRefusal(
      'untracked_2fa_found',
      'This account has legacy 2FA: regenerate its backup codes first.',
    );
  }
  return confirm(ctx, { user, tfaMethod: ctx.body.tfa_method ?? 'sms' });
}

function confirm(
  ctx: TfaCall,
  who: { user: ReturnType<typeof bearerCaller>['user']; tfaMethod: string },
): Reply {
  const call = {
    tfaMethod: who.tfaMethod,
    code: ctx.body.code,
    secret: ctx.body.secret,
    phoneNumber: ctx.body.phone_number,
    label: ctx.body.label,
  };
  const { method, backupCodes } = moveTfa(ctx, who.user, (step) => confirmNewMethod(step, call));
  const name = method.method === 'sms' ? 'SMS' : 'TOTP';
  return json({
    success: true,
    msg: `${name} 2FA method added successfully.`,
    ...(backupCodes ? { backup_codes: backupCodes } : {}),
  });
}

function remove(ctx: TfaCall): Reply {
  const { user } = bearerCaller(ctx);
  const call = { ...proofOf(ctx), targetId: ctx.body.target_id };
  const removal = moveTfa(ctx, user, (step) => removeMethod(step, call));
  if (removal.type === 'disabled') return json({ msg: '2FA Successfully Disabled' });
  return json({ msg: '2FA method removed.', remaining_methods: removal.remaining });
}

function update(ctx: TfaCall): Reply {
  const { user } = bearerCaller(ctx);
  const call = {
    methodId: ctx.body.tfa_method_id,
    tfaMethod: ctx.body.tfa_method,
    label: ctx.body.label,
    isPrimary: ctx.body.is_primary,
  };
  const { method, isNamed } = moveTfa(ctx, user, (step) => updateMethod(step, call));
  return json({
    success: true,
    msg: isNamed ? '2FA method updated.' : 'No change was given: send label or is_primary.',
    method: methodView(method, { userId: user.id, now: ctx.now }),
  });
}

function regenerate(ctx: TfaCall): Reply {
  const { user } = bearerCaller(ctx);
  const proof = proofOf(ctx);
  const backupCodes = moveTfa(ctx, user, (step) => regenerateBackupCodes(step, proof));
  return json({ msg: 'Backup codes regenerated. They are shown only once.', backup_codes: backupCodes });
}

/** `optional`, because a missing key is `auth_error` (403) here and not the general 401. */
const WRITE = { category: 'user_write', access: 'optional', profiles: BOTH, body: TFA } as const;
const READ = { ...WRITE, category: 'user_read' } as const;

const REQUEST = { tfa_method: 'text', tfa_method_id: 'integer', backup_code: 'text' } as const;
const CONFIRM = {
  tfa_method: 'text',
  code: 'text',
  secret: 'text',
  phone_number: 'text',
  label: 'text',
} as const;
const UPDATE = { tfa_method_id: 'integer', tfa_method: 'text', label: 'text', is_primary: 'flag' } as const;

/** The endpoints that require a Bearer token. */
export const tfaMethodRoutes: readonly Route[] = [
  endpoint('GET /api/v0/tfa/status', { ...READ, written: {} }, status),
  endpoint('POST /api/v0/tfa/authorize-new-method', { ...WRITE, written: REQUEST }, requestRight),
  endpoint(
    'PUT /api/v0/tfa/authorize-new-method',
    { ...WRITE, written: { code: 'text', secret: 'text' } },
    completeRight,
  ),
  endpoint('POST /api/v0/tfa/totp-setup', { ...WRITE, written: {} }, setUpTotp),
  endpoint('POST /api/v0/tfa/confirm-new', { ...WRITE, written: CONFIRM }, confirmNew),
  endpoint('POST /api/v0/tfa/test-submit', { ...WRITE, written: CONFIRM }, submitTest),
  endpoint('DELETE /api/v0/tfa', { ...WRITE, written: { ...PROOF, target_id: 'integer' } }, remove),
  endpoint('PUT /api/v0/tfa/update', { ...WRITE, written: UPDATE }, update),
  endpoint('PUT /api/v0/tfa/regen-backup-codes', { ...WRITE, written: PROOF }, regenerate),
];

function sendEmail(ctx: TfaCall): Reply {
  const { user } = bearerOrSecretCaller(ctx, noAuthentication);
  const secret = ctx.body.secret;
  const challenge = moveTfa(ctx, user, (step) => sendEmailCode(step, secret));
  return json({ success: true, msg: 'Verification code sent by email.', secret: challenge.secret });
}

/** Returns the handler of an SMS send endpoint; the two differ only in their step. */
function smsHandler(send: (step: TfaStep, call: SmsCall) => Challenge): (ctx: TfaCall) => Reply {
  return (ctx) => {
    const { user, loggedOut } = bearerOrSecretCaller(ctx, noAuthentication);
    const call = {
      phoneNumber: ctx.body.phone_number,
      methodId: ctx.body.tfa_method_id,
      secret: ctx.body.secret,
      loggedOut,
    };
    const challenge = moveTfa(ctx, user, (step) => send(step, call));
    const sent = { msg: 'Verification code sent by SMS.', secret: challenge.secret };
    // In specification 4.8 only the email call returns `success`.
    return json(ctx.profile === 'public' ? { success: true, ...sent } : sent);
  };
}

const SMS = {
  ...WRITE,
  written: { phone_number: 'text', tfa_method_id: 'integer', secret: 'text' },
} as const;

/** The endpoints that send codes, two of them also under their deprecated paths (specification 9). */
export const tfaCodeRoutes: readonly Route[] = [
  endpoint('POST /api/v0/tfa/email', { ...WRITE, written: { secret: 'text' } }, sendEmail),
  endpoint('POST /api/v0/tfa/sms', SMS, smsHandler(sendSmsCode)),
  endpoint('POST /api/v0/tfa/test', SMS, smsHandler(sendSmsCode)),
  endpoint('POST /api/v0/tfa/sms/resend', SMS, smsHandler(resendSmsCode)),
  endpoint('POST /api/v0/tfa/resend', SMS, smsHandler(resendSmsCode)),
];

/**
 * Serves `POST /tfa/`. A CLI caller (Bearer) gets the session key in the body, a logged-out one gets its session as a
 * cookie and a header and no key in the body (specification 4.8).
 */
function login(ctx: TfaCall): Reply {
  const { user, loggedOut } = bearerOrSecretCaller(ctx, noAuthValue);
  const fields = { ...proofOf(ctx), admin: ctx.body.admin ?? false };
  const result = moveTfa(ctx, user, (step) => completeLogin(step, fields));
  const sessionKey = challengeSecret(ctx.random);
  ctx.write.put('apiKeys', {
    id: ctx.write.nextId('apiKey'),
    userId: user.id,
    name: fields.admin ? 'admin session' : 'session',
    secret: sessionKey,
    permissions: null,
    keyParams: null,
    instanceId: null,
    session: true,
    createdAt: ctx.now,
    expiresAt: ctx.now + ctx.settings.tfa.sessionSeconds * 1000,
    revokedAt: null,
  });
  const body = { ...userRow(ctx.world, user, ctx.profile), ...result };
  if (!loggedOut) return json({ ...body, session_key: sessionKey });
  return {
    type: 'json',
    status: 200,
    body,
    headers: {
      'set-cookie': `session=${sessionKey}; Path=/; HttpOnly; SameSite=Lax`,
      'x-session-key': sessionKey,
    },
  };
}

export const tfaLoginRoutes: readonly Route[] = [
  endpoint('POST /api/v0/tfa', { ...WRITE, written: { ...PROOF, admin: 'flag' } }, login),
];

/** Returns the sent codes, oldest first; `at` is epoch seconds. */
function outbox(ctx: RouteContext): Reply {
  const rows = Object.values(ctx.world.tables.sentCodes);
  return json(rows.map(({ at, channel, to, code }) => ({ at: at / 1000, channel, to, code })));
}

const PASSWORD = { username: required(text) };

/**
 * Replaces the password step of the web console, which the specification does not show: returns the `secret` with which
 * a logged-out caller continues.
 */
function passwordStep(ctx: RouteContext<typeof PASSWORD>): Reply {
  const { username: name } = ctx.body;
  const user = Object.values(ctx.world.tables.users).find(
    ({ email, username }) => email === name || username === name,
  );
  if (!user) throw notFound(`There is no user ${name}.`);
  return json(moveTfa(ctx, user, beginLogin));
}

const CONTROL = { category: null, access: 'open', profiles: BOTH } as const;

/** The part of `/sim/` that belongs to 2FA. */
export const tfaControlRoutes: readonly Route[] = [
  endpoint('GET /sim/outbox', CONTROL, outbox),
  endpoint('POST /sim/login', { ...CONTROL, body: PASSWORD }, passwordStep),
];
