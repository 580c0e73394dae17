import type { TfaMethod } from '../tables/tfa.ts';
import type { TfaStep } from './state.ts';
import { type FailureCounts, tfaRefusal } from './tfa-refusal.ts';

/** Seconds since the epoch, as the wire has times. */
export function epochSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}

/** Whether that method takes no verification now. */
export function isLocked(method: TfaMethod, now: number): boolean {
  return method.lockedUntil !== null && now < method.lockedUntil;
}

/** What a status entry or an error says of failed attempts; after a lockout the count starts anew. */
export function failureCounts(method: TfaMethod, now: number): FailureCounts {
  if (method.lockedUntil === null) return { fail_count: method.failCount, locked_until: null };
  if (!isLocked(method, now)) return { fail_count: 0, locked_until: null };
  // Rounded up: who waits until then finds the method open.
  return { fail_count: method.failCount, locked_until: Math.ceil(method.lockedUntil / 1000) };
}

/**
 * Refuses a verification by a locked method. Attempts made meanwhile neither count nor extend the lockout:
 * public clients repeat a 429 three times by themselves.
 */
export function admitAttempt(method: TfaMethod, now: number): void {
  if (isLocked(method, now)) {
    throw tfaRefusal('tfa_locked', 'Too many failed attempts: this method is locked for a while.', {
      counts: failureCounts(method, now),
    });
  }
  if (method.lockedUntil === null) return;
  method.lockedUntil = null;
  method.failCount = 0;
}

/** Counts a failed verification, locks the method at the threshold, and refuses. */
export function refuseAttempt(step: TfaStep, method: TfaMethod): never {
  method.failCount += 1;
  if (method.failCount >= step.settings.failuresBeforeLockout) {
    method.lockedUntil = step.now + step.settings.lockoutSeconds * 1000;
  }
  throw tfaRefusal('2fa_verification_failed', 'The verification code is not correct.', {
    counts: failureCounts(method, step.now),
  });
}

/** A success ends the count. */
export function acceptAttempt(method: TfaMethod, now: number): void {
  method.failCount = 0;
  method.lockedUntil = null;
  method.lastUsed = now;
}
