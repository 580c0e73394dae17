import { driftOf, satisfiedOffers } from '../../../api/v1alpha1/machine-drift.ts';
import { decision, firstOf, type Rule } from '../decision.ts';
import { replaceIsDue } from '../due.ts';
import { limitToApply, priceRise } from '../limits.ts';
import { highestCap } from '../offers/offer-price.ts';
import { factsOf } from '../recorded.ts';
import type { Observed, Step } from '../types.ts';
import { labelAdopted } from './adopted-label.ts';
import type { EndWish } from './end-wish.ts';
import { endMachine } from './ending.ts';
import { heldBackBy, sayingWhatWaits } from './held-back.ts';
import type { Held, Listed } from './held-machine.ts';
import { machineFinding } from './machine-finding.ts';
import { applyLimit } from './over-limit.ts';

type WishOf = (observed: Observed, held: Held<Listed>) => EndWish | undefined;

const replaceRequested: WishOf = (observed, held) =>
  replaceIsDue(observed) ? unwanted(observed, held, 'ReplaceRequested') : undefined;

const specChanged: WishOf = (observed, held) => {
  const { spec, status } = observed.object;
  const drift = spec.updateStrategy.type === 'Replace' ? driftOf(status ?? {}, spec) : undefined;
  if (!drift) return undefined;
  const wish = unwanted(observed, held, 'SpecChanged');
  return drift.type === 'offers' ? { ...wish, detail: drift.detail } : wish;
};

const priceRaised: WishOf = (observed, held) => {
  const detail = risenPrice(observed, held, ownCap(observed));
  return detail !== undefined && observed.object.spec.onPriceAbove === 'Replace'
    ? { ...unwanted(observed, held, 'PriceRaised'), detail }
    : undefined;
};

/** Reasons to give up a machine that works. Asked of a running and of a stopped one alike. */
const UNWANTED_RULES: readonly Rule<Held<Listed>>[] = [
  {
    name: 'limit-reached',
    because: 'No money is spent beyond what a person allowed.',
    decide: (observed, held) => {
      const state = limitToApply(observed);
      return state.type === 'reached' ? applyLimit(observed, held, state.detail) : undefined;
    },
  },
  {
    name: 'replace-requested',
    because: 'A person asked for another machine.',
    decide: (observed, held) => unlessHeldBack(observed, replaceRequested(observed, held)),
  },
  {
    name: 'spec-changed',
    because: 'The machine is not what the spec would rent, and the update strategy is Replace.',
    decide: (observed, held) => unlessHeldBack(observed, specChanged(observed, held)),
  },
  {
    name: 'price-raised',
    because: 'The machine costs more than was agreed, and onPriceAbove is Replace.',
    decide: (observed, held) => unlessHeldBack(observed, priceRaised(observed, held)),
  },
  {
    name: 'label-adopted',
    because: 'A machine that was taken over says so, or a sweep of another installation sees a stranger.',
    decide: labelAdopted,
  },
];

/**
 * Gives up a machine that is not wanted any more, else goes by the rules of what it does. What holds its end back
 * holds nothing else back: until then it is stopped, started, judged and published like one that is wanted.
 */
export function byRules<S extends Listed>(
  rules: readonly Rule<Held<S>>[],
  observed: Observed,
  held: Held<S>,
): Step {
  const end = firstOf(UNWANTED_RULES, observed, held);
  if (end) return end;
  const step = firstOf(rules, observed, held) ?? decision({});
  const wish = replaceRequested(observed, held) ?? specChanged(observed, held) ?? priceRaised(observed, held);
  return wish ? sayingWhatWaits(observed, wish, step) : step;
}

function unlessHeldBack(observed: Observed, wish: EndWish | undefined): Step | undefined {
  return wish && !heldBackBy(observed, wish) ? endMachine(observed, wish) : undefined;
}

function unwanted(
  observed: Observed,
  { machine, state }: Held<Listed>,
  reason: 'ReplaceRequested' | 'SpecChanged' | 'PriceRaised',
): EndWish {
  return { machine, reason, kind: 'unwanted', finding: machineFinding(observed, state) };
}

/**
 * How much dearer a machine is that costs its whole price than its offer said or than `cap`, by default the lower of the
 * object's and the account's; undefined where it is not.
 */
export function risenPrice(
  observed: Observed,
  { state }: Held<Listed>,
  cap = capOf(observed),
): string | undefined {
  if (state.type !== 'running' && state.type !== 'booting') return undefined;
  return priceRise(observed, state.row.pricePerHour, cap);
}

/** Of the alternatives that the machine satisfies, not of a position in `offers`, which an edit may move. */
function capOf(observed: Observed): number | undefined {
  return highestCap(alternativesOf(observed), factsOf(observed)?.limits ?? {});
}

/** What a machine may be given up for: limits of an account stop rentals, and no machine that runs. */
function ownCap(observed: Observed): number {
  return highestCap(alternativesOf(observed), {}) ?? Number.POSITIVE_INFINITY;
}

function alternativesOf({ object }: Observed) {
  return satisfiedOffers(object.status ?? {}, object.spec);
}
