import { fieldName } from '../../api/v1alpha1/former-columns.ts';
import { valueIn } from '../../api/v1alpha1/offer-fields.ts';
import type { OfferRequirements } from '../../api/v1alpha1/offer-requirements.ts';
import {
  type ChoiceInput,
  type Exclusions,
  offerChecks,
  totalPrice,
} from '../../controllers/gpu-instance/public.ts';
import type { Offer } from '../../market/offer.ts';
import { hourlyText, inDollars } from '../../views/amounts.ts';
import type { Candidate } from '../../views/plan.ts';

/** Criteria of one alternative. */
export type Alternative = Omit<ChoiceInput, 'offers' | 'mustState'>;

/**
 * Returns the winner and all other offers, each with the reason why it loses: the winner first, then the nearest
 * losers.
 */
export function judgeOffers(
  alternative: Alternative,
  offers: readonly Offer[],
  winner: Offer | undefined,
): readonly Candidate[] {
  const isListed = winner === undefined || offers.some(({ id }) => id === winner.id);
  return (isListed ? offers : [winner, ...offers])
    .map((offer) => candidateOf(offer, winner, alternative))
    .toSorted(
      (left, right) => left.failing - right.failing || (left.price ?? Infinity) - (right.price ?? Infinity),
    )
    .map(({ candidate }) => candidate);
}

interface Judged {
  readonly candidate: Candidate;
  /** Number of requirements that it does not meet; the winner precedes all. */
  readonly failing: number;
  readonly price: number | undefined;
}

function candidateOf(offer: Offer, winner: Offer | undefined, alternative: Alternative): Judged {
  const { requirements, excluded } = alternative;
  const failing = offerChecks(requirements, alternative).filter((check) => !check.passes(offer));
  const price = totalPrice(offer, requirements);
  const won = offer.id === winner?.id;
  const why = won
    ? 'first by the order'
    : loss(offer, { failing: failing.map(({ label }) => label), winner, excluded, requirements });
  return {
    failing: won ? -1 : failing.length,
    price,
    candidate: {
      offer: offer.id,
      gpu: offer.gpuName,
      count: offer.gpuCount,
      region: offer.region,
      pricePerHour: inDollars(price),
      verdict: won ? 'rented' : 'lost',
      why,
    },
  };
}

/** Order by the hourly price, unless the spec names another. */
const PRICE_FIELD = 'pricePerHour';

interface Loss {
  readonly failing: readonly string[];
  readonly winner: Offer | undefined;
  readonly excluded: Exclusions;
  readonly requirements: OfferRequirements;
}

function loss(offer: Offer, { failing, winner, excluded, requirements }: Loss): string {
  if (failing.length > 0) return `does not meet ${failing.join(', ')}`;
  if (offer.hostId !== undefined && excluded.hosts.has(offer.hostId))
    return `host ${offer.hostId} is avoided`;
  if (offer.machineId !== undefined && excluded.machines.has(offer.machineId))
    return `machine ${offer.machineId} is avoided`;
  if (!winner) return 'is left out for now';
  const { order } = requirements;

  const field = order
    .map((key) => fieldName(key.field))
    .find((name) => valueIn(offer, name) !== valueIn(winner, name));
  if (field === undefined) return 'is equal; the lower id wins';
  const [own, best] = [totalPrice(offer, requirements), totalPrice(winner, requirements)];
  if (field === PRICE_FIELD && own !== undefined && best !== undefined && own > best)
    return `more expensive: ${hourlyText(inDollars(own))} > ${hourlyText(inDollars(best))}`;
  return `${field} ${valueIn(offer, field) ?? 'unknown'} sorts after ${valueIn(winner, field) ?? 'unknown'}`;
}
