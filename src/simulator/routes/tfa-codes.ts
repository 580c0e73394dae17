import { BOTH, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import type { Challenge } from '../tables/tfa.ts';
import { sendEmailCode } from '../tfa/email.ts';
import { resendSmsCode, type SmsCall, sendSmsCode } from '../tfa/sms.ts';
import type { TfaStep } from '../tfa/state.ts';
import { endpoint } from './endpoint.ts';
import { bearerOrSecretCaller, moveTfa, noAuthentication } from './tfa-access.ts';
import { methodIdField, optionalText, phoneField } from './tfa-body.ts';

function sendEmail(ctx: RouteContext): Reply {
  const { user } = bearerOrSecretCaller(ctx, noAuthentication);
  const secret = optionalText(ctx.body, 'secret');
  const challenge = moveTfa(ctx, user, (step) => sendEmailCode(step, secret));
  return json({ success: true, msg: 'Verification code sent by email.', secret: challenge.secret });
}

/** One of the two SMS send endpoints, which differ only in the step they take. */
function smsHandler(send: (step: TfaStep, call: SmsCall) => Challenge): (ctx: RouteContext) => Reply {
  return (ctx) => {
    const { user, loggedOut } = bearerOrSecretCaller(ctx, noAuthentication);
    const call = {
      phoneNumber: phoneField(ctx.body),
      methodId: methodIdField(ctx.body),
      secret: optionalText(ctx.body, 'secret'),
      loggedOut,
    };
    const challenge = moveTfa(ctx, user, (step) => send(step, call));
    const sent = { msg: 'Verification code sent by SMS.', secret: challenge.secret };
    // Specification 4.8 gives `success` to the email call alone.
    return json(ctx.profile === 'public' ? { success: true, ...sent } : sent);
  };
}

const WRITE = { category: 'user_write', access: 'optional', profiles: BOTH } as const;
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
