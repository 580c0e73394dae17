import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../../../api/v1alpha1/names.ts';
import { requestToken } from '../../../api/v1alpha1/object.ts';
import { facetsOf } from '../../../api/v1alpha1/reasons.ts';
import { idleEnd } from '../../../instance/idle.ts';
import { countsFor, recentRentals, rentalTimes } from '../../../instance/rentals.ts';
import { describeFailures, failureWait } from '../../../instance/repeated-failure.ts';
import { isRun } from '../../../instance/run.ts';
import { formatDollars } from '../../../lib/money.ts';
import { agreeing, counted } from '../../../lib/plural.ts';
import { formatTime } from '../../../lib/time.ts';
import { currentPrice } from '../billing.ts';
import { awaitCandidates } from '../candidates.ts';
import { decision, firstOf, type Rule } from '../decision.ts';
import { attemptOf, type Facts, type HeldFacts, lateMachineOfClosed, needsMoreLists } from '../facts.ts';
import { goneProof } from '../gone.ts';
import { idleText } from '../idle.ts';
import { budgetStopOf, limitState } from '../limits.ts';
import { carriedFields, withoutMachine } from '../machine-fields.ts';
import type { Stage } from '../stage.ts';
import type { Decision, ListedMachine, Step } from '../types.ts';
import { PERMISSION_RETRY_MS } from './blocked.ts';
import { RUN_OVER, retryText, retryWait } from './completion.ts';
import { lateDetail } from './pending.ts';
import { failPreflight, purchase, rentNothing } from './purchase.ts';

type Unrented = Extract<Stage, { type: 'unrented' }>;

/** Interval after which a limit is checked again: the service's time may have been wrong. */
const LIMIT_RETRY_MS = 600_000;

/** Rules while nothing is rented: the first obstacle applies; without one, the purchase. */
const RULES: readonly Rule<Unrented>[] = [
  RUN_OVER,
  {
    name: 'limit-reached',
    because: 'A limit of the spec is reached, so no machine may be rented.',
    decide: (facts, stage) => {
      const state = limitState(facts);
      return state.type === 'reached'
        ? rentNothing(facts, stage, {
            ...{ reason: 'LimitReached', detail: state.detail },
            // A run is over once lists agree on the time.
            requeue: isRun(facts.object) ? { onList: true, afterMs: 10_000 } : { afterMs: LIMIT_RETRY_MS },
          })
        : undefined;
    },
  },
  {
    name: 'stopped-and-unrented',
    because: 'powerState is Stopped: no machine is rented only to be stopped.',
    decide: (facts, stage) =>
      facts.object.spec.powerState === 'Stopped' ? stoppedWithout(facts, stage) : undefined,
  },
  {
    name: 'paused',
    because: 'spec.paused is true.',
    decide: (facts, stage) =>
      facts.object.spec.paused ? rentNothing(facts, stage, { reason: 'Paused' }) : undefined,
  },
  {
    name: 'ended-as-idle',
    because: 'The last machine was ended for idleness, and no request for another one came since.',
    decide: (facts, stage) => {
      const endedAt = idleEnd(facts.object);
      if (endedAt === undefined) return undefined;
      const detail = `The machine was ended at ${formatTime(endedAt)}: ${idleText(facts)}`;
      return rentNothing(facts, stage, { reason: 'Idle', detail });
    },
  },
  {
    name: 'ended-for-good',
    because: 'The policy for the end of the last machine forbids another one.',
    decide: endedForGood,
  },
  {
    name: 'namespace-not-allowed',
    because: 'The account decides which namespaces may rent with it.',
    decide: (facts, stage) => {
      const permitted = facts.account.facts?.permitted;
      if (permitted === undefined) return decision({ requeue: { afterMs: PERMISSION_RETRY_MS } });
      return permitted ? undefined : rentNothing(facts, stage, { reason: 'NotAllowedByAccount' });
    },
  },
  {
    name: 'account-suspended',
    because: 'The account is suspended, so it refuses every rental.',
    decide: (facts, stage) =>
      facts.account.facts?.suspended ? rentNothing(facts, stage, { reason: 'Suspended' }) : undefined,
  },
  {
    name: 'budget-reached',
    because: 'A budget stops the machines of the namespace, so it refuses every rental.',
    decide: (facts, stage) => {
      const detail = budgetStopOf(facts);
      return detail === undefined
        ? undefined
        : rentNothing(facts, stage, { reason: 'BudgetReached', detail });
    },
  },
  {
    name: 'account-not-ready',
    because: 'Only an account with a verified key that can destroy machines may rent.',
    decide: (facts, stage) =>
      facts.account.state === 'notReady'
        ? rentNothing(facts, stage, {
            reason: 'AccountNotReady',
            detail: `The MarketplaceAccount is not ready: ${facts.account.message}`,
          })
        : undefined,
  },
  {
    name: 'wait-for-list',
    because: 'Only a complete list proves that this object has no machine yet.',
    decide: (facts) =>
      facts.machine.list ? undefined : decision({ requeue: { onList: true, afterMs: 5_000 } }),
  },
  {
    name: 'old-machine-listed',
    because: 'The old machine must be gone before the next is rented.',
    decide: oldMachineListed,
  },
  {
    name: 'late-machine-listed',
    because: 'A machine of an earlier purchase appeared late.',
    decide: (facts, stage) => {
      const late = lateMachineOfClosed(facts);
      return (
        late &&
        rentNothing(facts, stage, {
          reason: 'RentalUncertain',
          detail: lateDetail(late.row, late.attempt),
          requeue: { onList: true },
        })
      );
    },
  },
  {
    name: 'run-retry',
    because: 'The program of the run failed, and the wait before its next attempt is not over.',
    decide: (facts, stage) => {
      const afterMs = retryWait(facts);
      return afterMs === undefined
        ? undefined
        : rentNothing(facts, stage, {
            ...{ reason: 'RunFailed', detail: retryText(facts) },
            requeue: { afterMs: Math.max(1_000, afterMs) },
          });
    },
  },
  {
    name: 'repeated-failure',
    because: 'A failure that two machines had alike repeats on the next one until something changes.',
    decide: repeatedFailure,
  },
  {
    name: 'too-many-rentals',
    because: 'spec.replacement.maxPerHour is reached.',
    decide: tooManyRentals,
  },
  {
    name: 'backing-off',
    because: 'The last attempt failed, and its backoff is not over.',
    decide: backingOff,
  },
  {
    name: 'wait-for-more-lists',
    because:
      'The first lists since the start of the operator may hide a late machine of an earlier purchase.',
    decide: (facts, stage) =>
      needsMoreLists(facts, stage.attempt)
        ? decision({ requeue: { onList: true, afterMs: facts.clock.constants.listLagMs } })
        : undefined,
  },
  {
    name: 'confirm-candidates',
    because: 'A list showed a machine of an earlier purchase, and no read proves that it is gone.',
    decide: awaitCandidates,
  },
  {
    name: 'preflight',
    because: 'Something that the rental needs is missing or invalid.',
    decide: failPreflight,
  },
  {
    name: 'purchase',
    because: 'The spec requests a machine, and nothing blocks the rental.',
    decide: purchase,
  },
];

export function whileUnrented(facts: Facts, stage: Unrented): Step {
  return firstOf(RULES, facts, stage) ?? decision({});
}

function stoppedWithout(facts: HeldFacts, stage: Unrented): Step {
  const named = unprovenRecord(facts);
  if (named?.type === 'read') return named.step;
  const carried = carriedFields(facts);
  const fields = named?.type === 'forget' ? withoutMachine(carried) : carried;
  return decision({
    requeue: named?.type === 'awaitLists' ? { onList: true, afterMs: facts.clock.constants.listLagMs } : {},
    fields: stage.attempt > 0 ? { ...fields, attempt: stage.attempt } : fields,
    finding: {
      phase: 'Stopped',
      reason: 'Stopped',
      detail: 'No machine is rented, as powerState is Stopped.',
      ready: true,
      machine: { type: 'none' },
    },
  });
}

/** Returns the step if a policy makes the last end final, until the spec changes. */
function endedForGood(facts: Pick<Facts, 'object' | 'machine'>, stage: Unrented): Decision | undefined {
  const { spec, status } = facts.object;
  const last = status?.history?.at(-1);
  // A machine that is listed again has not ended; a later rule reports it and also rents nothing.
  if (!last || oldMachine(facts)) return undefined;
  if (facetsOf(last.reason).endsByItself && spec.onVanish === 'Hold' && !isRun(facts.object)) {
    return rentNothing(facts, stage, {
      reason: 'VanishedHeld',
      detail: `Machine ${last.instanceId} ended (${last.reason}), and not by this operator; spec.onVanish is Hold.`,
    });
  }
  const lost = !facetsOf(last.reason).isChosen;
  return lost && spec.replacement.policy === 'Never'
    ? rentNothing(facts, stage, {
        reason: 'ReplacementOff',
        detail: `Machine ${last.instanceId} ended (${last.reason}), and spec.replacement.policy is Never.`,
      })
    : undefined;
}

function oldMachine({ machine: { list } }: Pick<Facts, 'machine'>): ListedMachine | undefined {
  return list?.labelled.find(({ ownership }) => attemptOf(ownership) !== undefined);
}

function oldMachineListed(facts: Pick<Facts, 'object' | 'machine'>, stage: Unrented): Decision | undefined {
  const old = oldMachine(facts);
  return (
    old &&
    rentNothing(facts, stage, {
      reason: 'OldMachineNotGone',
      detail: `Machine ${old.row.id} of this object is still listed and ${hourly(old.row)}, so no other is rented.`,
      requeue: {
        onList: true,
      },
    })
  );
}

function hourly(row: ListedMachine['row']): string {
  const price = currentPrice(row);
  return price === undefined ? 'may still bill' : `bills $${formatDollars(price)}/h`;
}

function repeatedFailure(facts: Pick<Facts, 'object' | 'clock'>, stage: Unrented): Decision | undefined {
  const {
    object,
    clock: { now },
  } = facts;
  const wait = failureWait(object);
  // A person, the spec or a price requested the replacement.
  const isChosen = facetsOf(object.status?.history?.at(-1)?.reason).isChosen === true;
  if (!wait || wait.until <= now || isChosen || isAskedFor(object)) return undefined;
  const requeue = { afterMs: Math.max(1000, wait.until - now) };
  return rentNothing(facts, stage, {
    reason: 'RepeatedFailure',
    detail: describeFailures(object, wait),
    requeue,
  });
}

/** Returns true if a person has requested an attempt, and none was made since. */
function isAskedFor({ metadata, status }: GpuInstance): boolean {
  const asked = requestToken(metadata, annotations.requestedAt);
  return asked !== undefined && asked !== status?.requestedAt;
}

function tooManyRentals(facts: Pick<Facts, 'object' | 'clock'>, stage: Unrented): Decision | undefined {
  const { spec, status } = facts.object;
  const recent = recentRentals(rentalTimes(status), facts.clock.now);
  const oldest = recent.at(-spec.replacement.maxPerHour);
  if (recent.length < spec.replacement.maxPerHour || oldest === undefined) return undefined;
  const waitMs = countsFor(oldest, facts.clock.now);
  return rentNothing(facts, stage, {
    reason: 'AtLimit',
    detail: `${counted(recent.length, 'machine')} ${agreeing(recent.length, 'was', 'were')} rented within an hour; spec.replacement.maxPerHour is ${spec.replacement.maxPerHour}. The next is rented after ${formatTime(facts.clock.now + waitMs)}.`,
    requeue: { afterMs: Math.max(1000, waitMs) },
  });
}

function backingOff(
  facts: Pick<Facts, 'object' | 'clock' | 'memory'>,
  stage: Unrented,
): Decision | undefined {
  const { refusal, notBefore } = facts.memory;
  const left = notBefore - facts.clock.steadyNow;
  if (left <= 0) return undefined;
  if (!refusal) return decision({ requeue: { afterMs: left } });
  return rentNothing(facts, stage, {
    reason: refusal.reason,
    detail: refusal.detail,
    requeue: { afterMs: left },
  });
}

/** Treatment of a machine that the status of an object names without proof. */
type UnprovenRecord =
  /** The machine does not exist. */
  | { readonly type: 'forget' }
  | { readonly type: 'read'; readonly step: Extract<Step, { type: 'read' }> }
  | { readonly type: 'awaitLists' };

/**
 * Returns the treatment of the unproven machine in the status. Another writer may have named it, or its proof was
 * lost, so it may be genuine: it is forgotten only once it is proven gone, like a vanished machine. Undefined if it
 * stays, or there is none.
 */
function unprovenRecord(facts: HeldFacts): UnprovenRecord | undefined {
  const { account, object } = facts;
  const instanceId = object.status?.instanceId;
  const mayJudge = account.state === 'ready' && account.facts.breaker.type !== 'open';
  if (instanceId === undefined || !mayJudge) return undefined;
  switch (goneProof(facts, instanceId).type) {
    case 'gone':
      return { type: 'forget' };
    case 'needsRead':
      return { type: 'read', step: { type: 'read', requests: [{ type: 'machine', instanceId }] } };
    case 'needsLogin':
      return { type: 'read', step: { type: 'read', requests: [{ type: 'loginProof' }] } };
    case 'waiting':
      return { type: 'awaitLists' };
    case 'present':
      return undefined;
  }
}
