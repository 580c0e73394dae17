import { isMet, type Plan, planText } from '../../views/plan.ts';
import { printable } from '../../views/printable.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { CommandError, EXIT } from '../command-error.ts';
import { createOutput, createProgress, tableWidth } from '../output/output.ts';
import { type ClusterView, withClusterViews } from '../plan/cluster-view.ts';
import { FILE_OPTION, type PlannedObject, plannedIn } from '../plan/manifests.ts';
import { planObject, readOnce } from '../plan/plan-object.ts';
import { withMarketplaceAt } from '../sessions/marketplace-session.ts';

/** Shows the machine and cost that a manifest would rent, without spending. */
export const planCommand: Command = {
  description:
    "Chooses by the same code as the operator. If a cluster can be reached, its API server validates the manifest like kubectl apply --dry-run=server. The plan then uses the login, limits, spending and avoid list of the account, makes the operator's checks of Secrets, names, quota and account, and shows the effect on an existing machine. Without a cluster it checks only the rules of the CRDs. The operator's own limits (such as --max-live-machines) are not considered. Exit code 3 when nothing would be rented.",
  examples: [
    'gpu-rent plan -f trainer.yaml',
    'gpu-rent plan -f trainer.yaml --why',
    'kustomize build . | gpu-rent plan -f -',
  ],
  options: [
    FILE_OPTION,
    {
      flags: '--why',
      description: 'Also show offers that do not match, with the missing requirements (a second search).',
    },
    { flags: '--show <n>', description: 'Number of offers to show (default 8).' },
    {
      flags: '--no-cluster',
      description: 'Use no cluster, neither for the manifest nor for the account.',
    },
  ],
  optionSets: ['report', 'marketplace', 'cluster'],
  async run(input, context) {
    const planned = await plannedIn(input, context);
    const plans = await withClusterViews(planned, { input, context }, (views) =>
      planAll(views, { input, context }),
    );
    await createOutput(input, context).value(
      plans,
      printable(plans.map((plan) => planText(plan, tableWidth(context))).join('\n')),
    );
    return plans.every(isMet) ? EXIT.ok : EXIT.notFound;
  },
};

interface Asked {
  readonly input: CommandInput;
  readonly context: CommandContext;
}

/** Returns the plans in the order of the files. Objects of one login share its session, and so its rate limit. */
async function planAll(
  views: readonly (readonly [PlannedObject, ClusterView])[],
  { input, context }: Asked,
): Promise<readonly Plan[]> {
  const progress = createProgress(context);
  const plans: Plan[] = [];
  try {
    const byLogin = Map.groupBy(views.entries(), ([, [, { target }]]) => target);
    for (const [target, asked] of byLogin) {
      await withMarketplaceAt(target ?? {}, { input, context }, async (session) => {
        const once = readOnce(session);
        for (const [at, [object, view]] of asked)
          plans[at] = await planObject(object, { view, ...once, input, progress });
      }).catch((error: unknown) => {
        throw target ? error : withoutLogin(error, asked[0]?.[1][1]);
      });
    }
    return plans;
  } finally {
    progress.clear();
  }
}

/** Reports why the key of the account is not used, before it reports the caller's own as missing. */
function withoutLogin(error: unknown, view: ClusterView | undefined): unknown {
  if (!(error instanceof CommandError) || !view) return error;
  const { exitCode, remedy, cause } = error;
  return new CommandError(`${error.message}\n(${view.note})`, { exitCode, remedy, cause });
}
