import type { Instance } from '../marketplace/instance.ts';
import type { PurchaseConstants } from '../ownership/constants.ts';
import type { Identity } from '../ownership/identity.ts';
import type { LabelFacts } from '../ownership/label.ts';
import type { Login } from '../ownership/login.ts';
import { type RecordedClaim, whose } from '../ownership/ours.ts';

/** Whose a listed machine is, as far as counts and sweeps are concerned. */
export type CensusEntry =
  | { readonly type: 'claimed'; readonly row: Instance }
  /** Ours by a label inside its window, and no known object has that uid. */
  | { readonly type: 'unclaimed'; readonly row: Instance; readonly facts: LabelFacts }
  | { readonly type: 'retained'; readonly row: Instance }
  /** Carries our label where it cannot belong: reported, never touched. */
  | { readonly type: 'copied'; readonly row: Instance }
  | { readonly type: 'foreign'; readonly row: Instance };

export interface CensusInput {
  readonly rows: Iterable<Instance>;
  readonly identity: Identity;
  readonly login: Login;
  readonly constants: PurchaseConstants;
  /** Uids of all objects, whatever account they name. */
  readonly uids: ReadonlySet<string>;
  readonly claims: readonly RecordedClaim[];
  /** Ids that the account lists as kept on purpose. */
  readonly retained: ReadonlySet<number>;
}

/** Sorts every machine of a login. An object claims by its uid alone: which machine it keeps is its own matter. */
export function takeCensus(input: CensusInput): readonly CensusEntry[] {
  const claimsById = Map.groupBy(input.claims, (claim) => claim.instanceId);
  return [...input.rows].map((row) => entryOf(row, input, claimsById.get(row.id) ?? []));
}

function entryOf(row: Instance, input: CensusInput, claims: readonly RecordedClaim[]): CensusEntry {
  const { identity, login, constants } = input;
  const ownership = whose(row, { identity, login, constants, claims });
  switch (ownership.type) {
    case 'claimed':
      return { type: 'claimed', row };
    case 'labelled': {
      if (input.retained.has(row.id)) return { type: 'retained', row };
      const { facts } = ownership;
      return input.uids.has(facts.uid) ? { type: 'claimed', row } : { type: 'unclaimed', row, facts };
    }
    case 'undated':
      return input.uids.has(ownership.facts.uid) ? { type: 'claimed', row } : { type: 'copied', row };
    case 'retained':
      return { type: 'retained', row };
    case 'labelCopied':
    case 'labelForged':
      return { type: 'copied', row };
    case 'foreignInstall':
    case 'someoneElses':
    case 'unlabelled':
      return input.retained.has(row.id) ? { type: 'retained', row } : { type: 'foreign', row };
  }
}
