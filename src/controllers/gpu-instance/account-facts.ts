import type { MicroDollars } from '../../lib/money.ts';
import type { AccountFacts } from './types.ts';

/** Facts that only an operator that watches the login knows. */
type Watched = Pick<
  AccountFacts,
  'openSpans' | 'countsHostFailures' | 'serviceTime' | 'startUnsupported' | 'isEndJudged'
>;

/** An account and its login, as a session knows them or as one read shows them. */
export interface KnownAccount extends Omit<AccountFacts, keyof Watched | 'creditUsedUp'> {
  /** Undefined if the key may not read it. */
  readonly credit: MicroDollars | undefined;
  /** Undefined after one read. */
  readonly watched: Watched | undefined;
}

/** Returns the facts of an account that decisions use; one read counts as a login in which nothing is suspect. */
export function accountFacts({ credit, watched, ...known }: KnownAccount): AccountFacts {
  const { limits, breaker } = known;
  return {
    ...known,
    creditUsedUp: credit !== undefined && credit <= (limits.minCredit ?? 0),
    ...(watched ?? {
      ...{ openSpans: [], countsHostFailures: breaker.type === 'closed', isEndJudged: true },
      ...{ serviceTime: { type: 'unknown' }, startUnsupported: false },
    }),
  };
}
