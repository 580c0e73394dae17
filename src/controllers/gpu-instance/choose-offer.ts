import type { OfferSet } from '../../accounts/admission.ts';
import type { AccountLimits } from '../../accounts/spend-limits.ts';
import type { OfferRequirements } from '../../api/v1alpha1/offer-requirements.ts';
import type { WantedPorts } from '../../api/v1alpha1/requirements.ts';
import type { MicroDollars } from '../../lib/money.ts';
import type { Offer, OfferScalar } from '../../marketplace/offers/offers.ts';
import { type OfferCheck, offerChecks } from './offers/offer-checks.ts';
import { totalPrice } from './offers/offer-price.ts';

/** What besides the requirements rules an offer out for now. */
export interface Exclusions {
  readonly offers: ReadonlySet<number>;
  /** Offers that other objects are about to rent. */
  readonly reserved?: OfferSet;
  readonly machines: ReadonlySet<number>;
  readonly hosts: ReadonlySet<number>;
}

export interface ChoiceInput {
  readonly requirements: OfferRequirements;
  readonly limits: AccountLimits;
  readonly diskGB: number;
  /** Ports that have to be reached from outside. */
  readonly wanted: WantedPorts;
  readonly offers: readonly Offer[];
  readonly excluded: Exclusions;
  /** The search was wider than the requirements: what an offer does not tell does not count as asked for. */
  readonly mustTell?: boolean;
}

/** The offer to rent, or why none of those found will do. */
export type Choice =
  | { readonly type: 'chosen'; readonly offer: Offer; readonly pricePerHour: MicroDollars | undefined }
  /** None tells that it fits, and some may fit: only a search by the requirements can say. */
  | { readonly type: 'unclear' }
  | { readonly type: 'none'; readonly reason: 'NoOffers' | 'NoOfferWithinPrice' | 'PriceUnknown' };

/** The first offer by the wanted order that passes every check and is not excluded. Ties go to the lowest id. */
export function chooseOffer(input: ChoiceInput): Choice {
  const found = input.mustTell
    ? chooseOffer({ ...input, offers: telling(input), mustTell: false })
    : undefined;
  if (found?.type === 'chosen') return found;
  const checks = offerChecks(input.requirements, input);
  const fitting = checks.filter(({ kind }) => kind === 'fit');
  const matching = input.offers.filter((offer) => passes(fitting, offer));
  const affordable = matching.filter((offer) => passes(checks, offer));
  const free = affordable.filter((offer) => !isExcluded(offer, input.excluded));
  if (found) return free.length > 0 ? { type: 'unclear' } : found;
  const [offer] = free.sort(byOrder(input.requirements.order));
  if (offer) return { type: 'chosen', offer, pricePerHour: totalPrice(offer, input.requirements) };
  return { type: 'none', reason: refusal(checks, matching, affordable) };
}

/**
 * How many offers would do with each single requirement dropped, most helpful first. Requirements that change
 * nothing are left out.
 */
export function wouldMatchWithout(
  input: ChoiceInput,
): readonly { readonly name: string; readonly count: number }[] {
  const checks = offerChecks(input.requirements, input);
  return checks
    .map((dropped) => {
      const others = checks.filter((check) => check !== dropped);
      return { name: dropped.label, count: input.offers.filter((offer) => passes(others, offer)).length };
    })
    .filter(({ count }) => count > 0)
    .sort((left, right) => right.count - left.count || (left.name < right.name ? -1 : 1));
}

/** The offers that tell everything that is required. */
function telling(input: ChoiceInput): readonly Offer[] {
  const checks = offerChecks(input.requirements, input);
  return input.offers.filter((offer) => checks.every((check) => check.tells(offer)));
}

function passes(checks: readonly OfferCheck[], offer: Offer): boolean {
  return checks.every((check) => check.passes(offer));
}

function isExcluded(offer: Offer, excluded: Exclusions): boolean {
  return (
    excluded.offers.has(offer.id) ||
    excluded.reserved?.has(offer.id) === true ||
    (offer.machineId !== undefined && excluded.machines.has(offer.machineId)) ||
    (offer.hostId !== undefined && excluded.hosts.has(offer.hostId))
  );
}

function refusal(
  checks: readonly OfferCheck[],
  matching: readonly Offer[],
  affordable: readonly Offer[],
): 'NoOffers' | 'NoOfferWithinPrice' | 'PriceUnknown' {
  if (matching.length === 0 || affordable.length > 0) return 'NoOffers';
  const known = checks.filter(({ kind }) => kind !== 'price');
  const priced = matching.filter((offer) => passes(known, offer));
  return priced.length > 0 ? 'NoOfferWithinPrice' : 'PriceUnknown';
}

function byOrder(order: OfferRequirements['order']): (left: Offer, right: Offer) => number {
  return (left, right) => {
    for (const { field, direction } of order) {
      const difference = compare(left.fields[field], right.fields[field]);
      if (difference !== 0)
        return direction === 'Desc' && !isOneMissing(left, right, field) ? -difference : difference;
    }
    return left.id - right.id;
  };
}

/** Whatever is not known comes last, in either direction. */
function compare(left: OfferScalar | undefined, right: OfferScalar | undefined): number {
  const leftKnown = left !== undefined && left !== null;
  const rightKnown = right !== undefined && right !== null;
  if (!leftKnown || !rightKnown) return Number(rightKnown) - Number(leftKnown);
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function isOneMissing(left: Offer, right: Offer, field: string): boolean {
  return (left.fields[field] ?? undefined) === undefined || (right.fields[field] ?? undefined) === undefined;
}
