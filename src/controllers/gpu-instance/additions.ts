import type { GpuInstanceCondition } from '../../api/v1alpha1/conditions.ts';
import { type Added, type AnyAdded, type StatusDecision, withAdded, writesStatus } from './decision.ts';
import type { Facts } from './facts.ts';
import { addedLease } from './lease.ts';
import { addedOutage } from './outage.ts';
import { addedPowerEvents } from './power-events.ts';
import { addedPublication } from './publication.ts';
import { addedRun } from './rules/completion.ts';
import { addedContractEnd } from './rules/contract-end.ts';
import { addedIdle } from './rules/idle.ts';
import { addedFixedFuse, addedSelfEnd } from './self-end-proof.ts';
import { addedStartNote } from './start-note.ts';
import { addedBilling } from './still-billing.ts';
import type { Step } from './types.ts';

/** Part of a status that does not depend on the rule that decided. It sets no condition except `C`. */
interface AdditionOf<C extends GpuInstanceCondition> {
  readonly name: string;
  /** Conditions that it may set or change. */
  readonly sets: readonly C[];
  /** True if it applies also to a deleted object, and to a decision that precedes every stage. */
  readonly always: boolean;
  /** Reason for its place in the order. */
  readonly because: string;
  readonly add: (facts: Facts, decided: StatusDecision) => Added<NoInfer<C>> | PublishStep;
}

type PublishStep = Extract<Step, { type: 'publish' }>;

interface Addition extends Omit<AdditionOf<GpuInstanceCondition>, 'add'> {
  readonly add: (facts: Facts, decided: StatusDecision) => AnyAdded | PublishStep;
}

/** Returns the addition, which the compiler holds to the conditions that it names. */
const addition = <C extends GpuInstanceCondition = never>(row: AdditionOf<C>): Addition => row;

/**
 * Additions in the order in which they run. Before them, the finding of the rule has set every condition (`verdict` in
 * `conditions.ts`). For a listed machine, `byRules` has then added, in this order: the block of a replacement that is
 * due (`rules/kept.ts`: ReplacementBlocked, OverBudget, Reconciling, the message of Ready), and the doubts of lists
 * (`rules/doubts.ts`: OverBudget, Rented, the message of Ready).
 *
 * Neither is a row, because a row takes the facts and the decision alone. The block depends on the planned end that
 * a rule chose, and it also returns a queued search and a backoff. The doubts apply only to steps of `byRules`: as a
 * row they would repeat its conditions: a listed machine without an accepted destroy and without a disputed label.
 */
const ADDITIONS: readonly Addition[] = [
  addition({
    name: 'contract-end',
    sets: [],
    always: false,
    because: 'It reads only the fields of the rule.',
    add: addedContractEnd,
  }),
  addition({
    name: 'publication',
    sets: ['Ready', 'Reconciling'],
    always: false,
    because: 'A taken name makes Ready False, and the additions below read Ready.',
    add: addedPublication,
  }),
  addition({
    name: 'start-note',
    sets: [],
    always: false,
    because: 'It depends on no other addition.',
    add: addedStartNote,
  }),
  addition({
    name: 'lease',
    sets: ['LeaseAtRisk'],
    always: true,
    because: 'It depends on no other addition.',
    add: addedLease,
  }),
  addition({
    name: 'self-end',
    sets: [],
    always: true,
    because: 'It depends on no other addition.',
    add: addedSelfEnd,
  }),
  addition({
    name: 'fixed-fuse',
    sets: ['LifeFuseFixed'],
    always: true,
    because: 'It depends on no other addition.',
    add: addedFixedFuse,
  }),
  addition({
    name: 'idle',
    sets: ['Idle'],
    always: true,
    because: 'It removes an idle end that is over, and power-events reports that end.',
    add: addedIdle,
  }),
  addition({
    name: 'run',
    sets: ['Succeeded'],
    always: true,
    because: 'It repeats the message of Ready before the bills are added, which change after the end.',
    add: addedRun,
  }),
  addition({
    name: 'billing',
    sets: ['Ready', 'Stalled'],
    always: true,
    because: 'It completes the final messages, which power-events repeats.',
    add: addedBilling,
  }),
  addition({
    name: 'power-events',
    sets: [],
    always: true,
    because: 'It compares the final Ready with the recorded one.',
    add: addedPowerEvents,
  }),
  addition({
    name: 'outage',
    sets: [],
    always: true,
    because: 'It records an outage only if the final Ready is not True.',
    add: addedOutage,
  }),
];

/**
 * Returns the step with all additions, or the write of children that must precede its status. A step that writes no
 * status stays. `isByStage`: false for a deleted object, and for a decision that precedes every stage.
 */
export function withAdditions(
  facts: Facts,
  step: Step,
  { isByStage }: { readonly isByStage: boolean },
): Step {
  if (!writesStatus(step)) return step;
  let decided = step;
  for (const { always, add } of ADDITIONS) {
    if (!always && !isByStage) continue;
    const added = add(facts, decided);
    if ('type' in added) return added;
    decided = withAdded(decided, added);
  }
  return decided;
}
