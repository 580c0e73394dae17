import { badRequest } from '../calls/refusal.ts';
import { booleanField, stringField } from '../calls/request-body.ts';
import { BOTH, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { AUTHORIZED, completeAuthorization, requestAuthorization } from '../tfa/authorize.ts';
import { issueTotpSecret } from '../tfa/codes.ts';
import { confirmNewMethod } from '../tfa/confirm.ts';
import { removeMethod, updateMethod } from '../tfa/methods.ts';
import { regenerateBackupCodes } from '../tfa/regenerate.ts';
import { tfaRefusal } from '../tfa/tfa-refusal.ts';
import { provisioningUri } from '../tfa/totp.ts';
import { methodView, statusView } from '../tfa/view.ts';
import { endpoint } from './endpoint.ts';
import { bearerCaller, moveTfa, tfaAccountOf } from './tfa-access.ts';
import {
  codeField,
  labelField,
  methodIdField,
  optionalText,
  PROOF,
  phoneField,
  proofFields,
  removeFields,
} from './tfa-body.ts';

function status(ctx: RouteContext): Reply {
  const { user } = bearerCaller(ctx);
  return json(statusView(tfaAccountOf(ctx, user.id), user.tfaStatus, ctx.now));
}

function requestRight(ctx: RouteContext): Reply {
  const { user } = bearerCaller(ctx);
  const call = {
    tfaMethod: optionalText(ctx.body, 'tfa_method'),
    methodId: methodIdField(ctx.body),
    backupCode: optionalText(ctx.body, 'backup_code'),
  };
  const authorization = moveTfa(ctx, user, (step) => requestAuthorization(step, call));
  if (authorization.type === 'granted') return json({ success: true, msg: AUTHORIZED });
  return json({ success: true, secret: authorization.secret });
}

function completeRight(ctx: RouteContext): Reply {
  const { user } = bearerCaller(ctx);
  const answer = { code: codeField(ctx.body), secret: optionalText(ctx.body, 'secret') };
  moveTfa(ctx, user, (step) => completeAuthorization(step, answer));
  return json({ success: true, msg: AUTHORIZED });
}

/** Checks no authorization and stores nothing: confirm-new does both (specification 4.8). */
function setUpTotp(ctx: RouteContext): Reply {
  const { user } = bearerCaller(ctx);
  const secret = issueTotpSecret(ctx.random, user.id);
  return json({ secret, provisioning_uri: provisioningUri(secret, user.email ?? user.username) });
}

function confirmNew(ctx: RouteContext): Reply {
  const { user } = bearerCaller(ctx);
  const tfaMethod = stringField(ctx.body, 'tfa_method');
  if (!tfaMethod) throw badRequest('tfa_method is required.');
  return confirm(ctx, { user, tfaMethod });
}

/** The deprecated form of confirm-new, which knew SMS alone and no legacy account (specification 7, 9). */
function submitTest(ctx: RouteContext): Reply {
  const { user } = bearerCaller(ctx);
  if (user.tfaStatus === 'legacy') {
    throw tfaRefusal(
      'untracked_2fa_found',
      'This account has legacy 2FA: regenerate its backup codes first.',
    );
  }
  return confirm(ctx, { user, tfaMethod: optionalText(ctx.body, 'tfa_method') ?? 'sms' });
}

function confirm(
  ctx: RouteContext,
  who: { user: ReturnType<typeof bearerCaller>['user']; tfaMethod: string },
): Reply {
  const call = {
    tfaMethod: who.tfaMethod,
    code: codeField(ctx.body),
    secret: optionalText(ctx.body, 'secret'),
    phoneNumber: phoneField(ctx.body),
    label: labelField(ctx.body),
  };
  const { method, backupCodes } = moveTfa(ctx, who.user, (step) => confirmNewMethod(step, call));
  const name = method.method === 'sms' ? 'SMS' : 'TOTP';
  return json({
    success: true,
    msg: `${name} 2FA method added successfully.`,
    ...(backupCodes ? { backup_codes: backupCodes } : {}),
  });
}

function remove(ctx: RouteContext): Reply {
  const { user } = bearerCaller(ctx);
  const call = removeFields(ctx.body);
  const removal = moveTfa(ctx, user, (step) => removeMethod(step, call));
  if (removal.type === 'disabled') return json({ msg: '2FA Successfully Disabled' });
  return json({ msg: '2FA method removed.', remaining_methods: removal.remaining });
}

function update(ctx: RouteContext): Reply {
  const { user } = bearerCaller(ctx);
  const call = {
    methodId: methodIdField(ctx.body),
    tfaMethod: optionalText(ctx.body, 'tfa_method'),
    label: labelField(ctx.body),
    isPrimary: booleanField(ctx.body, 'is_primary'),
  };
  const { method, isNamed } = moveTfa(ctx, user, (step) => updateMethod(step, call));
  return json({
    success: true,
    msg: isNamed ? '2FA method updated.' : 'Nothing to change: give label or is_primary.',
    method: methodView(method, { userId: user.id, now: ctx.now }),
  });
}

function regenerate(ctx: RouteContext): Reply {
  const { user } = bearerCaller(ctx);
  const proof = proofFields(ctx.body);
  const backupCodes = moveTfa(ctx, user, (step) => regenerateBackupCodes(step, proof));
  return json({ msg: 'Backup codes regenerated. They are shown only once.', backup_codes: backupCodes });
}

/** `optional`, because a missing key is `auth_error` (403) here and not the general 401. */
const WRITE = { category: 'user_write', access: 'optional', profiles: BOTH } as const;
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

/** The endpoints that only a Bearer token opens. */
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
