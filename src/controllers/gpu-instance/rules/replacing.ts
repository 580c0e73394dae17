import { driftOf, satisfiedOffers } from '../../../api/v1alpha1/machine-drift.ts';
import { decision, firstOf, type Rule } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { limitToApply, priceRise, replaceIsDue } from '../limits.ts';
import { highestCap } from '../offers.ts';
import type { Step } from '../types.ts';
import { labelAdopted } from './adopting.ts';
import {
  askToStop,
  blockedBy,
  endMachine,
  type PlannedEnd,
  showBlockedEnd,
  withBlockedEnd,
} from './ending.ts';
import { type Listed, machineFinding, type RecordedMachine, seenFields } from './machine-finding.ts';

type PlanOf = (facts: Facts, recorded: RecordedMachine<Listed>) => PlannedEnd | undefined;

const replaceRequested: PlanOf = (facts, recorded) =>
  replaceIsDue(facts) ? unwanted(facts, recorded, 'ReplaceRequested') : undefined;

const specChanged: PlanOf = (facts, recorded) => {
  const { spec, status } = facts.object;
  const drift = spec.updateStrategy.type === 'Replace' ? driftOf(status ?? {}, spec) : undefined;
  if (!drift) return undefined;
  const planned = unwanted(facts, recorded, 'SpecChanged');
  return drift.type === 'offers' ? { ...planned, detail: drift.detail } : planned;
};

const priceRaised: PlanOf = (facts, recorded) => {
  // Limits of an account stop rentals, and no machine that runs.
  const ownCap = highestCap(alternativesOf(facts), {}) ?? Number.POSITIVE_INFINITY;
  const detail = risenPrice(facts, recorded, ownCap);
  return detail !== undefined && facts.object.spec.onPriceAbove === 'Replace'
    ? { ...unwanted(facts, recorded, 'PriceRaised'), detail }
    : undefined;
};

/** Reasons to give up a machine that works. Asked of a running and of a stopped one alike. */
const UNWANTED_RULES: readonly Rule<RecordedMachine<Listed>>[] = [
  {
    name: 'limit-reached',
    because: 'No money is spent beyond what a person allowed.',
    decide: (facts, recorded) => {
      const state = limitToApply(facts);
      return state.type === 'reached' ? applyLimit(facts, recorded, state.detail) : undefined;
    },
  },
  {
    name: 'replace-requested',
    because: 'A person asked for another machine.',
    decide: (facts, recorded) => unlessBlocked(facts, replaceRequested(facts, recorded)),
  },
  {
    name: 'spec-changed',
    because: 'The machine is not what the spec would rent, and the update strategy is Replace.',
    decide: (facts, recorded) => unlessBlocked(facts, specChanged(facts, recorded)),
  },
  {
    name: 'price-raised',
    because: 'The machine costs more than was agreed, and onPriceAbove is Replace.',
    decide: (facts, recorded) => unlessBlocked(facts, priceRaised(facts, recorded)),
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
  rules: readonly Rule<RecordedMachine<S>>[],
  facts: Facts,
  recorded: RecordedMachine<S>,
): Step {
  const ended = firstOf(UNWANTED_RULES, facts, recorded);
  if (ended) return ended;
  const step = firstOf(rules, facts, recorded) ?? decision({});
  const planned =
    replaceRequested(facts, recorded) ?? specChanged(facts, recorded) ?? priceRaised(facts, recorded);
  return planned ? withBlockedEnd(facts, planned, step) : step;
}

function unlessBlocked(facts: Facts, planned: PlannedEnd | undefined): Step | undefined {
  return planned && !blockedBy(facts, planned) ? endMachine(facts, planned) : undefined;
}

function unwanted(
  facts: Facts,
  { machine, state }: RecordedMachine<Listed>,
  reason: 'ReplaceRequested' | 'SpecChanged' | 'PriceRaised',
): PlannedEnd {
  return { machine, reason, kind: 'unwanted', finding: machineFinding(facts, state) };
}

/**
 * How much dearer a machine is that costs its whole price than its offer said or than `cap`, by default the lower of the
 * object's and the account's; undefined where it is not.
 */
export function risenPrice(
  facts: Facts,
  { state }: RecordedMachine<Listed>,
  cap = highestCap(alternativesOf(facts), facts.accountFacts?.limits ?? {}),
): string | undefined {
  if (state.type !== 'running' && state.type !== 'booting') return undefined;
  return priceRise(facts, state.row.pricePerHour, cap);
}

/** Those that the machine satisfies, not a position in `offers`, which an edit may move. */
function alternativesOf({ object }: Facts) {
  return satisfiedOffers(object.status ?? {}, object.spec);
}

/** What happens to the machine when a limit is reached: what the deletion policy says. */
function applyLimit(facts: Facts, recorded: RecordedMachine<Listed>, detail: string): Step {
  const { machine, state } = recorded;
  const { deletionPolicy, powerState } = facts.object.spec;
  const finding = machineFinding(facts, state);
  const planned: PlannedEnd = { machine, reason: 'LimitReached', detail, kind: 'limit', finding };
  const budget = { reason: 'LimitReached', detail } as const;
  const kept =
    deletionPolicy === 'Destroy'
      ? showBlockedEnd(facts, planned)
      : decision({
          fields: seenFields(facts, state.row),
          finding: { ...budget, phase: 'Failed', machine: finding, budget },
          record: { type: 'status' },
        });
  if (!kept) return endMachine(facts, planned);
  // It stays, and runs no longer: by its deletion policy, or since nobody wants it to run.
  const isToStop = deletionPolicy === 'Stop' || powerState === 'Stopped';
  if (!isToStop || state.type === 'stopped') return kept;
  return { ...kept, record: { type: 'status' }, ...askToStop(facts, machine.instanceId) };
}
