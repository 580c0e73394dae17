/*
 * Two-factor authentication as the specification tells it, kept apart from how the simulator keeps it: each
 * function says how a call has to end (`ok`, or the code of its refusal) and moves the model along.
 */

const SECOND = 1000;
const CHALLENGE_MS = 600 * SECOND;
const WINDOW_MS = 1800 * SECOND;
const LOCKOUT_MS = 900 * SECOND;
const RECENT_SMS_MS = 60 * SECOND;
const FAILURES = 5;

/** A method that is set up. `key`: the TOTP secret, or the number. */
export interface ModelMethod {
  readonly id: number;
  readonly type: 'totp' | 'sms';
  readonly key: string;
  failures: number;
  lockedUntil: number;
}

/** A challenge; `methodId` null: what is sent proves no stored method. */
export interface ModelChallenge {
  readonly secret: string;
  readonly createdAt: number;
  kind: 'login' | 'email' | 'sms' | 'totp';
  code: string;
  to: string;
  methodId: number | null;
  sentAt: number;
}

/** A moment at which something ends; `index` is its place among challenges or methods. */
export interface Border {
  readonly at: number;
  readonly ends: 'window' | 'challenge' | 'recentSms' | 'lockout';
  readonly index: number;
}

export type Verdict = 'ok' | (string & {});

/** Model of one account. Times are in milliseconds. */
export class TfaModel {
  now: number;
  methods: ModelMethod[] = [];
  codes = new Map<string, boolean>();
  challenges: ModelChallenge[] = [];
  /** Secrets of challenges that were answered. */
  readonly spent: string[] = [];
  /** Secret of the authorization that waits for its code. */
  pending: string | undefined;
  authorizedUntil = -1;

  constructor(now: number) {
    this.now = now;
  }

  get isOn(): boolean {
    return this.methods.length > 0;
  }

  /** Moments at which something ends; a walk steps to them, and a second beside. */
  borders(): readonly Border[] {
    const ends: readonly Border[] = [
      { at: this.authorizedUntil, ends: 'window', index: 0 },
      ...this.challenges.map(({ createdAt }, index) => ({
        at: createdAt + CHALLENGE_MS,
        ends: 'challenge' as const,
        index,
      })),
      ...this.challenges.map(({ sentAt }, index) => ({
        at: sentAt + RECENT_SMS_MS,
        ends: 'recentSms' as const,
        index,
      })),
      ...this.methods.map(({ lockedUntil }, index) => ({ at: lockedUntil, ends: 'lockout' as const, index })),
    ];
    return ends.filter(({ at }) => at > this.now);
  }

  /** Returns whether the challenge of that secret can still be answered. */
  alive(secret: string): Verdict {
    const challenge = this.challenges.find((candidate) => candidate.secret === secret);
    if (!challenge) return 'challenge_not_found';
    return this.now - challenge.createdAt > CHALLENGE_MS ? '2fa_expired' : 'ok';
  }

  /** Returns whether the first-send endpoint may send another code to that number. */
  maySendTo(number: string): Verdict {
    const isRecent = ({ kind, to, sentAt }: ModelChallenge): boolean =>
      kind === 'sms' && to === number && sentAt > this.now - RECENT_SMS_MS;
    return this.challenges.some(isRecent) ? 'tfa_challenge_exists' : 'ok';
  }

  /** Records a code that was sent for a new or existing challenge. */
  sent(secret: string, code: { kind: ModelChallenge['kind']; code: string; to: string }): void {
    const methodId = this.methods.find(({ key }) => key === code.to)?.id ?? null;
    const fresh = { ...code, methodId, sentAt: this.now };
    const known = this.challenges.find((challenge) => challenge.secret === secret);
    if (known) Object.assign(known, fresh);
    else this.challenges.push({ secret, createdAt: this.now, ...fresh });
  }

  /** Answers a challenge: returns the verdict, and updates method and challenge. */
  answer(secret: string, kinds: readonly ModelChallenge['kind'][], isRight: boolean): Verdict {
    const state = this.alive(secret);
    const challenge = this.challenges.find((candidate) => candidate.secret === secret);
    if (state !== 'ok' || !challenge) return state;
    if (!kinds.includes(challenge.kind)) return 'no_challenge_found';
    const verdict = this.judge(challenge, isRight);
    if (verdict === 'ok') this.consume(secret);
    return verdict;
  }

  /**
   * Answers PUT authorize-new-method: any sent code authorizes, for any caller. While a requested authorization waits
   * for its code, only that code does.
   */
  authorizeWith(secret: string, isRight: boolean): Verdict {
    const isWaiting = (each: ModelChallenge): boolean =>
      each.kind !== 'login' && (each.secret === secret || this.alive(each.secret) === 'ok');
    if (!this.challenges.some(isWaiting)) return 'no_pending_authorization';
    const state = this.alive(secret);
    if (state !== 'ok') return state;
    const { pending } = this;
    if (pending !== undefined && pending !== secret && this.alive(pending) === 'ok') {
      return 'no_challenge_found';
    }
    const challenge = this.challenges.find((each) => each.secret === secret);
    const verdict =
      challenge?.kind === 'sms' && challenge.methodId === null
        ? this.ofUnknownNumber(secret, isRight)
        : this.answer(secret, ['email', 'sms', 'totp'], isRight);
    if (verdict === 'ok') this.grant();
    return verdict;
  }

  private ofUnknownNumber(secret: string, isRight: boolean): Verdict {
    if (!isRight) return '2fa_login_failed';
    this.consume(secret);
    return 'ok';
  }

  private judge({ kind, methodId }: ModelChallenge, isRight: boolean): Verdict {
    if (kind === 'email') return isRight ? 'ok' : '2fa_login_failed';
    if (methodId === null) return '2fa_login_failed';
    return this.verify(methodId, isRight);
  }

  /** Verifies a code for a stored method: counts, locks and unlocks. */
  verify(methodId: number, isRight: boolean): Verdict {
    const method = this.methods.find(({ id }) => id === methodId);
    if (!method) return 'not_found';
    if (this.now < method.lockedUntil) return 'tfa_locked';
    if (method.lockedUntil > 0) Object.assign(method, { failures: 0, lockedUntil: 0 });
    method.failures = isRight ? 0 : method.failures + 1;
    if (method.failures === FAILURES) method.lockedUntil = this.now + LOCKOUT_MS;
    return isRight ? 'ok' : '2fa_verification_failed';
  }

  /** Uses a backup code, which works once. */
  useBackupCode(code: string): Verdict {
    if (this.codes.get(code) !== true) return 'invalid_backup_code';
    this.codes.set(code, false);
    return 'ok';
  }

  consume(secret: string): void {
    this.spent.push(secret);
    this.challenges = this.challenges.filter((challenge) => challenge.secret !== secret);
  }

  grant(): void {
    this.pending = undefined;
    this.authorizedUntil = this.now + WINDOW_MS;
  }

  get mayAdd(): boolean {
    return this.now <= this.authorizedUntil;
  }

  add(method: Pick<ModelMethod, 'id' | 'type' | 'key'>): void {
    this.methods.push({ ...method, failures: 0, lockedUntil: 0 });
  }

  /** Removes a method. Removing the last one also removes backup codes and authorization. */
  remove(id: number): void {
    this.methods = this.methods.filter((method) => method.id !== id);
    if (this.isOn) return;
    this.codes.clear();
    this.pending = undefined;
    this.authorizedUntil = -1;
  }
}
