import { issueBackupCodes } from './backup-codes.ts';
import { newMethod } from './confirm.ts';
import { requireTfa } from './login.ts';
import type { TfaStep } from './state.ts';
import { tfaRefusal } from './tfa-refusal.ts';
import { type Proof, verifyFactor } from './verify.ts';

/**
 * `PUT /tfa/regen-backup-codes/`: verifies a factor and replaces all codes with ten new ones. A legacy
 * account without method rows first gets its number on file as an SMS method (specification 3.3).
 */
export function regenerateBackupCodes(step: TfaStep, proof: Proof): readonly string[] {
  requireTfa(step, proof);
  const needsBackfill = step.status === 'legacy' && step.account.methods.length === 0;
  if (needsBackfill && !step.user.phoneNumber) {
    throw tfaRefusal('missing_phone_number', 'The account has no phone number to make an SMS method of.');
  }
  verifyFactor(step, proof);
  if (needsBackfill && step.user.phoneNumber) backfillSms(step, step.user.phoneNumber);
  step.status = 'enabled';
  return issueBackupCodes(step);
}

function backfillSms(step: TfaStep, phoneNumber: string): void {
  step.account.methods.push({ method: 'sms', phoneNumber, ...newMethod(step, 'SMS') });
}
