import { Secret } from '../../lib/secret.ts';
import type { Requester } from '../http/request.ts';
import type { CallOptions } from '../offers/offers.ts';
import { challengeReply } from '../wire/tfa.ts';
import { sendTfa } from './call.ts';

/** Where an SMS goes. Neither: the number on file. */
export interface SmsTarget {
  /** E.164, e.g. `+15551234567`. */
  readonly phoneNumber?: string;
  readonly methodId?: number;
}

/** A challenge of a Bearer caller; without a secret a fresh one is made. */
export interface BearerSms extends SmsTarget {
  readonly secret?: Secret;
}

/** A code is on its way. */
export interface Challenge {
  /** Goes with the code to whichever call completes the verification, within 10 minutes. */
  readonly secret: Secret;
  readonly message: string | undefined;
}

/** Which call sends a code. */
export type ChallengePath = 'email/' | 'sms/' | 'sms/resend/' | 'test/' | 'resend/';

const OPERATION: Readonly<Record<ChallengePath, string>> = {
  'email/': 'send a code by email',
  'sms/': 'send a code by SMS',
  'sms/resend/': 'send a code by SMS again',
  'test/': 'send a code by SMS (deprecated path)',
  'resend/': 'send a code by SMS again (deprecated path)',
};

/** Sends a code and answers the secret of its challenge. */
export async function sendCode(
  requester: Requester,
  { path, target }: { path: ChallengePath; target: BearerSms },
  bounds: CallOptions | undefined,
): Promise<Challenge> {
  const { value } = await sendTfa(requester, {
    operation: OPERATION[path],
    method: 'POST',
    path,
    body: {
      phone_number: target.phoneNumber,
      tfa_method_id: target.methodId,
      secret: target.secret?.reveal(),
    },
    reply: challengeReply,
    bounds,
  });
  return { secret: new Secret(value.secret), message: value.msg };
}
