import { MarketplaceError } from '../market/errors.ts';
import { type CompleteList, listTook } from '../market/feed-state.ts';
import type { MachineRow } from '../market/machine.ts';
import type { PurchaseConstants } from '../ownership/constants.ts';
import type { Identity } from '../ownership/identity.ts';
import type { LabelFacts } from '../ownership/label.ts';
import type { Login } from '../ownership/login.ts';
import { type Ownership, ownershipOf, type RecordedClaim } from '../ownership/ownership.ts';

/** Classification of a listed machine by owner, for counts and sweeps. */
export type InventoryEntry =
  | { readonly type: 'claimed'; readonly row: MachineRow }
  /**
   * Owned by a label inside its window, and no known object has that uid. `isLate`: the label's window was over, and no
   * other machine belongs to that purchase, so this one is no copy.
   */
  | {
      readonly type: 'orphan';
      readonly row: MachineRow;
      readonly facts: LabelFacts;
      readonly isLate?: true;
    }
  | { readonly type: 'retained'; readonly row: MachineRow }
  /** Carries a label of this operator that cannot be its own: reported, never changed. */
  | { readonly type: 'copied'; readonly row: MachineRow }
  /** `installation`: the other installation that its label names. */
  | { readonly type: 'foreign'; readonly row: MachineRow; readonly installation?: string };

export interface InventoryInput {
  readonly rows: Iterable<MachineRow>;
  /** Uids of all objects, whatever account they name. */
  readonly uids: ReadonlySet<string>;
  readonly claims: readonly RecordedClaim[];
  /** Ids that the account lists as kept on purpose. */
  readonly retained: ReadonlySet<string>;
  /** IDs that were seen next to the original machine of their label; they remain copies. */
  readonly copies?: ReadonlySet<string>;
}

/**
 * Classifies the machines of a login by owner. Results of signature checks are cached from one list to the next.
 */
export class MachineInventory {
  readonly #login: Login;
  readonly #constants: PurchaseConstants;
  #identity: Identity | undefined;
  /** Proven machines by id. */
  #known = new Map<string, Proven>();

  constructor(login: Login, constants: PurchaseConstants) {
    this.#login = login;
    this.#constants = constants;
  }

  /**
   * Returns the owner of each machine. An object claims machines by its uid alone; the object's controller decides
   * which machine it keeps.
   */
  classify(identity: Identity, input: InventoryInput): readonly InventoryEntry[] {
    if (identity !== this.#identity) this.#known = new Map();
    this.#identity = identity;
    const claimsById = Map.groupBy(input.claims, (claim) => claim.instanceId);
    const seen = new Map<string, Proven>();
    const context = { identity, login: this.#login, constants: this.#constants };
    const owned = [...input.rows].map((row) => {
      const claims = claimsById.get(row.id) ?? [];
      const known = this.#known.get(row.id);
      const isProven = known !== undefined && provesSame(known, row, claims);
      const ownership = isProven ? known.ownership : ownershipOf(row, { ...context, claims });
      seen.set(row.id, { label: row.label, startedAt: row.startedAt, claims, ownership });
      return { row, ownership };
    });
    this.#known = seen;
    const purchases = machinesByPurchase(owned, input.claims);
    return owned.map(({ row, ownership }) => entryOf(row, ownership, { ...input, purchases }));
  }
}

/** Owner of a machine, and the evidence for it. */
interface Proven extends Pick<MachineRow, 'label' | 'startedAt'> {
  readonly claims: readonly RecordedClaim[];
  readonly ownership: Ownership;
}

function provesSame(known: Proven, row: MachineRow, claims: readonly RecordedClaim[]): boolean {
  if (known.label !== row.label || known.startedAt !== row.startedAt) return false;
  if (known.claims.length !== claims.length) return false;
  return claims.every(({ uid, attempt, instanceId, claim }, index) => {
    const before = known.claims[index];
    return (
      before?.claim === claim &&
      before.uid === uid &&
      before.attempt === attempt &&
      before.instanceId === instanceId
    );
  });
}

/** Entry types that do not depend on the existing objects. */
const ENTRY_TYPES = {
  claimed: 'claimed',
  retained: 'retained',
  labelCopied: 'copied',
  labelForged: 'copied',
  foreignInstall: 'foreign',
  someoneElses: 'foreign',
  unlabelled: 'foreign',
} as const satisfies Record<Exclude<Ownership['type'], 'labelled' | 'undated'>, InventoryEntry['type']>;

interface Owned {
  readonly row: MachineRow;
  readonly ownership: Ownership;
}

type Purchase = Pick<LabelFacts, 'uid' | 'attempt'>;
type MachinesByPurchase = ReadonlyMap<string, ReadonlySet<string>>;

const purchaseKey = ({ uid, attempt }: Purchase): string => `${uid} ${attempt}`;

/** Returns the ids of the listed or recorded machines of each purchase. */
function machinesByPurchase(owned: readonly Owned[], claims: readonly RecordedClaim[]): MachinesByPurchase {
  const machines = new Map<string, Set<string>>();
  const note = (purchase: Purchase, id: string) => {
    const key = purchaseKey(purchase);
    const ids = machines.get(key) ?? new Set<string>();
    machines.set(key, ids.add(id));
  };
  for (const claim of claims) note(claim, claim.instanceId);
  for (const { row, ownership } of owned) if ('facts' in ownership) note(ownership.facts, row.id);
  return machines;
}

function entryOf(
  row: MachineRow,
  ownership: Ownership,
  input: InventoryInput & { readonly purchases: MachinesByPurchase },
): InventoryEntry {
  const { uids, retained } = input;
  if (retained.has(row.id) && ownership.type !== 'claimed') return { type: 'retained', row };
  if (ownership.type === 'labelCopied' && isLateRental(row, ownership, input))
    return { type: 'orphan', row, facts: ownership.facts, isLate: true };
  if (ownership.type !== 'labelled' && ownership.type !== 'undated') {
    const other = ownership.type === 'foreignInstall' && { installation: ownership.installId8 };
    return { type: ENTRY_TYPES[ownership.type], row, ...other };
  }
  const { type, facts } = ownership;
  if (uids.has(facts.uid)) return { type: 'claimed', row };
  return type === 'labelled' ? { type: 'orphan', row, facts } : { type: 'copied', row };
}

/**
 * Returns true for a machine with this label if no original is listed. It is not a copy: the marketplace carried out
 * its rental late. The object never changes it.
 */
function isLateRental(
  { id }: MachineRow,
  { facts, isLate }: Extract<Ownership, { type: 'labelCopied' }>,
  { copies, purchases }: { readonly purchases: MachinesByPurchase } & Pick<InventoryInput, 'copies'>,
): boolean {
  return isLate && !copies?.has(id) && purchases.get(purchaseKey(facts))?.size === 1;
}

/**
 * Orphaned machines that delay the deletion of an account: from the sweep that finds one until an object claims it or
 * it is proven gone. A list that lacks it is no proof.
 */
export class PendingOrphans {
  readonly #ids = new Set<string>();

  /** Adds orphaned machines. */
  add(found: Iterable<string>): void {
    for (const id of found) this.#ids.add(id);
  }

  /** Records the result of a sweep of this list. A listed machine that the sweep did not find has an owner. */
  swept(found: readonly string[], { rows }: Pick<CompleteList, 'rows'>): void {
    for (const id of this.#ids) if (rows.has(id) && !found.includes(id)) this.#ids.delete(id);
    this.add(found);
  }

  /** Removes machines that are proven gone. */
  gone(ids: Iterable<string>): void {
    for (const id of ids) this.#ids.delete(id);
  }

  /** Returns the machines that are still pending. */
  ids(): readonly string[] {
    return [...this.#ids];
  }
}

/**
 * Durations for which machines have been missing from every complete list. An absence ends as soon as a list shows
 * the machine. All times are monotonic, so that wall clock changes do not affect them.
 */
export class Absences {
  /** Arrival time of the first list without it, by ID. */
  #since = new Map<string, number>();
  #latestBegunAt = Number.NEGATIVE_INFINITY;

  /** Records a list that arrived at `now` (`clock.monotonic()`). Only machines of `ids` are remembered. */
  update(list: CompleteList, ids: Iterable<string>, now: number): void {
    const missing = [...ids].filter((id) => !list.rows.has(id));
    this.#since = new Map(missing.map((id) => [id, this.#since.get(id) ?? now]));
    const took = listTook(list);
    this.#latestBegunAt = took === undefined ? Number.NEGATIVE_INFINITY : now - took;
  }

  /** Removes a machine that a read shows: its absence from lists proves nothing. */
  forget(id: string): void {
    this.#since.delete(id);
  }

  /** Returns the ids that were missing from two lists more than `ms` apart and from every list between them. */
  longerThan(ms: number): ReadonlySet<string> {
    const long = [...this.#since].filter(([, since]) => this.#latestBegunAt - since > ms);
    return new Set(long.map(([id]) => id));
  }
}

/** Maximum number of machines that one check reads: each read takes a slot of the login's rate limit. */
const MAX_READS = 4;

/** Sources of the read of a machine that lists do not show. */
export interface GoneProofSources {
  /** Reads the machine by id; null if it does not exist. */
  readonly read: (id: string) => Promise<MachineRow | null>;
  /** True if the key in use proves the login right now. */
  readonly proveLogin: () => Promise<boolean>;
  /** A read shows a machine that lists do not show. */
  readonly onPresent: (id: string) => void;
}

/**
 * Returns the machines of `ids` that are proven gone: no list shows them, a read of each finds none, and the key proves
 * the same login right after. A failed read proves nothing.
 */
export async function provenGone(
  ids: ReadonlySet<string>,
  { read, proveLogin, onPresent }: GoneProofSources,
): Promise<ReadonlySet<string>> {
  const absent = new Set<string>();
  for (const id of [...ids].slice(0, MAX_READS)) {
    const reading = await readOne(id, read);
    if (reading === 'absent') absent.add(id);
    if (reading === 'present') onPresent(id);
  }
  return absent.size > 0 && (await proveLogin()) ? absent : new Set();
}

async function readOne(id: string, read: GoneProofSources['read']): Promise<'absent' | 'present' | 'failed'> {
  try {
    return (await read(id)) === null ? 'absent' : 'present';
  } catch (error) {
    if (!(error instanceof MarketplaceError)) throw error;
    return 'failed';
  }
}
