import { formatTime } from '../../lib/rfc3339.ts';
import type { Command } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { changeAvoidList, parseAvoidTarget } from '../objects/avoid.ts';
import { parseTime, textOption } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withCluster } from '../sessions/cluster-session.ts';

/** Keeps a machine or host from being rented for a while. */
export const avoidAdd: Command = {
  name: 'avoid add',
  summary: 'Rent a machine or host no more for a while.',
  description:
    'Needs the right to update marketplaceaccounts/status. Where the chart protects records (admissionPolicies.protectRecords, its default) only the break-glass group may: add --as="$(id -un)" --as-group=system:masters --as-group=gpurental.dev:break-glass. What runs there goes on running.',
  examples: ['gpu-rent avoid add host/4412 --for 48h', 'gpu-rent avoid add machine/9921 --account default'],
  args: [{ name: '<what...>', description: 'machine/id or host/id.' }],
  options: [
    { flags: '--account <name>', description: 'Of the MarketplaceAccount. Default: default.' },
    { flags: '--for <time>', description: 'Default: 24h.' },
    { flags: '--reason <word>', description: 'One word, shown with it. Default: Requested.' },
  ],
  optionSets: ['output', 'cluster'],
  async run(input, context) {
    const targets = input.args.map(parseAvoidTarget);
    const until = formatTime(Date.now() + parseTime(textOption(input.options, '--for') ?? '24h', '--for'));
    const reason = oneWord(textOption(input.options, '--reason') ?? 'Requested');
    await withCluster(input, context, (cluster) =>
      changeAvoidList(cluster, textOption(input.options, '--account'), (entries) => [
        ...entries.filter(
          ({ kind, id }) => !targets.some((target) => target.kind === kind && target.id === id),
        ),
        ...targets.map(({ kind, id }) => ({ kind, id, until, failures: 1, reason })),
      ]),
    );
    await createOutput(input, context).changed(
      targets.map(({ kind, id }) => ({ kind: kind.toLowerCase(), name: id, did: `avoided until ${until}` })),
    );
    return 0;
  },
};

const WORD = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;

function oneWord(reason: string): string {
  if (WORD.test(reason)) return reason;
  throw usageError(
    `--reason: "${reason}" is not one word.`,
    'Write up to 128 letters, digits, dots and dashes, a letter first: Slow, BadNetwork.',
  );
}
