import type { Instance } from '../../marketplace/instances/instance.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { Identity } from '../../ownership/identity.ts';
import type { LabelFacts } from '../../ownership/label.ts';
import type { Login } from '../../ownership/login.ts';
import { type Ownership, type RecordedClaim, whose } from '../../ownership/ours.ts';

/** Whose a listed machine is, as far as counts and sweeps are concerned. */
export type CensusEntry =
  | { readonly type: 'claimed'; readonly row: Instance }
  /**
   * Ours by a label inside its window, and no known object has that uid. `isLate`: the label's window was over, and no
   * other machine is of that purchase, so this one is no copy.
   */
  | {
      readonly type: 'unclaimed';
      readonly row: Instance;
      readonly facts: LabelFacts;
      readonly isLate?: true;
    }
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
  /** Ids that were seen beside the original of their label: copies for good. */
  readonly copies?: ReadonlySet<number>;
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
    const owned = [...input.rows].map((row) => {
      const claims = claimsById.get(row.id) ?? [];
      const key = JSON.stringify([row.id, row.label, row.startedAt, claims]);
      const ownership = this.#known.get(key) ?? this.#ownership(identity, row, claims);
      seen.set(key, ownership);
      return { row, ownership };
    });
    this.#known = seen;
    const purchases = machinesByPurchase(owned, input.claims);
    return owned.map(({ row, ownership }) => entryOf(row, ownership, { ...input, purchases }));
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

interface Owned {
  readonly row: Instance;
  readonly ownership: Ownership;
}

type Purchase = Pick<LabelFacts, 'uid' | 'attempt'>;
type MachinesByPurchase = ReadonlyMap<string, ReadonlySet<number>>;

const purchaseKey = ({ uid, attempt }: Purchase): string => `${uid} ${attempt}`;

/** Ids of the machines, listed or recorded, that are of each purchase. */
function machinesByPurchase(owned: readonly Owned[], claims: readonly RecordedClaim[]): MachinesByPurchase {
  const machines = new Map<string, Set<number>>();
  const note = (purchase: Purchase, id: number) => {
    const ids = machines.get(purchaseKey(purchase)) ?? new Set<number>();
    machines.set(purchaseKey(purchase), ids.add(id));
  };
  for (const claim of claims) note(claim, claim.instanceId);
  for (const { row, ownership } of owned) if ('facts' in ownership) note(ownership.facts, row.id);
  return machines;
}

function entryOf(
  row: Instance,
  ownership: Ownership,
  input: CensusInput & { readonly purchases: MachinesByPurchase },
): CensusEntry {
  const { uids, retained } = input;
  if (retained.has(row.id) && ownership.type !== 'claimed') return { type: 'retained', row };
  if (ownership.type === 'labelCopied' && isLateRental(row, ownership, input))
    return { type: 'unclaimed', row, facts: ownership.facts, isLate: true };
  if (ownership.type !== 'labelled' && ownership.type !== 'undated') {
    const other = ownership.type === 'foreignInstall' && { installation: ownership.installId8 };
    return { type: SORTED[ownership.type], row, ...other };
  }
  const { type, facts } = ownership;
  if (uids.has(facts.uid)) return { type: 'claimed', row };
  return type === 'labelled' ? { type: 'unclaimed', row, facts } : { type: 'copied', row };
}

/** A machine without an original is no copy: the service carried its rental out late. Its object never touches it. */
function isLateRental(
  { id }: Instance,
  { facts, isLate }: Extract<Ownership, { type: 'labelCopied' }>,
  { copies, purchases }: { readonly purchases: MachinesByPurchase } & Pick<CensusInput, 'copies'>,
): boolean {
  return isLate && !copies?.has(id) && purchases.get(purchaseKey(facts))?.size === 1;
}
