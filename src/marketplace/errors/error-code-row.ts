import type { MarketplaceErrorKind, Outcome } from './errors.ts';

/** Which endpoints a code is used by: one word can mean different things elsewhere. */
export type ErrorArea = 'tfa' | 'rent' | 'search' | 'instances' | 'volumes' | 'groups' | 'account' | 'any';

/** One code of a service: how it arrives, what it means to code, and what a person should do. */
export interface ErrorCodeRow {
  /** `*`: the service's text alone tells, because no code is documented. */
  readonly code: string;
  /** The HTTP statuses it is documented with. */
  readonly statuses: readonly number[];
  readonly area: ErrorArea;
  /** Only where the service's text contains this. */
  readonly text?: string;
  readonly kind: MarketplaceErrorKind;
  /** `refused` only where the effect certainly did not happen. */
  readonly outcome: Outcome;
  readonly advice: string;
}

/** A code as its table spells it. */
export type CodeCells = readonly [
  code: string,
  statuses: readonly number[],
  kind: MarketplaceErrorKind,
  outcome: Outcome,
  advice: string,
  text?: string,
];

/** The rows of one area. */
export const codeRows = (area: ErrorArea, list: readonly CodeCells[]): ErrorCodeRow[] =>
  list.map(([code, statuses, kind, outcome, advice, text]) => ({
    code,
    statuses,
    area,
    kind,
    outcome,
    advice,
    ...(text === undefined ? {} : { text }),
  }));
