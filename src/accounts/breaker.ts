/**
 * Whether mass replacement and sweeps are frozen for an account. Never freezes a deletion that a person
 * asked for.
 */
export type BreakerState =
  | { readonly type: 'closed' }
  | {
      readonly type: 'open';
      /** Epoch milliseconds. */
      readonly since: number;
      readonly cause: 'massFailure' | 'listFailed';
      readonly message: string;
    };
