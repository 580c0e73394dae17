import type { AccountRef } from '../instance/account-ref.ts';
import type { AccountBook } from './account-book.ts';
import type { AccountSession } from './account-session.ts';

/**
 * `notReady` carries the session where the login was proven before: its feed and its `get` and `destroy`
 * still serve teardown, its tickets refuse.
 */
export type AccountLookup =
  | { readonly type: 'ready'; readonly session: AccountSession }
  | {
      readonly type: 'notReady';
      readonly reason: string;
      readonly message: string;
      readonly session: AccountSession | undefined;
    }
  /** `isUnwatched`: whether there is one in its namespace, this installation does not look. */
  | { readonly type: 'missing'; readonly isUnwatched?: boolean };

/** The session behind a lookup, also where it may only be used for teardown. */
export function sessionOf(lookup: AccountLookup): AccountSession | undefined {
  return lookup.type === 'missing' ? undefined : lookup.session;
}

/** The accounts that this process knows, by name. */
export interface AccountDirectory {
  get(ref: AccountRef): AccountLookup;
  /**
   * Whether objects of that namespace may use the account; false also if there is none of that name. Undefined while it is
   * being found out.
   */
  permits(ref: AccountRef, namespace: string): boolean | undefined;
  /** Where the account remembers objects that are gone; undefined where there is no such account. */
  book(ref: AccountRef): AccountBook | undefined;
  /** Every account with a proven login. */
  sessions(): readonly AccountSession[];
  /** Called after an account became ready, stopped being so, or its breaker or limits changed. */
  onChange(listener: (ref: AccountRef) => void): () => void;
}
