import { driftOf, satisfiedOffers } from '../../../api/v1alpha1/machine-drift.ts';
import { decision, firstOf, type Rule } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { limitToApply, priceRise, replaceIsDue } from '../limits.ts';
import { highestCap } from '../offers.ts';
import type { Decision, Step } from '../types.ts';
import { labelAdopted } from './adopting.ts';
import { askToStop, type EndWish, endMachine, heldBack, heldBackBy, sayingWhatWaits } from './ending.ts';
import { type Held, type Listed, machineFinding, seenFields } from './machine-finding.ts';

type WishOf = (facts: Facts, held: Held<Listed>) => EndWish | undefined;

const replaceRequested: WishOf = (facts, held) =>
  replaceIsDue(facts) ? unwanted(facts, held, 'ReplaceRequested') : undefined;

const specChanged: WishOf = (facts, held) => {
  const { spec, status } = facts.object;
  const drift = spec.updateStrategy.type === 'Replace' ? driftOf(status ?? {}, spec) : undefined;
  if (!drift) return undefined;
  const wish = unwanted(facts, held, 'SpecChanged');
  return drift.type === 'offers' ? { ...wish, detail: drift.detail } : wish;
};

const priceRaised: WishOf = (facts, held) => {
  const detail = risenPrice(facts, held, ownCap(facts));
  return detail !== undefined && facts.object.spec.onPriceAbove === 'Replace'
    ? { ...unwanted(facts, held, 'PriceRaised'), detail }
    : undefined;
};

/** Reasons to give up a machine that works. Asked of a running and of a stopped one alike. */
const UNWANTED_RULES: readonly Rule<Held<Listed>>[] = [
  {
    name: 'limit-reached',
    because: 'No money is spent beyond what a person allowed.',
    decide: (facts, held) => {
      const state = limitToApply(facts);
      return state.type === 'reached' ? applyLimit(facts, held, state.detail) : undefined;
    },
  },
  {
    name: 'replace-requested',
    because: 'A person asked for another machine.',
    decide: (facts, held) => unlessHeldBack(facts, replaceRequested(facts, held)),
  },
  {
    name: 'spec-changed',
    because: 'The machine is not what the spec would rent, and the update strategy is Replace.',
    decide: (facts, held) => unlessHeldBack(facts, specChanged(facts, held)),
  },
  {
    name: 'price-raised',
    because: 'The machine costs more than was agreed, and onPriceAbove is Replace.',
    decide: (facts, held) => unlessHeldBack(facts, priceRaised(facts, held)),
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
  facts: Facts,
  held: Held<S>,
): Step {
  const end = firstOf(UNWANTED_RULES, facts, held);
  if (end) return end;
  const step = firstOf(rules, facts, held) ?? decision({});
  const wish = replaceRequested(facts, held) ?? specChanged(facts, held) ?? priceRaised(facts, held);
  return wish ? sayingWhatWaits(facts, wish, step) : step;
}

function unlessHeldBack(facts: Facts, wish: EndWish | undefined): Step | undefined {
  return wish && !heldBackBy(facts, wish) ? endMachine(facts, wish) : undefined;
}

function unwanted(
  facts: Facts,
  { machine, state }: Held<Listed>,
  reason: 'ReplaceRequested' | 'SpecChanged' | 'PriceRaised',
): EndWish {
  return { machine, reason, kind: 'unwanted', finding: machineFinding(facts, state) };
}

/**
 * How much dearer a machine is that costs its whole price than its offer said or than `cap`, by default the lower of the
 * object's and the account's; undefined where it is not.
 */
export function risenPrice(facts: Facts, { state }: Held<Listed>, cap = capOf(facts)): string | undefined {
  if (state.type !== 'running' && state.type !== 'booting') return undefined;
  return priceRise(facts, state.row.pricePerHour, cap);
}

/** Of the alternatives that the machine satisfies, not of a position in `offers`, which an edit may move. */
function capOf(facts: Facts): number | undefined {
  return highestCap(alternativesOf(facts), facts.accountFacts?.limits ?? {});
}

/** What a machine may be given up for: limits of an account stop rentals, and no machine that runs. */
function ownCap(facts: Facts): number {
  return highestCap(alternativesOf(facts), {}) ?? Number.POSITIVE_INFINITY;
}

function alternativesOf({ object }: Facts) {
  return satisfiedOffers(object.status ?? {}, object.spec);
}

/** What happens to the machine when a limit is reached: what the deletion policy says. */
function applyLimit(facts: Facts, held: Held<Listed>, detail: string): Step {
  const { machine, state } = held;
  const finding = machineFinding(facts, state);
  const wish: EndWish = { machine, reason: 'LimitReached', detail, kind: 'limit', finding };
  const isToEnd = facts.object.spec.deletionPolicy === 'Destroy';
  const kept = isToEnd ? heldBack(facts, wish) : keptBeyond(facts, held, detail);
  return kept ? stoppedWhereWanted(facts, held, kept) : endMachine(facts, wish);
}

function keptBeyond(facts: Facts, { state }: Held<Listed>, detail: string): Decision {
  return decision({
    fields: seenFields(facts, state.row),
    finding: {
      phase: 'Failed',
      reason: 'LimitReached',
      detail,
      machine: machineFinding(facts, state),
      budget: { reason: 'LimitReached', detail },
    },
    record: { type: 'status' },
  });
}

/** By its deletion policy, or since nobody wants it to run. */
function stoppedWhereWanted(facts: Facts, { machine, state }: Held<Listed>, kept: Decision): Decision {
  const { deletionPolicy, powerState } = facts.object.spec;
  const isToStop = deletionPolicy === 'Stop' || powerState === 'Stopped';
  if (!isToStop || state.type === 'stopped') return kept;
  return { ...kept, record: { type: 'status' }, ...askToStop(facts, machine.instanceId) };
}
