import { Refusal } from '../calls/refusal.ts';
import type { SentCode, TfaAccount, TfaDraft } from '../tables/tfa.ts';
import type { TfaStatus, TfaStep } from './state.ts';

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
  const step: TfaStep = { ...input, account: structuredClone(input.account) as TfaDraft, sent: [] };
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
