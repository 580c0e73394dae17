import type { OfferRequirements } from '../../api/v1alpha1/offer-requirements.ts';
import type { MarketplaceClient } from '../../marketplace/client.ts';
import type { CommandInput } from '../command.ts';
import { numberOption, switchOption } from '../options/option-values.ts';
import type { Progress } from '../output/progress.ts';
import type { AccountView } from './account-view.ts';
import type { Alternative, Candidate } from './candidates.ts';
import type { PlannedObject } from './manifests.ts';

/** What would become of a manifest. */
export interface Plan {
  readonly object: string;
  /** Which alternative of spec.offers, from 0. */
  readonly alternative: number | undefined;
  readonly rents: Candidate | undefined;
  readonly perDay: number | undefined;
  readonly candidates: readonly Candidate[];
  /** Why nothing would be rented. */
  readonly reason: 'NoPriceLimit' | 'NoOffers' | 'NoOfferWithinPrice' | 'PriceUnknown' | undefined;
  /** Requirements whose dropping would help, with the number of offers. */
  readonly without: readonly { readonly name: string; readonly count: number }[];
  readonly note: string;
}

/** What a plan is made with. */
export interface Means {
  readonly view: AccountView;
  readonly client: MarketplaceClient;
  readonly input: CommandInput;
  readonly progress: Progress;
}

/** Searches offers for one object and chooses as the operator would. */
export async function planObject({ object, spec }: PlannedObject, means: Means): Promise<Plan> {
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
    const perDay = rents.pricePerHour === undefined ? undefined : Math.round(rents.pricePerHour * 24e6) / 1e6;
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
