import type { OfferRequirements } from '../../api/v1alpha1/offer-requirements.ts';
import type { MarketplaceClient } from '../../marketplace/client.ts';
import type { Command, CommandContext, CommandInput } from '../command.ts';
import { EXIT, usageError } from '../failures/command-error.ts';
import { listOption, numberOption, switchOption } from '../options/option-values.ts';
import { dollarText } from '../output/amounts.ts';
import { createOutput } from '../output/output.ts';
import { createProgress, type Progress } from '../output/progress.ts';
import { formatTable } from '../output/table.ts';
import { type AccountView, accountView, withoutAccount } from '../plan/account-view.ts';
import type { Alternative, Candidate } from '../plan/candidates.ts';
import { type PlannedObject, plannedObjects } from '../plan/manifests.ts';
import { readTextFile } from '../secrets/secret-input.ts';
import { type ClusterSession, withCluster } from '../sessions/cluster-session.ts';
import { withMarketplace } from '../sessions/marketplace-session.ts';

/** Tells what a manifest would rent and cost, before anything is spent. */
export const planCommand: Command = {
  name: 'plan',
  summary: 'Tell what a manifest would rent and cost, and why other offers lose. Nothing is spent.',
  description:
    'Chooses by the same code as the operator. Limits and avoid list of the account are considered where a cluster can be reached. Exit code 3 when nothing would be rented.',
  examples: [
    'gpu-rent plan -f trainer.yaml',
    'gpu-rent plan -f trainer.yaml --why',
    'kustomize build . | gpu-rent plan -f -',
  ],
  options: [
    { flags: '-f, --filename <file>', description: 'A manifest; - is stdin; repeatable.', repeatable: true },
    {
      flags: '--why',
      description: 'Also show offers that do not match, and what they lack (a second search).',
    },
    { flags: '--show <n>', description: 'So many offers. Default: 8.' },
    { flags: '--no-cluster', description: 'Do not look for the account in a cluster.' },
  ],
  optionSets: ['output', 'marketplace', 'cluster'],
  async run(input, context) {
    const files = listOption(input.options, '--filename');
    if (files.length === 0)
      throw usageError('No manifest was given.', 'Give -f file.yaml, or -f - for stdin.');
    const texts = await Promise.all(
      files.map(async (file) => [file, await readTextFile(file, '-f', context)] as const),
    );
    const planned = (await Promise.all(texts.map(([file, text]) => plannedObjects(text, file)))).flat();
    const views = await accountViews(planned, input, context);
    const progress = createProgress(context);
    const plans = await withMarketplace(input, context, async ({ client }) => {
      const made: Plan[] = [];
      for (const [at, object] of planned.entries()) {
        const view = views[at] ?? withoutAccount('none was read');
        made.push(await planOne(object, { view, client, input, progress }));
      }
      return made;
    }).finally(() => progress.clear());
    await createOutput(input, context).value(plans, plans.map(planText).join('\n'));
    return plans.every(({ rents }) => rents !== undefined) ? EXIT.ok : EXIT.notFound;
  },
};

interface Plan {
  readonly object: string;
  /** Which alternative of spec.offers, from 0. */
  readonly alternative: number | undefined;
  readonly rents: Candidate | undefined;
  readonly perDay: number | undefined;
  readonly candidates: readonly Candidate[];
  readonly reason: string | undefined;
  /** Requirements whose dropping would help, with the number of offers. */
  readonly without: readonly { readonly name: string; readonly count: number }[];
  readonly note: string;
}

async function accountViews(
  planned: readonly PlannedObject[],
  input: CommandInput,
  context: CommandContext,
): Promise<readonly AccountView[]> {
  if (input.options.cluster === false) return planned.map(() => withoutAccount('--no-cluster was given'));
  try {
    return await withCluster(input, context, (cluster: ClusterSession) =>
      Promise.all(planned.map((object) => accountView(cluster, object))),
    );
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return planned.map(() => withoutAccount(why));
  }
}

interface Means {
  readonly view: AccountView;
  readonly client: MarketplaceClient;
  readonly input: CommandInput;
  readonly progress: Progress;
}

async function planOne({ object, spec }: PlannedObject, means: Means): Promise<Plan> {
  const { view, input } = means;
  const { diskGB } = await import('../../controllers/gpu-instance/rental/rent-request.ts');
  const show = numberOption(input.options, '--show', { min: 1, max: 1000, whole: true }) ?? 8;
  const alternatives = (spec.offers ?? []).map(
    (requirements): Alternative => ({ requirements, ...view, diskGB: diskGB(spec) }),
  );
  const nothing = {
    object,
    alternative: undefined,
    rents: undefined,
    perDay: undefined,
    candidates: [],
    note: view.note,
  };
  const priced = alternatives.filter(({ requirements, limits }) =>
    hasPriceRule(requirements, limits.maxPricePerHour),
  );
  const [first] = priced;
  if (!first) return { ...nothing, reason: 'NoPriceLimit', without: [] };
  for (const alternative of priced) {
    const found = await chosen(alternative, means);
    if (!found) continue;
    const { rents, candidates } = found;
    const others = switchOption(input.options, '--why') ? await losers(alternative, means) : candidates;
    const kept = [rents, ...others.filter(({ offer }) => offer !== rents.offer)].slice(0, show);
    const perDay = rents.pricePerHour === undefined ? undefined : rents.pricePerHour * 24;
    const at = alternatives.indexOf(alternative);
    return { ...nothing, rents, perDay, candidates: kept, alternative: at, reason: undefined, without: [] };
  }
  return { ...nothing, ...(await whyNone(first, means, show)) };
}

function hasPriceRule(requirements: OfferRequirements, accountMost: number | undefined): boolean {
  return (
    requirements.allowUnknownPrice || requirements.maxPricePerHour !== undefined || accountMost !== undefined
  );
}

async function search(alternative: Alternative, breadth: 'exact' | 'broad', { client, progress }: Means) {
  const { offerQuery } = await import('../../controllers/gpu-instance/offers/offer-checks.ts');
  progress.say('Searching offers, at the pace that the marketplace allows …');
  return client.offers.search(offerQuery(alternative.requirements, alternative, breadth));
}

async function chosen(alternative: Alternative, means: Means) {
  const { judgeOffers } = await import('../plan/candidates.ts');
  const { candidates } = judgeOffers(alternative, await search(alternative, 'exact', means));
  const [rents] = candidates;
  return rents?.verdict === 'rented' ? { rents, candidates } : undefined;
}

/** Offers of every kind, with what each lacks. */
async function losers(alternative: Alternative, means: Means): Promise<readonly Candidate[]> {
  const { judgeOffers } = await import('../plan/candidates.ts');
  return judgeOffers(alternative, await search(alternative, 'broad', means)).candidates.filter(
    ({ why }) => why !== 'first by the order',
  );
}

async function whyNone(alternative: Alternative, means: Means, show: number) {
  const { judgeOffers, softened } = await import('../plan/candidates.ts');
  const offers = await search(alternative, 'broad', means);
  const { choice, candidates } = judgeOffers(alternative, offers);
  return {
    candidates: candidates.slice(0, show),
    reason: choice.type === 'none' ? choice.reason : 'NoOffers',
    without: softened(alternative, offers),
  };
}

function planText({ object, alternative, rents, perDay, candidates, reason, without, note }: Plan): string {
  const head = rents
    ? `${object} would rent offer ${rents.offer}: ${rents.count ?? ''} × ${rents.gpu ?? 'GPU'}, ${rents.region ?? 'somewhere'}, ` +
      `${dollarText(rents.pricePerHour) ?? 'unknown price'}/h, ${dollarText(perDay) ?? 'unknown'}/day (alternative ${(alternative ?? 0) + 1} of spec.offers)`
    : `${object} would rent nothing: ${reason}`;
  const softer = without.slice(0, 6).map(({ name, count }) => `  ${count} offers without ${name}\n`);
  const table = formatTable<Candidate>(
    [
      { header: 'Offer', text: ({ offer }) => String(offer) },
      { header: 'GPU', text: ({ gpu }) => gpu },
      { header: 'Count', text: ({ count }) => (count === undefined ? undefined : String(count)) },
      { header: '$/h', text: ({ pricePerHour }) => dollarText(pricePerHour) },
      { header: 'Region', text: ({ region }) => region },
      { header: 'Result', text: ({ verdict, why }) => (verdict === 'rented' ? 'rented' : `lost: ${why}`) },
    ],
    candidates,
  );
  const told = candidates.length === 0 ? '' : `\n${table}`;
  return `${head}\n(${note})\n${softer.join('')}${told}`;
}
