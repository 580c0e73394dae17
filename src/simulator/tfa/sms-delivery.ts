import type { SmsTarget } from './sms-target.ts';
import type { TfaStep } from './state.ts';
import { type TfaErrorCode, tfaRefusal } from './tfa-refusal.ts';

interface DeliveryRule {
  readonly code: TfaErrorCode;
  readonly msg: string;
  readonly refuses: (step: TfaStep, target: SmsTarget) => boolean;
}

/** What stops an SMS before the provider is asked, in this order: the account first, then the number. */
const admissionRules: readonly DeliveryRule[] = [
  {
    code: 'sms_fraud_detected',
    msg: 'SMS is disabled for this account until support clears it.',
    refuses: ({ account }) => account.billingBlacklisted,
  },
  {
    code: 'sms_blocked_number',
    msg: 'This phone number is blocked. Use another one.',
    refuses: ({ settings }, { phoneNumber }) => settings.blockedNumbers.includes(phoneNumber),
  },
  {
    code: 'sms_rate_limited',
    msg: 'Too many SMS codes were requested. Wait before asking for another.',
    refuses: (step) => sendsSince(step, step.settings.smsWindowSeconds).length >= step.settings.smsPerWindow,
  },
  {
    code: 'preauth_phone_cap',
    msg: 'This phone number was used in too many authorization attempts.',
    refuses: (step, { phoneNumber }) => attemptsOn(step, phoneNumber) >= step.settings.phoneCap,
  },
];

/** What the provider itself answers. */
const providerRules: readonly DeliveryRule[] = [
  {
    code: 'twilio_rate_limited',
    msg: 'The SMS provider limits verifications of this number. Try again later.',
    refuses: ({ settings }, { phoneNumber }) => settings.throttledNumbers.includes(phoneNumber),
  },
  {
    code: 'twilio_error',
    msg: 'The SMS provider could not deliver the code.',
    refuses: ({ settings }, { phoneNumber }) => settings.undeliverableNumbers.includes(phoneNumber),
  },
];

/** Refuses by the first rule that applies; what passes counts against the limits, delivered or not. */
export function admitSms(step: TfaStep, target: SmsTarget): void {
  applyRules(admissionRules, step, target);
  const oldest = step.now - Math.max(step.settings.smsWindowSeconds, step.settings.phoneCapSeconds) * 1000;
  step.account.smsSends = step.account.smsSends.filter(({ at }) => at >= oldest);
  step.account.smsSends.push({ at: step.now, phoneNumber: target.phoneNumber });
  applyRules(providerRules, step, target);
}

function applyRules(rules: readonly DeliveryRule[], step: TfaStep, target: SmsTarget): void {
  const rule = rules.find(({ refuses }) => refuses(step, target));
  if (rule) throw tfaRefusal(rule.code, rule.msg);
}

function sendsSince(step: TfaStep, seconds: number): TfaStep['account']['smsSends'] {
  return step.account.smsSends.filter(({ at }) => at > step.now - seconds * 1000);
}

function attemptsOn(step: TfaStep, phoneNumber: string): number {
  const seconds = step.settings.phoneCapSeconds;
  const own = sendsSince(step, seconds).filter((send) => send.phoneNumber === phoneNumber);
  return own.length + step.foreignSends(phoneNumber, step.now - seconds * 1000);
}
