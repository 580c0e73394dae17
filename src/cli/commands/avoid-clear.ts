import type { Command } from '../command.ts';
import { usageError } from '../failures/command-error.ts';
import { changeAvoidList, parseAvoidTarget } from '../objects/avoid.ts';
import { switchOption, textOption } from '../options/option-values.ts';
import { createOutput } from '../output/output.ts';
import { withCluster } from '../sessions/cluster-session.ts';

/** Lets a machine or host be rented again. */
export const avoidClear: Command = {
  name: 'avoid clear',
  summary: 'Let machines or hosts be rented again.',
  description:
    'Needs the right to update marketplaceaccounts/status. Where the chart protects records (admissionPolicies.protectRecords, its default) only the break-glass group may: add --as="$(id -un)" --as-group=system:masters --as-group=gpurental.dev:break-glass.',
  examples: ['gpu-rent avoid clear host/4412', 'gpu-rent avoid clear --all --account default'],
  args: [{ name: '[what...]', description: 'machine/id or host/id.' }],
  options: [
    { flags: '--account <name>', description: 'Of the MarketplaceAccount. Default: default.' },
    { flags: '--all', description: 'Everything that the account avoids.' },
  ],
  optionSets: ['output', 'cluster'],
  async run(input, context) {
    const all = switchOption(input.options, '--all');
    const targets = input.args.map(parseAvoidTarget);
    if (!all && targets.length === 0)
      throw usageError('What is to be cleared?', 'Give machine/id, host/id, or --all.');
    const cleared: string[] = [];
    await withCluster(input, context, (cluster) =>
      changeAvoidList(cluster, textOption(input.options, '--account'), (entries) => {
        cleared.length = 0;
        return entries.filter(({ kind, id }) => {
          const goes = all || targets.some((target) => target.kind === kind && target.id === id);
          if (goes) cleared.push(`${kind.toLowerCase()}/${id}`);
          return !goes;
        });
      }),
    );
    if (cleared.length === 0) context.stderr.write('Nothing of that was avoided.\n');
    const reports = cleared.map((what) => {
      const [kind = '', name = ''] = what.split('/');
      return { kind, name, did: 'may be rented again' };
    });
    await createOutput(input, context).changed(reports, { asList: all || targets.length !== 1 });
    return 0;
  },
};
