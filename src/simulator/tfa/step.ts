import type { Random } from '../../lib/random.ts';
import { Refusal } from '../calls/refusal.ts';
import type { MethodType, MutableTfaAccount, SentCode, TfaAccount, TfaMethod } from '../tables/tfa.ts';
import type { TfaSettings } from './settings.ts';

/** What the user object shows as `tfa_status` (specification 2.4). */
export type TfaStatus = 'enabled' | 'disabled' | 'legacy';

/** What 2FA has to know of a user. */
export interface TfaUser {
  readonly id: number;
  readonly email: string | null;
  readonly emailVerifiedAt: number | null;
  /** The number on file; a legacy account's second factor. */
  readonly phoneNumber: string | null;
  readonly isAdmin: boolean;
}

/** One step of 2FA: the account that it changes, and everything it may read. */
export interface TfaStep {
  readonly account: MutableTfaAccount;
  status: TfaStatus;
  readonly user: TfaUser;
  readonly settings: TfaSettings;
  readonly now: number;
  readonly random: Random;
  /** Next id of a method. */
  readonly nextMethodId: () => number;
  /** How often other accounts sent to a number since a time. */
  readonly foreignSends: (phoneNumber: string, since: number) => number;
  /** Codes that this step sends. */
  readonly sent: Omit<SentCode, 'id'>[];
}

/** The methods of one type, in the order they were added. */
export function methodsOfType(account: TfaAccount, type: MethodType): readonly TfaMethod[] {
  return account.methods.filter(({ method }) => method === type);
}

/** Where a step starts and what it may look at. */
export interface TfaInput extends Omit<TfaStep, 'account' | 'sent'> {
  readonly account: TfaAccount;
}

/** Where it ended. A refusal keeps what it moved: failed attempts and asked-for messages count. */
export interface TfaOutcome<T> {
  readonly account: TfaAccount;
  readonly status: TfaStatus;
  readonly sent: readonly Omit<SentCode, 'id'>[];
  readonly result:
    | { readonly type: 'done'; readonly value: T }
    | { readonly type: 'refused'; readonly refusal: Refusal };
}

/** Runs one move of a 2FA machine on a copy: the input stays as it was, whatever happens. */
export function runTfaStep<T>(input: TfaInput, move: (step: TfaStep) => T): TfaOutcome<T> {
  const step: TfaStep = { ...input, account: structuredClone(input.account) as MutableTfaAccount, sent: [] };
  const result = attempt(() => move(step));
  return { account: step.account, status: step.status, sent: step.sent, result };
}

function attempt<T>(move: () => T): TfaOutcome<T>['result'] {
  try {
    return { type: 'done', value: move() };
  } catch (refusal) {
    if (refusal instanceof Refusal) return { type: 'refused', refusal };
    throw refusal;
  }
}
