import fc from 'fast-check';
import { expect, test } from 'vitest';
import { totpCode } from '../../../test/builders/totp.ts';
import { seededRandom } from '../../lib/random.ts';
import { defaultTfaSettings } from '../settings.ts';
import { newTfaAccount, type TfaAccount } from '../tables/tfa.ts';
import { completeAuthorization, requestAuthorization } from './authorize.ts';
import { sendEmailCode } from './challenge.ts';
import { backupCodesRemaining, issueTotpSecret } from './codes.ts';
import { confirmNewMethod, regenerateBackupCodes, removeMethod } from './methods.ts';
import { runTfaStep, type TfaStatus, type TfaStep } from './step.ts';
import { completeLogin } from './verify.ts';

/** The code under test, with one account and a clock of its own. */
class Machine {
  account: TfaAccount = newTfaAccount(1);
  status: TfaStatus = 'disabled';
  now = 1_800_000_000_000;
  lastCode = '';
  readonly random = seededRandom(3);
  methodIds = 0;

  /** Returns the value of a step, or the code of its refusal. */
  move<T>(step: (step: TfaStep) => T): { ok: T } | { refused: string } {
    const before = JSON.stringify(this.account);
    const input = this.account;
    const outcome = runTfaStep(
      {
        account: input,
        status: this.status,
        user: { id: 1, email: 'a@b.example', emailVerifiedAt: 1, phoneNumber: null, isAdmin: false },
        settings: defaultTfaSettings,
        now: this.now,
        random: this.random,
        nextMethodId: () => {
          this.methodIds += 1;
          return this.methodIds;
        },
        foreignSends: () => 0,
      },
      step,
    );
    expect(JSON.stringify(input)).toBe(before);
    this.account = outcome.account;
    this.status = outcome.status;
    this.lastCode = outcome.sent.at(-1)?.code ?? this.lastCode;
    return outcome.result.type === 'done'
      ? { ok: outcome.result.value }
      : { refused: outcome.result.refusal.code };
  }
}

/** State of the account by the specification, separate from its stored form. */
interface Model {
  now: number;
  methods: { secret: string; id: number; failures: number; lockedUntil: number }[];
  codes: { code: string; used: boolean }[];
  /** Unused sent codes, oldest first. */
  challenges: { secret: string; code: string; at: number }[];
  /** Secret of the authorization that was requested last and not granted since. */
  requested: string | undefined;
  authorizedUntil: number;
}

type Command = fc.Command<Model, Machine>;

const MINUTE = 60_000;
const wrongFor = (code: string): string => (code === '000000' ? '000001' : '000000');
const isLocked = (model: Model, method: Model['methods'][number]): boolean => model.now < method.lockedUntil;

/** Returns the expected answer to a verification of the first method, by the rules of lockout. */
function expectVerification(model: Model, isRight: boolean): string | undefined {
  const [method] = model.methods;
  if (!method) return undefined;
  if (isLocked(model, method)) return 'tfa_locked';
  if (method.lockedUntil !== 0) Object.assign(method, { lockedUntil: 0, failures: 0 });
  if (isRight) {
    method.failures = 0;
    return undefined;
  }
  method.failures += 1;
  if (method.failures >= 5) method.lockedUntil = model.now + 15 * MINUTE;
  return '2fa_verification_failed';
}

const refusalOf = (answered: object): string | undefined =>
  'refused' in answered ? String(answered.refused) : undefined;

class Wait implements Command {
  readonly minutes: number;
  constructor(minutes: number) {
    this.minutes = minutes;
  }
  check = () => true;
  run(model: Model, real: Machine): void {
    model.now += this.minutes * MINUTE;
    real.now = model.now;
  }
  toString = () => `wait ${this.minutes} min`;
}

class RequestByEmail implements Command {
  check = () => true;
  run(model: Model, real: Machine): void {
    const answered = real.move((step) => requestAuthorization(step, { tfaMethod: 'email' }));
    if (!('ok' in answered) || answered.ok.type !== 'challenge') throw new Error('No challenge was made.');
    keepChallenge(model, { secret: answered.ok.secret, code: real.lastCode });
    model.requested = answered.ok.secret;
  }
  toString = () => 'request authorization';
}

class SendEmail implements Command {
  check = () => true;
  run(model: Model, real: Machine): void {
    const answered = real.move((step) => sendEmailCode(step, undefined));
    if (!('ok' in answered)) throw new Error('No code was sent.');
    keepChallenge(model, { secret: answered.ok.secret, code: real.lastCode });
  }
  toString = () => 'send a code by email';
}

/** Removes challenges of more than a day ago, when the next one is created. */
function keepChallenge(model: Model, sent: { secret: string; code: string }): void {
  model.challenges = model.challenges.filter(({ at }) => model.now - at <= 24 * 60 * MINUTE);
  model.challenges.push({ ...sent, at: model.now });
}

class CompleteAuthorization implements Command {
  readonly isRight: boolean;
  /** Index of a sent code from the newest; beyond them a secret without a challenge. */
  readonly back: number;
  constructor(isRight: boolean, back: number) {
    this.isRight = isRight;
    this.back = back;
  }
  check = () => true;
  run(model: Model, real: Machine): void {
    const challenge = model.challenges.at(-1 - this.back);
    const code = this.isRight ? (challenge?.code ?? '123456') : wrongFor(challenge?.code ?? '');
    const answer = { secret: challenge?.secret ?? 'none', code };
    expect(refusalOf(real.move((step) => completeAuthorization(step, answer)))).toBe(
      this.expected(model, challenge),
    );
  }
  private expected(model: Model, challenge: Model['challenges'][number] | undefined): string | undefined {
    const isAlive = ({ at }: { at: number }) => model.now - at <= 10 * MINUTE;
    if (!challenge) {
      return model.challenges.some(isAlive) ? 'challenge_not_found' : 'no_pending_authorization';
    }
    if (!isAlive(challenge)) return '2fa_expired';
    const requested = model.challenges.find(({ secret }) => secret === model.requested);
    if (requested && requested !== challenge && isAlive(requested)) return 'no_challenge_found';
    if (!this.isRight) return '2fa_login_failed';
    model.challenges = model.challenges.filter((kept) => kept !== challenge);
    model.requested = undefined;
    model.authorizedUntil = model.now + 30 * MINUTE;
    return undefined;
  }
  toString = () => `complete authorization ${this.isRight} ${this.back}`;
}

class AddTotp implements Command {
  readonly isRight: boolean;
  constructor(isRight: boolean) {
    this.isRight = isRight;
  }
  check = (model: Readonly<Model>) => model.methods.length < 5;
  run(model: Model, real: Machine): void {
    const secret = issueTotpSecret(real.random, 1);
    const right = totpCode(secret, model.now);
    const code = this.isRight ? right : wrongFor(right);
    const answered = real.move((step) => confirmNewMethod(step, { tfaMethod: 'totp', code, secret }));
    expect(refusalOf(answered)).toBe(this.expected(model));
    if (!('ok' in answered)) return;
    const { method, backupCodes } = answered.ok;
    expect(backupCodes?.length).toBe(model.methods.length === 0 ? 10 : undefined);
    if (backupCodes) model.codes = backupCodes.map((text) => ({ code: text, used: false }));
    model.methods.push({ secret, id: method.id, failures: 0, lockedUntil: 0 });
  }
  private expected(model: Readonly<Model>): string | undefined {
    if (model.now > model.authorizedUntil) return 'authorization_required';
    return this.isRight ? undefined : '2fa_login_failed';
  }
  toString = () => `add TOTP ${this.isRight}`;
}

abstract class ByTotp implements Command {
  readonly isRight: boolean;
  constructor(isRight: boolean) {
    this.isRight = isRight;
  }
  check = (model: Readonly<Model>) => model.methods.length > 0;
  run(model: Model, real: Machine): void {
    const [method] = model.methods;
    if (!method) throw new Error('The model has no method.');
    const right = totpCode(method.secret, model.now);
    const proof = { tfaMethod: 'totp', methodId: method.id, code: this.isRight ? right : wrongFor(right) };
    const expected = expectVerification(model, this.isRight);
    this.act(model, real, { proof, expected });
  }
  abstract act(
    model: Model,
    real: Machine,
    given: { proof: { tfaMethod: string; methodId: number; code: string }; expected: string | undefined },
  ): void;
}

class LogIn extends ByTotp {
  act(_model: Model, real: Machine, given: Parameters<ByTotp['act']>[2]): void {
    const answered = real.move((step) => completeLogin(step, { ...given.proof, admin: false }));
    expect(refusalOf(answered)).toBe(given.expected);
  }
  override toString = () => `log in ${this.isRight}`;
}

class Remove extends ByTotp {
  act(model: Model, real: Machine, given: Parameters<ByTotp['act']>[2]): void {
    const answered = real.move((step) => removeMethod(step, given.proof));
    expect(refusalOf(answered)).toBe(given.expected);
    if (given.expected !== undefined) return;
    model.methods.shift();
    if (model.methods.length > 0) return;
    Object.assign(model, { codes: [], authorizedUntil: 0, requested: undefined });
  }
  override toString = () => `remove ${this.isRight}`;
}

class Regenerate extends ByTotp {
  act(model: Model, real: Machine, given: Parameters<ByTotp['act']>[2]): void {
    const answered = real.move((step) => regenerateBackupCodes(step, given.proof));
    expect(refusalOf(answered)).toBe(given.expected);
    if ('ok' in answered) model.codes = answered.ok.map((code) => ({ code, used: false }));
  }
  override toString = () => `regenerate ${this.isRight}`;
}

class UseBackupCode implements Command {
  readonly index: number;
  constructor(index: number) {
    this.index = index;
  }
  check = (model: Readonly<Model>) => model.codes.length > 0;
  run(model: Model, real: Machine): void {
    const row = model.codes[this.index % model.codes.length];
    if (!row) throw new Error('The model has no code.');
    const answered = real.move((step) => completeLogin(step, { backupCode: row.code, admin: false }));
    expect(refusalOf(answered)).toBe(row.used ? 'invalid_backup_code' : undefined);
    row.used = true;
  }
  toString = () => `backup code ${this.index}`;
}

/** Checks the invariants that hold after every step. */
function checkInvariants(model: Model, real: Machine): void {
  expect(real.account.methods.map(({ id }) => id)).toEqual(model.methods.map(({ id }) => id));
  expect(real.status).toBe(model.methods.length > 0 ? 'enabled' : 'disabled');
  expect(real.account.methods.filter(({ isPrimary }) => isPrimary)).toHaveLength(
    Math.min(1, model.methods.length),
  );
  expect(backupCodesRemaining(real.account.backupCodes)).toBe(model.codes.filter(({ used }) => !used).length);
}

/** Returns the command with a check of the invariants after it. */
const checked = (command: Command): Command => ({
  check: (model) => command.check(model),
  run(model, real) {
    command.run(model, real);
    checkInvariants(model, real);
  },
  toString: () => command.toString(),
});

const right = fc.boolean();
const commands = [
  fc.integer({ min: 0, max: 40 }).map((minutes) => new Wait(minutes)),
  fc.constant(new RequestByEmail()),
  fc.constant(new SendEmail()),
  fc.tuple(right, fc.nat(2)).map(([isRight, back]) => new CompleteAuthorization(isRight, back)),
  fc.constant(new CompleteAuthorization(true, 0)),
  fc.constant(new AddTotp(true)),
  right.map((isRight) => new AddTotp(isRight)),
  right.map((isRight) => new LogIn(isRight)),
  fc.constant(new LogIn(false)),
  right.map((isRight) => new Remove(isRight)),
  fc.constant(new Regenerate(true)),
  fc.nat(9).map((index) => new UseBackupCode(index)),
].map((arbitrary) => arbitrary.map((command) => checked(command as Command)));

test('random walks through 2FA answer what the specification says, at every step', () => {
  fc.assert(
    fc.property(fc.commands(commands, { maxCommands: 60, size: 'max' }), (walk) => {
      const real = new Machine();
      const model: Model = {
        now: real.now,
        methods: [],
        codes: [],
        challenges: [],
        requested: undefined,
        authorizedUntil: 0,
      };
      fc.modelRun(() => ({ model, real }), walk);
    }),
    { numRuns: 150 },
  );
});
