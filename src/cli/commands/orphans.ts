import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import { formatDuration } from '../../lib/time.ts';
import type { MachineRow } from '../../market/machine.ts';
import { toMachineRow } from '../../markets/vast/machine-row.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { Identity } from '../../ownership/identity.ts';
import type { Login } from '../../ownership/login.ts';
import { type Ownership, ownershipOf } from '../../ownership/ownership.ts';
import { ageText, hourlyText, inDollars, timeText } from '../../views/amounts.ts';
import type { View } from '../../views/table.ts';
import { allInstances } from '../all-instances.ts';
import type { Command, CommandContext, CommandInput, CommandOption } from '../command.ts';
import { EXIT } from '../command-error.ts';
import { describeFailure } from '../failures/describe-failure.ts';
import { getObject, listAccounts, listInstances, operatorTimes } from '../objects/cluster-objects.ts';
import { requireIdentity } from '../objects/identity-secret.ts';
import { parseObject } from '../objects/object-name.ts';
import { parseTime, textOption } from '../option-values.ts';
import { createOutput } from '../output/output.ts';
import { accountTarget } from '../sessions/account-access.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';
import { withMarketplaceAt } from '../sessions/marketplace-session.ts';

const view = (now: number): View<OrphanRow> => ({
  kind: 'orphan',
  name: ({ instance }) => instance,
  columns: [
    { header: 'Account', text: ({ account }) => account },
    { header: 'Instance', text: ({ instance }) => instance },
    { header: 'Verdict', text: ({ verdict }) => verdict },
    { header: 'Status', text: ({ status }) => status ?? 'provisioning' },
    { header: 'GPU', text: ({ gpu }) => gpu },
    { header: '$/h', text: ({ pricePerHour }) => hourlyText(pricePerHour) },
    { header: 'Age', text: ({ since }) => (since ? ageText(now - Date.parse(since)) : undefined) },
    { header: 'What', text: ({ what }) => what },
    { header: 'Object uid', text: ({ objectUid }) => objectUid, wide: true },
  ],
});

/** Flags that the operator has under the same names. */
const WINDOW_OPTIONS: readonly CommandOption[] = [
  { flags: '--late-call <duration>', description: 'Replaces the value that the operator published.' },
  { flags: '--list-lag <duration>', description: 'Replaces the value that the operator published.' },
];

/** Returns the operator's constants, with those that flags replace. */
function constantsOf({ options }: CommandInput, operator: PurchaseConstants): PurchaseConstants {
  const timeOf = (flag: string, published: number) => {
    const text = textOption(options, flag);
    return text === undefined ? published : parseTime(text, flag);
  };
  return {
    ...operator,
    lateCallMs: timeOf('--late-call', operator.lateCallMs),
    listLagMs: timeOf('--list-lag', operator.listLagMs),
  };
}

/**
 * Returns the note on the constants: with constants other than the operator's, verdicts may differ from its own.
 */
function windowText({ lateCallMs, listLagMs }: PurchaseConstants, guessed: string | undefined): string {
  const times = `--late-call ${formatDuration(lateCallMs)} and --list-lag ${formatDuration(listLagMs)}`;
  const advice =
    guessed &&
    ` These are defaults unless you gave them: ${guessed}. Pass the operator's own if they differ.`;
  return `Using ${times}.${advice ?? ''}\n`;
}

/** Shows machines with an operator's label that no object claims. */
export const orphansCommand: Command = {
  description:
    "Lists the machines of each account (of the namespace, of all with -A, or of the one named) and proves their owner by label and claim. A label fits machines that began within the operator's --late-call and --list-lag, which it publishes in the ConfigMap gpu-rental-in-use of its namespace. Nothing is changed. An account that cannot be read is reported on stderr, with exit code 1; the machines of the others are still shown.",
  examples: ['gpu-rent orphans', 'gpu-rent orphans gpuacct/default', 'gpu-rent orphans -A -o wide'],
  args: [{ name: '[account]', description: 'gpuacct/name.' }],
  options: WINDOW_OPTIONS,
  optionSets: ['output', 'cluster', 'marketplace'],
  async run(input, context) {
    const { results, window } = await withCluster(input, context, async (cluster) => {
      const [accounts, identity, times, objects] = await Promise.all([
        namedAccounts(cluster, input),
        requireIdentity(cluster),
        operatorTimes(cluster),
        listInstances(cluster),
      ]);
      const constants = constantsOf(input, times.constants);
      const found: AccountResult[] = [];
      for (const account of accounts) {
        found.push(await readAccount(account, { cluster, identity, constants, objects }, { input, context }));
      }
      return { results: found, window: windowText(constants, times.guessed) };
    });
    const exitCode = await print(results, { input, context });
    context.stderr.write(window);
    return exitCode;
  },
};

interface Asked {
  readonly input: CommandInput;
  readonly context: CommandContext;
}

/** Result of one account. */
type AccountResult =
  | { readonly type: 'seen'; readonly rows: readonly OrphanRow[] }
  | { readonly type: 'failed'; readonly account: MarketplaceAccount; readonly error: unknown };

/** Prints the results. An account that cannot be read does not hide the others, whose machines bill as well. */
async function print(results: readonly AccountResult[], { input, context }: Asked): Promise<number> {
  const rows = results.flatMap((result) => (result.type === 'seen' ? result.rows : []));
  const failures = results.filter((result) => result.type === 'failed');
  const output = createOutput(input, context);
  const isEmpty = rows.length === 0 && ['table', 'wide'].includes(output.format);
  if (failures.length === 0 || !isEmpty) await output.rows(view(Date.now()), rows);
  for (const failure of failures) context.stderr.write(failureText(failure));
  return failures.length === 0 ? EXIT.ok : EXIT.failure;
}

function failureText({ account, error }: Extract<AccountResult, { type: 'failed' }>): string {
  const { namespace, name } = account.metadata;
  const head = `The machines of gpuacct/${name} in ${namespace} were not read.`;
  return [head, ...describeFailure(error).lines].map((line) => `${line}\n`).join('');
}

async function readAccount(account: MarketplaceAccount, known: Known, asked: Asked): Promise<AccountResult> {
  try {
    return { type: 'seen', rows: await orphansOf(account, known, asked) };
  } catch (error) {
    if (asked.context.signal.aborted) throw error;
    return { type: 'failed', account, error };
  }
}

async function namedAccounts(
  cluster: ClusterSession,
  { args }: CommandInput,
): Promise<readonly MarketplaceAccount[]> {
  if (args[0] === undefined) return listAccounts(cluster, cluster.scope);
  const { name } = parseObject(args[0], marketplaceAccountResource);
  return [await getObject<MarketplaceAccount>(cluster, marketplaceAccountResource, name)];
}

/** Facts that distinguish a claimed machine from an orphan, for all accounts. */
interface Known {
  readonly cluster: ClusterSession;
  readonly identity: Identity;
  readonly constants: PurchaseConstants;
  readonly objects: readonly GpuInstance[];
}

async function orphansOf(
  account: MarketplaceAccount,
  { cluster, identity, constants, objects }: Known,
  { input, context }: Asked,
): Promise<readonly OrphanRow[]> {
  const target = await accountTarget(cluster, account, { input, context });
  return withMarketplaceAt(target, { input, context }, async ({ client, baseUrl }) => {
    const rows = (await allInstances(client)).map(toMachineRow);
    const login = account.status?.login ?? { url: baseUrl, userId: (await client.users.current()).id };
    return findOrphans(rows, { account, identity, login, constants, objects });
  });
}

/** A machine with an operator's label that no object of this cluster claims. */
interface OrphanRow {
  readonly account: string;
  readonly instance: string;
  readonly verdict:
    | 'orphan'
    | 'retained'
    | 'late rental'
    | 'label copied'
    | 'label forged'
    | 'of another installation';
  readonly status: string | null;
  readonly gpu: string | undefined;
  /** Hourly price in dollars. */
  readonly pricePerHour: number | undefined;
  readonly since: string | undefined;
  /** The object that requested it, if its label proves one. */
  readonly objectUid: string | undefined;
  readonly what: string;
}

/** Facts for the verdicts on machines of one login. */
interface OrphanFacts {
  readonly account: MarketplaceAccount;
  readonly identity: Identity;
  readonly login: Login;
  /** Constants of the operator: they decide which start dates match a label. */
  readonly constants: PurchaseConstants;
  /** Objects of the whole cluster: a machine claimed from another namespace is no orphan. */
  readonly objects: readonly GpuInstance[];
}

/** Returns machines of the operator without an object, and machines with a label of another machine. */
export function findOrphans(rows: readonly MachineRow[], facts: OrphanFacts): readonly OrphanRow[] {
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
    const judged = retained.has(row.id) ? KEPT : judge(ownershipOf(row, context), uids);
    return judged ? [{ ...shown(row, account), ...judged, what: judged.what(row.id) }] : [];
  });
}

interface Verdict {
  readonly verdict: OrphanRow['verdict'];
  readonly what: (id: string) => string;
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

/** Verdict by the account's own list: the label does not name the owner. */
const KEPT: Judged = { ...RETAINED, objectUid: undefined };

const LATE: Verdict = {
  verdict: 'late rental',
  what: (id) =>
    `it started after the time of its label, like a late rental: with orphanPolicy Destroy the operator destroys it after --late-orphan-age; by hand: ${destroyCommand(id)}`,
};

/** The verdict on a machine by its owner; undefined if the operator is not concerned. */
const VERDICTS: Record<Exclude<Ownership['type'], 'foreignInstall'>, Verdict | undefined> = {
  labelled: ORPHAN,
  undated: ORPHAN,
  retained: RETAINED,
  labelCopied: {
    verdict: 'label copied',
    what: () => 'it started outside the time of its label: the operator never changes it',
  },
  labelForged: {
    verdict: 'label forged',
    what: () => 'its label is not signed by this installation: never touched',
  },
  claimed: undefined,
  someoneElses: undefined,
  unlabelled: undefined,
};

function destroyCommand(id: string): string {
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

function shown(row: MachineRow, { metadata }: MarketplaceAccount) {
  return {
    account: `${metadata.namespace}/${metadata.name}`,
    instance: row.id,
    status: row.marketStatus,
    gpu: row.gpuName,
    pricePerHour: inDollars(row.pricePerHour),
    since: timeText(row.startedAt),
  };
}
