import type { Instance } from '../../marketplace/instances/instance.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { Identity } from '../../ownership/identity.ts';
import type { LabelFacts } from '../../ownership/label.ts';
import type { Login } from '../../ownership/login.ts';
import { type Ownership, type RecordedClaim, whose } from '../../ownership/ours.ts';

/** Whose a listed machine is, as far as counts and sweeps are concerned. */
export type CensusEntry =
  | { readonly type: 'claimed'; readonly row: Instance }
  /** Ours by a label inside its window, and no known object has that uid. */
  | { readonly type: 'unclaimed'; readonly row: Instance; readonly facts: LabelFacts }
  | { readonly type: 'retained'; readonly row: Instance }
  /** Carries our label where it cannot belong: reported, never touched. */
  | { readonly type: 'copied'; readonly row: Instance }
  /** `installation`: the other one that its label names. */
  | { readonly type: 'foreign'; readonly row: Instance; readonly installation?: string };

export interface CensusInput {
  readonly rows: Iterable<Instance>;
  /** Uids of all objects, whatever account they name. */
  readonly uids: ReadonlySet<string>;
  readonly claims: readonly RecordedClaim[];
  /** Ids that the account lists as kept on purpose. */
  readonly retained: ReadonlySet<number>;
}

/** Sorts the machines of a login. What a signature proved is remembered from one list to the next. */
export class MachineCensus {
  readonly #login: Login;
  readonly #constants: PurchaseConstants;
  #identity: Identity | undefined;
  #known = new Map<string, Ownership>();

  constructor(login: Login, constants: PurchaseConstants) {
    this.#login = login;
    this.#constants = constants;
  }

  /** An object claims by its uid alone: which machine it keeps is its own matter. */
  take(identity: Identity, input: CensusInput): readonly CensusEntry[] {
    if (identity !== this.#identity) this.#known = new Map();
    this.#identity = identity;
    const claimsById = Map.groupBy(input.claims, (claim) => claim.instanceId);
    const seen = new Map<string, Ownership>();
    const entries = [...input.rows].map((row) => {
      const claims = claimsById.get(row.id) ?? [];
      const key = JSON.stringify([row.id, row.label, row.startedAt, claims]);
      const ownership = this.#known.get(key) ?? this.#ownership(identity, row, claims);
      seen.set(key, ownership);
      return entryOf(row, ownership, input);
    });
    this.#known = seen;
    return entries;
  }

  #ownership(identity: Identity, row: Instance, claims: readonly RecordedClaim[]): Ownership {
    return whose(row, { identity, claims, login: this.#login, constants: this.#constants });
  }
}

/** Where it does not depend on the objects that there are. */
const SORTED = {
  claimed: 'claimed',
  retained: 'retained',
  labelCopied: 'copied',
  labelForged: 'copied',
  foreignInstall: 'foreign',
  someoneElses: 'foreign',
  unlabelled: 'foreign',
} as const satisfies Record<Exclude<Ownership['type'], 'labelled' | 'undated'>, CensusEntry['type']>;

function entryOf(row: Instance, ownership: Ownership, { uids, retained }: CensusInput): CensusEntry {
  if (retained.has(row.id) && ownership.type !== 'claimed') return { type: 'retained', row };
  if (ownership.type !== 'labelled' && ownership.type !== 'undated') {
    const other = ownership.type === 'foreignInstall' && { installation: ownership.installId8 };
    return { type: SORTED[ownership.type], row, ...other };
  }
  const { type, facts } = ownership;
  if (uids.has(facts.uid)) return { type: 'claimed', row };
  return type === 'labelled' ? { type: 'unclaimed', row, facts } : { type: 'copied', row };
}
