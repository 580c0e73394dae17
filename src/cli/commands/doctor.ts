import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { counted } from '../../lib/plural.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { printable } from '../../views/printable.ts';
import type { Paint } from '../../views/table.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { EXIT } from '../command-error.ts';
import {
  type Check,
  type CheckLine,
  clockFinding,
  type Finding,
  runChecks,
  skipped,
  warning,
  wrong,
} from '../doctor/check.ts';
import { failureParts } from '../failures/describe-failure.ts';
import { listAccounts } from '../objects/cluster-objects.ts';
import { createOutput, createPaint } from '../output/output.ts';
import { accountTarget } from '../sessions/account-access.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';
import {
  type MarketplaceSession,
  type SessionTarget,
  withMarketplaceAt,
} from '../sessions/marketplace-session.ts';

/** Checks every requirement, and prints how to repair each fault. */
export const doctorCommand: Command = {
  description:
    'Changes nothing. Exit code 1 when something failed. Without a cluster only the marketplace is checked: --no-cluster.',
  examples: ['gpu-rent doctor', 'gpu-rent doctor -A -o json', 'gpu-rent doctor --no-cluster'],
  options: [{ flags: '--no-cluster', description: 'Check only the marketplace, with your own key.' }],
  optionSets: ['report', 'cluster', 'marketplace'],
  async run(input, context) {
    const output = createOutput(input, context);
    const isText = output.format === 'table' || output.format === 'wide';
    const paint = createPaint(input.options, context);
    let area = '';
    const onLine = (line: CheckLine) => {
      // An abort counts as a failed check, but after Ctrl-C the user needs no further checks.
      context.signal.throwIfAborted();
      if (!isText) return;
      if (line.area !== area) context.stdout.write(`${area === '' ? '' : '\n'}${paint('bold', line.area)}\n`);
      area = line.area;
      context.stdout.write(lineText(line, paint));
    };
    const lines =
      input.options.cluster === false
        ? await marketplaceReport(
            { area: 'marketplace', account: undefined, target: {} },
            { input, context },
            onLine,
          )
        : await wholeReport({ input, context }, onLine);
    const failures = lines.filter(({ state }) => state === 'failed').length;
    const warnings = lines.filter(({ state }) => state === 'warning').length;
    await output.value(
      lines,
      `\n${counted(lines.length, 'check')}: ${failures} failed, ${warnings} with a warning.`,
    );
    return failures > 0 ? EXIT.failure : EXIT.ok;
  },
};

interface Asked {
  readonly input: CommandInput;
  readonly context: CommandContext;
}

type OnLine = (line: CheckLine) => void;

async function wholeReport(asked: Asked, onLine: OnLine): Promise<readonly CheckLine[]> {
  const { input, context } = asked;
  try {
    return await withCluster(input, context, async (cluster) => {
      const { clusterChecks } = await import('../doctor/cluster-checks.ts');
      const lines = [...(await runChecks(clusterChecks(cluster), onLine))];
      const listing = listAccounts(cluster, cluster.scope);
      const accounts = await listing.catch(() => []);
      for (const account of accounts)
        lines.push(...(await accountReport(cluster, account, { asked, onLine })));
      if (accounts.length === 0) lines.push(...(await runChecks([noAccount(cluster, listing)], onLine)));
      return lines;
    });
  } catch (error) {
    return runChecks(
      [
        {
          area: 'cluster',
          name: 'kubeconfig',
          run: async () =>
            wrong(
              textOf(error),
              'Set KUBECONFIG, --kubeconfig or --context; without a cluster: --no-cluster.',
            ),
        },
      ],
      onLine,
    );
  }
}

/**
 * Returns the reason why no account is checked. Only a list that was read, or a kind that is not served, proves that
 * none exists.
 */
function noAccount({ scope }: ClusterSession, listing: Promise<readonly MarketplaceAccount[]>): Check {
  const where = scope === undefined ? 'the cluster' : `namespace ${scope}`;
  const none = warning(
    `There is no MarketplaceAccount in ${where}.`,
    'Apply one (deploy/samples/account.yaml), or look elsewhere: -n, -A.',
  );
  const run = async (): Promise<Finding> => {
    try {
      await listing;
      return none;
    } catch (error) {
      if (isKubeError(error, 'notFound')) return none;
      if (!isKubeError(error, 'forbidden')) throw error;
      return skipped(`You may not list MarketplaceAccounts in ${where}.`, 'Request permission to list them.');
    }
  };
  return { area: 'accounts', name: 'any', run };
}

async function accountReport(
  cluster: ClusterSession,
  account: MarketplaceAccount,
  { asked, onLine }: { readonly asked: Asked; readonly onLine: OnLine },
): Promise<readonly CheckLine[]> {
  const { accountChecks, areaOf } = await import('../doctor/account-checks.ts');
  const lines = await runChecks(accountChecks(cluster, account), onLine);
  const area = areaOf(account);
  try {
    const target = await accountTarget(cluster, account, asked);
    return [...lines, ...(await marketplaceReport({ area, account, target }, asked, onLine))];
  } catch (error) {
    const run = async () => wrong(textOf(error), 'Fix the problems reported above first.');
    return [...lines, ...(await runChecks([{ area, name: 'marketplace', run }], onLine))];
  }
}

async function marketplaceReport(
  subject: {
    readonly area: string;
    readonly account: MarketplaceAccount | undefined;
    readonly target: SessionTarget;
  },
  { input, context }: Asked,
  onLine: OnLine,
): Promise<readonly CheckLine[]> {
  const { keyChecks } = await import('../doctor/account-checks.ts');
  const { area, account, target } = subject;
  return withMarketplaceAt(target, { input, context }, (session) =>
    runChecks([...egressChecks(session, area), ...keyChecks(session.client, area, account)], onLine),
  );
}

/** Returns the checks of reachability and clock of the marketplace. */
function egressChecks({ baseUrl, transport }: MarketplaceSession, area: string): readonly Check[] {
  const url = new URL(baseUrl);
  let date: string | undefined;
  const reach = async (): Promise<Finding> => {
    try {
      const response = await transport({
        method: 'GET',
        origin: url.origin,
        path: `${url.pathname.replace(/\/$/, '')}/api/v0/users/current/`,
        headers: { accept: 'application/json' },
        signal: AbortSignal.timeout(15_000),
      });
      response.destroy();
      date = response.headers.date;
      // Without a key, any other answer comes from a working service.
      if (response.status >= 500)
        return wrong(
          `${url.origin} returns HTTP ${response.status}: the marketplace fails, the network works.`,
          'Wait, and check the status page of the marketplace. The key is not the cause.',
        );
      return { state: 'ok', detail: `${url.origin} answers` };
    } catch (error) {
      const cause =
        error instanceof Error && error.cause instanceof Error ? error.cause.message : textOf(error);
      return wrong(
        `${url.origin} cannot be reached: ${cause}`,
        'Check firewall, proxy, DNS and NetworkPolicy: the operator needs this connection, too.',
      );
    }
  };
  return [
    { area, name: 'egress', run: reach },
    { area, name: 'clock', run: async () => clockFinding(date, 'the marketplace') },
  ];
}

const MARKS = { ok: '√', warning: '‼', failed: '×', skipped: '-' } as const;
const COLOURS = { ok: 'green', warning: 'yellow', failed: 'red', skipped: 'dim' } as const;

function lineText(line: CheckLine, paint: Paint): string {
  const text = `${paint(COLOURS[line.state], MARKS[line.state])} ${line.name}: ${printable(line.detail)}\n`;
  return line.state === 'ok' ? text : `${text}    fix: ${printable(line.fix)}\n`;
}

function textOf(error: unknown): string {
  return failureParts(error).what.join(' ');
}
