import type { OfferRequirements } from '../../api/v1alpha1/offer-requirements.ts';
import {
  type Choice,
  type ChoiceInput,
  chooseOffer,
  type Exclusions,
  helpFor,
  offerChecks,
  totalPrice,
  wouldMatchWithout,
} from '../../controllers/gpu-instance/public.ts';
import type { Offer } from '../../marketplace/offers/offers.ts';
import { inDollars } from '../output/amounts.ts';

/** What one alternative is judged by. */
export type Alternative = Omit<ChoiceInput, 'offers' | 'mustState'>;

/** An offer and what became of it. */
export interface Candidate {
  readonly offer: string;
  readonly gpu: string | undefined;
  readonly count: number | undefined;
  readonly region: string | undefined;
  /** Dollars. */
  readonly pricePerHour: number | undefined;
  readonly verdict: 'rented' | 'lost';
  readonly why: string;
}

/** Who wins by the operator's own choice, and why each other offer loses: the nearest losers first. */
export function judgeOffers(
  alternative: Alternative,
  offers: readonly Offer[],
): { readonly choice: Choice; readonly candidates: readonly Candidate[] } {
  const choice = chooseOffer({ ...alternative, offers });
  const winner = choice.type === 'chosen' ? choice.offer : undefined;
  const candidates = offers
    .map((offer) => candidateOf(offer, winner, alternative))
    .toSorted(
      (left, right) => left.failing - right.failing || (left.price ?? Infinity) - (right.price ?? Infinity),
    );
  return { choice, candidates: candidates.map(({ candidate }) => candidate) };
}

/** What would help where nothing matches: in words, and how many offers would do with each single requirement dropped. */
export function whatWouldHelp(alternative: Alternative, offers: readonly Offer[]) {
  const input = { ...alternative, offers };
  return { help: helpFor(input), without: wouldMatchWithout(input) };
}

interface Judged {
  readonly candidate: Candidate;
  /** Requirements that it does not meet; the winner stands before all. */
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

  const field = order.map((key) => key.field).find((name) => offer.fields[name] !== winner.fields[name]);
  if (field === undefined) return 'is equal; the lower id wins';
  return `${field} ${offer.fields[field] ?? 'unknown'} comes after ${winner.fields[field] ?? 'unknown'}`;
}
