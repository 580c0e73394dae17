import { type ReasonEntry, reasons } from '../../api/v1alpha1/reasons.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { CommandError, EXIT } from '../failures/command-error.ts';
import { dollarText, hourlyText } from '../output/amounts.ts';
import { createOutput, createProgress, formatTable, printable } from '../output/output.ts';
import type { Candidate } from '../plan/candidates.ts';
import { type ClusterView, clusterViews } from '../plan/cluster-view.ts';
import { effectsText } from '../plan/effects.ts';
import { FILE_OPTION, type PlannedObject, plannedIn } from '../plan/manifests.ts';
import { type Plan, planObject } from '../plan/plan-object.ts';
import { withMarketplaceAt } from '../sessions/marketplace-session.ts';

/** Shows what a manifest would rent and cost, before anything is spent. */
export const planCommand: Command = {
  description:
    'Chooses by the same code as the operator. If a cluster can be reached, its API server judges the manifest as kubectl apply --dry-run=server does, and the login, limits and avoid list of the account are used, with what it has and spends now, and what becomes of a machine that the object has; without one only the fields are checked. Ceilings of the operator itself (--max-live-machines and the like) are not seen from here. Exit code 3 when nothing would be rented.',
  examples: [
    'gpu-rent plan -f trainer.yaml',
    'gpu-rent plan -f trainer.yaml --why',
    'kustomize build . | gpu-rent plan -f -',
  ],
  options: [
    FILE_OPTION,
    {
      flags: '--why',
      description: 'Also show offers that do not match, and what they lack (a second search).',
    },
    { flags: '--show <n>', description: 'So many offers. Default: 8.' },
    {
      flags: '--no-cluster',
      description: 'Ask no cluster, neither about the manifest nor about the account.',
    },
  ],
  optionSets: ['report', 'marketplace', 'cluster'],
  async run(input, context) {
    const planned = await plannedIn(input, context);
    const views = await clusterViews(planned, { input, context });
    const plans = await planAll(views, { input, context });
    await createOutput(input, context).value(plans, printable(plans.map(planText).join('\n')));
    const isMet = ({ rents, machine }: Plan) => rents !== undefined || staysBy(machine);
    return plans.every(isMet) ? EXIT.ok : EXIT.notFound;
  },
};

interface Asked {
  readonly input: CommandInput;
  readonly context: CommandContext;
}

/** In the order of the files; those of one login share its session, and so the pace of its searches. */
async function planAll(
  views: readonly (readonly [PlannedObject, ClusterView])[],
  { input, context }: Asked,
): Promise<readonly Plan[]> {
  const progress = createProgress(context);
  const plans: Plan[] = [];
  try {
    const byLogin = Map.groupBy(views.entries(), ([, [, { target }]]) => target);
    for (const [target, asked] of byLogin) {
      await withMarketplaceAt(target ?? {}, { input, context }, async ({ client }) => {
        for (const [at, [object, view]] of asked)
          plans[at] = await planObject(object, { view, client, input, progress });
      }).catch((error: unknown) => {
        throw target ? error : withoutLogin(error, asked[0]?.[1][1]);
      });
    }
    return plans;
  } finally {
    progress.clear();
  }
}

/** Says why the key of the account is not used, before the caller's own is reported missing. */
function withoutLogin(error: unknown, view: ClusterView | undefined): unknown {
  if (!(error instanceof CommandError) || !view) return error;
  const { exitCode, remedy, cause } = error;
  return new CommandError(`${error.message}\n(${view.note})`, { exitCode, remedy, cause });
}

/** The object has its machine, so nothing is to be rented. */
function staysBy(machine: Plan['machine']): boolean {
  return machine !== undefined && machine.effect !== 'replaces';
}

/** A plan for people. */
export function planText(plan: Plan): string {
  const { object, machine, alternative, rents, perDay, candidates, reason, detail, without, note } = plan;
  const head = rents
    ? `${object} would rent offer ${rents.offer}: ${rents.count ?? ''} × ${rents.gpu ?? 'GPU'}, ${rents.region ?? 'somewhere'}, ` +
      `${hourlyText(rents.pricePerHour) ?? 'unknown price'}/h, ${dollarText(perDay) ?? 'unknown'}/day (alternative ${(alternative ?? 0) + 1} of spec.offers)`
    : `${object} would rent nothing: ${reason ? inWords(reason, detail) : 'no reason is known.'}`;
  const softer = without.slice(0, 6).map(({ name, count }) => `  ${count} offers without ${name}\n`);
  const table = formatTable<Candidate>(
    [
      { header: 'Offer', text: ({ offer }) => offer },
      { header: 'GPU', text: ({ gpu }) => gpu },
      { header: 'Count', text: ({ count }) => (count === undefined ? undefined : String(count)) },
      { header: '$/h', text: ({ pricePerHour }) => hourlyText(pricePerHour) },
      { header: 'Region', text: ({ region }) => region },
      { header: 'Result', text: ({ verdict, why }) => (verdict === 'rented' ? 'rented' : `lost: ${why}`) },
    ],
    candidates,
  );
  const rows = candidates.length === 0 ? '' : `\n${table}`;
  const effect = effectsText(object, plan);
  if (staysBy(machine)) return `${effect}\n(${note})\n`;
  return `${effect === undefined ? '' : `${effect}\n`}${head}\n(${note})\n${softer.join('')}${rows}`;
}

function inWords(reason: NonNullable<Plan['reason']>, detail: string | undefined): string {
  const { sentence, remedy }: ReasonEntry = reasons[reason];
  const isOwn = reason === 'Adopted' || reason === 'Stopped' || reason === 'Paused';
  const words = isOwn ? [detail] : [detail ?? sentence, remedy];
  return `${words.filter(Boolean).join(' ')} (${reason})`;
}
