import type { Refusal } from '../calls/refusal.ts';
import type { RouteContext } from '../calls/route.ts';
import { newTfaAccount, type TfaAccount } from '../tables/tfa.ts';
import type { User } from '../tables/users.ts';
import { findChallenge } from '../tfa/challenge.ts';
import type { TfaStep } from '../tfa/state.ts';
import { tfaRefusal } from '../tfa/tfa-refusal.ts';
import { runTfaStep } from '../tfa/transition.ts';
import { optionalText } from './tfa-body.ts';

/** Who makes a 2FA call (specification 4.8: logged out with a secret only, or with a Bearer token). */
export interface TfaCaller {
  readonly user: User;
  /** No Bearer token came: the secret alone names the user. */
  readonly loggedOut: boolean;
}

/** The caller of an endpoint that a secret alone does not open. */
export function bearerCaller(ctx: RouteContext): TfaCaller {
  if (!ctx.caller) throw tfaRefusal('auth_error', 'Invalid user key');
  return personal({ user: ctx.caller.user, loggedOut: false });
}

/** The caller of an endpoint that a Bearer token or a secret opens; `missing` when neither came. */
export function bearerOrSecretCaller(ctx: RouteContext, missing: (ctx: RouteContext) => Refusal): TfaCaller {
  if (ctx.caller) return bearerCaller(ctx);
  const secret = optionalText(ctx.body, 'secret');
  if (secret === undefined) throw missing(ctx);
  const user = ownerOfSecret(ctx, secret);
  if (!user) throw tfaRefusal('challenge_not_found', 'No challenge belongs to this secret.');
  const caller = personal({ user, loggedOut: true });
  // Whatever proves the second factor: a secret stands for a key as long as its challenge can be answered.
  moveTfa(ctx, user, (step) => findChallenge(step, secret));
  return caller;
}

/** Neither a Bearer token nor a secret, where a code could be sent (specification 7). */
export const noAuthentication = (): Refusal => tfaRefusal('auth_error', 'Give a Bearer token or a secret.');

/**
 * The same where a login is completed: 401 where no Bearer token came at all (specification 7,
 * `missing_auth_value`), 403 where one came that is worth nothing (`auth_error`).
 */
export function noAuthValue({ sentKey }: RouteContext): Refusal {
  if (sentKey) return tfaRefusal('auth_error', 'Invalid user key');
  return tfaRefusal('missing_auth_value', 'Give a Bearer token or a secret.', { status: 401 });
}

/** 2FA is a personal matter (specification 5.8). */
function personal(caller: TfaCaller): TfaCaller {
  if (caller.user.inTeam) {
    throw tfaRefusal('team_user_forbidden', '2FA actions are done in the personal context, not in a team.');
  }
  return caller;
}

function ownerOfSecret(ctx: RouteContext, secret: string): User | undefined {
  const account = Object.values(ctx.world.tables.tfaAccounts).find(({ challenges }) =>
    challenges.some((challenge) => challenge.secret === secret),
  );
  return account && ctx.world.tables.users[account.id];
}

/**
 * Moves the 2FA of a user by one step and keeps what it became, also when it was refused: failed attempts
 * and requested messages count. Answers the value of the step or throws its refusal.
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

/** The 2FA row of a user, or what it is before anything was set up. */
export function tfaAccountOf(ctx: RouteContext, userId: number): TfaAccount {
  return ctx.world.tables.tfaAccounts[userId] ?? newTfaAccount(userId);
}

function foreignSends(
  ctx: RouteContext,
  wanted: { userId: number; phoneNumber: string; since: number },
): number {
  let count = 0;
  for (const { id, smsSends } of Object.values(ctx.world.tables.tfaAccounts)) {
    if (id === wanted.userId) continue;
    count += smsSends.filter(
      ({ at, phoneNumber }) => at > wanted.since && phoneNumber === wanted.phoneNumber,
    ).length;
  }
  return count;
}
