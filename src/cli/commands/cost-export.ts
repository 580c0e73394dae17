import { chargesOfMonth } from '../../ledger/cost-sums.ts';
import { EXPORT_FORMATS, exportText } from '../../views/cost-export.ts';
import type { Command } from '../command.ts';
import { listInstances } from '../objects/cluster-objects.ts';
import { ledgerOf } from '../objects/ledger.ts';
import { textOption } from '../option-values.ts';
import { parseMonth } from '../options/cost-options.ts';
import { replaceFile } from '../replace-file.ts';
import { withCluster } from '../sessions/cluster-session.ts';

const PROVIDER = 'Vast.ai';

/** Writes the charges of one month for programs of finance. */
export const costExport: Command = {
  description: [
    'focus has the columns of version 1.0 of the FinOps Open Cost and Usage Specification (FOCUS). BillingAccountId is the MarketplaceAccount, SubAccountId the namespace, ResourceId provider and machine; Tags have the labels that the ledger keeps. x_Final is false for charges that may still change: of running machines, and of machines that just ended.',
    'A month of the past half year has a line for each day, account, namespace, group and GPU model; this month and the last one have a line for each machine.',
  ].join('\n\n'),
  examples: [
    'gpu-rent cost export -A --format focus --month 2026-11 -o november.csv',
    'gpu-rent cost export -n team-a --format csv',
  ],
  options: [
    {
      flags: '--format <format>',
      description: 'Columns of the file: of FOCUS 1.0, or plain.',
      choices: EXPORT_FORMATS,
      defaultValue: 'focus',
    },
    { flags: '--month <month>', description: 'UTC month such as 2026-11. Default: this month.' },
    { flags: '-o, --output <file>', description: 'File to write; stdout if left out.' },
  ],
  optionSets: ['cluster'],
  async run(input, context) {
    const now = Date.now();
    const month = parseMonth(textOption(input.options, '--month'), now);
    const format = EXPORT_FORMATS.find((each) => each === textOption(input.options, '--format')) ?? 'focus';
    const charges = await withCluster(input, context, async (cluster) => {
      const [ledger, instances] = await Promise.all([
        ledgerOf(cluster, now),
        listInstances(cluster, cluster.scope),
      ]);
      return chargesOfMonth({ ledger, instances, now, namespace: cluster.scope }, month);
    });
    const text = exportText(format, { month, charges, provider: PROVIDER });
    const file = textOption(input.options, '--output');
    if (file === undefined) context.stdout.write(text);
    else await replaceFile(file, text, 0o644);
    return 0;
  },
};
