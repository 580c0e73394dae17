import { characters, flag, integer, text, type WrittenFields } from '../calls/fields.ts';
import type { RouteContext } from '../calls/route.ts';
import type { Refusal } from '../refusal.ts';
import { newTfaAccount, type TfaAccount } from '../tables/tfa.ts';
import type { User } from '../tables/users.ts';
import { findChallenge } from '../tfa/challenge.ts';
import { runTfaStep, type TfaStep, tfaRefusal } from '../tfa/step.ts';
import type { Proof } from '../tfa/verify.ts';

/** Caller of a 2FA call (specification 4.8: logged out with a secret only, or with a Bearer token). */
export interface TfaCaller {
  readonly user: User;
  /** True without a Bearer token: the secret alone identifies the user. */
  readonly loggedOut: boolean;
}

/** Returns the caller of an endpoint that requires a Bearer token. Throws an `auth_error` Refusal without one. */
export function bearerCaller(ctx: RouteContext): TfaCaller {
  if (!ctx.caller) throw tfaRefusal('auth_error', 'Invalid user key');
  return personal({ user: ctx.caller.user, loggedOut: false });
}

/**
 * Returns the caller of an endpoint that accepts a Bearer token or a secret. Throws `missing` without either, and
 * `challenge_not_found` for an unknown secret.
 */
export function bearerOrSecretCaller(ctx: TfaCall, missing: (ctx: RouteContext) => Refusal): TfaCaller {
  if (ctx.caller) return bearerCaller(ctx);
  const { secret } = ctx.body;
  if (secret === undefined) throw missing(ctx);
  const account = Object.values(ctx.world.tables.tfaAccounts).find(({ challenges }) =>
    challenges.some((challenge) => challenge.secret === secret),
  );
  const user = account && ctx.world.tables.users[account.id];
  if (!user) throw tfaRefusal('challenge_not_found', 'No challenge belongs to this secret.');
  const caller = personal({ user, loggedOut: true });
  // For any second factor: a secret replaces a key as long as its challenge can be answered.
  moveTfa(ctx, user, (step) => findChallenge(step, secret));
  return caller;
}

/** Returns the refusal without a Bearer token or a secret, if a code could be sent (specification 7). */
export const noAuthentication = (): Refusal => tfaRefusal('auth_error', 'Give a Bearer token or a secret.');

/**
 * Returns the refusal of a login: 401 without a Bearer token (specification 7, `missing_auth_value`), 403 with an
 * invalid one (`auth_error`).
 */
export function noAuthValue({ sentKey }: RouteContext): Refusal {
  if (sentKey) return tfaRefusal('auth_error', 'Invalid user key');
  return tfaRefusal('missing_auth_value', 'Give a Bearer token or a secret.', { status: 401 });
}

/** Refuses a team's context: 2FA belongs to a person (specification 5.8). */
function personal(caller: TfaCaller): TfaCaller {
  if (caller.user.inTeam) {
    throw tfaRefusal('team_user_forbidden', '2FA actions are done in the personal context, not in a team.');
  }
  return caller;
}

/**
 * Runs one step of a user's 2FA and saves its state, also after a refusal: failed attempts and requested messages
 * count. Returns the value of the step or throws its refusal.
 */
export function moveTfa<T>(ctx: RouteContext, user: User, move: (step: TfaStep) => T): T {
  const outcome = runTfaStep(
    {
      account: tfaAccountOf(ctx, user.id),
      status: user.tfaStatus,
      user,
      settings: ctx.settings.tfa,
      now: ctx.now,
      random: ctx.random,
      nextMethodId: () => ctx.write.nextId('tfaMethod'),
      foreignSends: (phoneNumber, since) => foreignSends(ctx, { userId: user.id, phoneNumber, since }),
    },
    move,
  );
  ctx.write.put('tfaAccounts', outcome.account);
  if (outcome.status !== user.tfaStatus) ctx.write.put('users', { ...user, tfaStatus: outcome.status });
  for (const code of outcome.sent) ctx.write.put('sentCodes', { id: ctx.write.nextId('sentCode'), ...code });
  ctx.write.keep();
  if (outcome.result.type === 'refused') throw outcome.result.refusal;
  return outcome.result.value;
}

/** Returns the 2FA row of a user, or the default before any set-up. */
export function tfaAccountOf(ctx: RouteContext, userId: number): TfaAccount {
  return ctx.world.tables.tfaAccounts[userId] ?? newTfaAccount(userId);
}

function foreignSends(
  ctx: RouteContext,
  query: { userId: number; phoneNumber: string; since: number },
): number {
  let count = 0;
  for (const { id, smsSends } of Object.values(ctx.world.tables.tfaAccounts)) {
    if (id === query.userId) continue;
    count += smsSends.filter(
      ({ at, phoneNumber }) => at > query.since && phoneNumber === query.phoneNumber,
    ).length;
  }
  return count;
}

const E164 = /^\+[1-9]\d{6,14}$/;
const SIX_DIGITS = /^\d{6}$/;
/** Specification 8. */
const LABEL_CHARACTERS = 30;

/** A text; an empty one counts as absent. */
const filledText = text.transform((value) => value || undefined);

const isFit = (test: (value: string) => boolean) => (value: string | undefined) =>
  value === undefined || test(value);

/** The fields of all 2FA calls: `written` of an endpoint names those in the specification. */
export const TFA = {
  tfa_method: filledText,
  /** Public clients send a number or a string of digits. */
  tfa_method_id: integer,
  target_id: integer,
  /** Text, so that leading zeros survive. */
  code: filledText.refine(
    isFit((code) => SIX_DIGITS.test(code)),
    'must be a string of 6 digits.',
  ),
  secret: filledText,
  backup_code: filledText,
  phone_number: filledText.refine(
    isFit((phone) => E164.test(phone)),
    'must be in E.164 form, such as +14155550100.',
  ),
  /** May be empty. */
  label: text.refine(
    isFit((label) => characters(label) <= LABEL_CHARACTERS),
    `must be at most ${LABEL_CHARACTERS} characters.`,
  ),
  is_primary: flag,
  admin: flag,
};

/** A 2FA call. */
export type TfaCall = RouteContext<typeof TFA>;

/** Fields of the specification for a second factor. */
export const PROOF = {
  tfa_method: 'text',
  code: 'text',
  secret: 'text',
  tfa_method_id: 'integer',
  backup_code: 'text',
} as const satisfies WrittenFields;

/** Returns the fields that prove a second factor. */
export function proofOf({ body }: TfaCall): Proof {
  return {
    tfaMethod: body.tfa_method,
    methodId: body.tfa_method_id,
    code: body.code,
    secret: body.secret,
    backupCode: body.backup_code,
  };
}
