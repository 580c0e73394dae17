import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import type { Instance } from '../marketplace/instances/instances.ts';
import type { PurchaseConstants } from '../ownership/constants.ts';
import type { Identity } from '../ownership/identity.ts';
import type { Login } from '../ownership/login.ts';
import { type Ownership, whose } from '../ownership/ours.ts';
import { inDollars, timeText } from './output/amounts.ts';

/** A machine that carries an operator's label and that no object of this cluster claims. */
export interface OrphanRow {
  readonly account: string;
  readonly instance: number;
  readonly verdict:
    | 'orphan'
    | 'retained'
    | 'late rental'
    | 'label copied'
    | 'label forged'
    | 'of another installation';
  readonly status: string | null;
  readonly gpu: string | undefined;
  /** Dollars. */
  readonly pricePerHour: number | undefined;
  readonly since: string | undefined;
  /** The object that asked for it, as far as its label proves that. */
  readonly objectUid: string | undefined;
  readonly what: string;
}

/** What is known when machines of one login are judged. */
export interface OrphanFacts {
  readonly account: MarketplaceAccount;
  readonly identity: Identity;
  readonly login: Login;
  /** Those that the operator runs with: they say which start dates fit a label. */
  readonly constants: PurchaseConstants;
  /** Of the whole cluster: a machine claimed from another namespace is none. */
  readonly objects: readonly GpuInstance[];
}

/** Machines of ours that no object claims, and those whose label says something else. */
export function findOrphans(rows: readonly Instance[], facts: OrphanFacts): readonly OrphanRow[] {
  const { account, identity, login, constants, objects } = facts;
  const claims = objects.flatMap(({ metadata, status }) => {
    const { instanceId, claim, attempt = 0 } = status ?? {};
    if (instanceId === undefined || claim === undefined || metadata.uid === undefined) return [];
    return [{ uid: metadata.uid, attempt, instanceId, claim }];
  });
  const context = { identity, login, constants, claims };
  const retained = new Set((account.status?.retained ?? []).map(({ instanceId }) => instanceId));
  const uids = new Set(objects.map(({ metadata }) => metadata.uid));
  return rows.flatMap((row) => {
    const judged = retained.has(row.id) ? KEPT : judge(whose(row, context), uids);
    return judged ? [{ ...shown(row, account), ...judged, what: judged.what(row.id) }] : [];
  });
}

interface Verdict {
  readonly verdict: OrphanRow['verdict'];
  readonly what: (id: number) => string;
}
type Judged = Verdict & Pick<OrphanRow, 'objectUid'>;

const RETAINED: Verdict = {
  verdict: 'retained',
  what: (id) => `kept on purpose by a deletion policy; when you are done: ${destroyCommand(id)}`,
};
const ORPHAN: Verdict = {
  verdict: 'orphan',
  what: (id) =>
    `its object is gone: the operator reports or destroys it by orphanPolicy of the account; by hand: ${destroyCommand(id)}`,
};

/** By the account's own list: its label does not say whose it was. */
const KEPT: Judged = { ...RETAINED, objectUid: undefined };

const LATE: Verdict = {
  verdict: 'late rental',
  what: (id) =>
    `it began after the time of its label, as a rental that was carried out late: with orphanPolicy Destroy the operator destroys it after --late-orphan-age; by hand: ${destroyCommand(id)}`,
};

/** What is to be said of a machine by whose it is; nothing of those that are no concern of ours. */
const VERDICTS: Record<Exclude<Ownership['type'], 'foreignInstall'>, Verdict | undefined> = {
  labelled: ORPHAN,
  undated: ORPHAN,
  retained: RETAINED,
  labelCopied: {
    verdict: 'label copied',
    what: () => 'it began outside the time of its label: never touched',
  },
  labelForged: { verdict: 'label forged', what: () => 'no key of ours made its label: never touched' },
  claimed: undefined,
  someoneElses: undefined,
  unlabelled: undefined,
};

function destroyCommand(id: number): string {
  return `gpu-rent destroy instance ${id} --force`;
}

function judge(ownership: Ownership, uids: ReadonlySet<string | undefined>): Judged | undefined {
  if (ownership.type === 'foreignInstall') {
    const what = () => `installation ${ownership.installId8} shares this login: never touched`;
    return { verdict: 'of another installation', objectUid: undefined, what };
  }
  const objectUid = 'facts' in ownership ? ownership.facts.uid : undefined;
  if (ownership.type === 'labelCopied' && ownership.isLate) return { ...LATE, objectUid };
  const verdict = VERDICTS[ownership.type];
  const isClaimed = verdict === ORPHAN && uids.has(objectUid);
  return verdict && !isClaimed ? { ...verdict, objectUid } : undefined;
}

function shown(row: Instance, { metadata }: MarketplaceAccount) {
  return {
    account: `${metadata.namespace}/${metadata.name}`,
    instance: row.id,
    status: row.actualStatusWord,
    gpu: row.gpuName,
    pricePerHour: inDollars(row.pricePerHour),
    since: timeText(row.startedAt),
  };
}
