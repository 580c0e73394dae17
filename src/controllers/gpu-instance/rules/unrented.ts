import { countsFor, recentRentals, rentalTimes } from '../../../instance/rentals.ts';
import { decision, firstOf, type Rule } from '../decision.ts';
import { attemptOf, type Facts, lateMachineOfClosed, needsSecondList } from '../facts.ts';
import { goneProof } from '../gone.ts';
import { limitState } from '../limits.ts';
import type { Stage } from '../stage.ts';
import { carriedFields, withoutMachine } from '../status.ts';
import type { Decision, ListedMachine, Step } from '../types.ts';
import { PERMISSION_RETRY_MS } from './blocked.ts';
import { lateDetail } from './pending.ts';
import { idle, purchase } from './purchase.ts';

type Unrented = Extract<Stage, { type: 'unrented' }>;

/** The service's time may have been wrong: it is asked again whether a limit is reached. */
const LIMIT_RETRY_MS = 600_000;

/** Nothing is rented: the first reason why it stays so, else a purchase. */
const RULES: readonly Rule<Unrented>[] = [
  {
    name: 'limit-reached',
    because: 'What may hold no machine any more needs none, whatever else is wanted.',
    decide: (facts, stage) => {
      const state = limitState(facts);
      return state.type === 'reached'
        ? idle(facts, stage, {
            ...{ reason: 'LimitReached', detail: state.detail },
            requeue: { afterMs: LIMIT_RETRY_MS },
          })
        : undefined;
    },
  },
  {
    name: 'stopped-and-unrented',
    because: 'A machine that should be stopped is not rented to be stopped.',
    decide: (facts, stage) =>
      facts.object.spec.powerState === 'Stopped' ? stoppedWithout(facts, stage) : undefined,
  },
  {
    name: 'paused',
    because: 'A person asked for quiet.',
    decide: (facts, stage) =>
      facts.object.spec.paused ? idle(facts, stage, { reason: 'Paused' }) : undefined,
  },
  {
    name: 'ended-for-good',
    because: 'What a machine ended with may forbid the next one.',
    decide: endedForGood,
  },
  {
    name: 'namespace-not-allowed',
    because: 'The account decides who may spend its money, and strangers learn nothing of it.',
    decide: (facts, stage) => {
      const permitted = facts.accountFacts?.permitted;
      if (permitted === undefined) return decision({ requeue: { afterMs: PERMISSION_RETRY_MS } });
      return permitted ? undefined : idle(facts, stage, { reason: 'NamespaceNotAllowed' });
    },
  },
  {
    name: 'account-not-ready',
    because: 'Only a proven key that may destroy may rent.',
    decide: (facts, stage) =>
      facts.account.state === 'notReady'
        ? idle(facts, stage, {
            reason: 'AccountNotReady',
            detail: `The MarketplaceAccount is not ready: ${facts.account.message}`,
          })
        : undefined,
  },
  {
    name: 'wait-for-list',
    because: 'A machine of this object may exist already; only a complete list says that none does.',
    decide: (facts) => (facts.list ? undefined : decision({ requeue: { onList: true, afterMs: 5_000 } })),
  },
  {
    name: 'old-machine-listed',
    because: 'The old machine goes before the next is bought.',
    decide: oldMachineListed,
  },
  {
    name: 'late-machine-listed',
    because: 'A machine of an earlier purchase may have come after all.',
    decide: (facts, stage) => {
      const late = lateMachineOfClosed(facts);
      return (
        late &&
        idle(facts, stage, {
          reason: 'RentalUncertain',
          detail: lateDetail(late.machine, late.attempt),
          requeue: { onList: true },
        })
      );
    },
  },
  {
    name: 'too-many-rentals',
    because: 'A loop that succeeds each time costs as much as one that fails.',
    decide: tooManyRentals,
  },
  {
    name: 'ssh-key-missing',
    because: 'For some machines a missing key cannot be added later (specification 4.5).',
    decide: (facts, stage) =>
      facts.object.spec.ssh && facts.accountFacts?.sshKeyRegistered === false
        ? idle(facts, stage, { reason: 'SSHKeyMissing', requeue: { afterMs: 60_000 } })
        : undefined,
  },
  {
    name: 'backing-off',
    because: 'What failed a moment ago fails again.',
    decide: backingOff,
  },
  {
    name: 'wait-for-second-list',
    because: 'The only list of this process may lack a late machine that lists showed before.',
    decide: (facts) =>
      needsSecondList(facts) ? decision({ requeue: { onList: true, afterMs: 5_000 } }) : undefined,
  },
  { name: 'purchase', because: 'A machine is wanted and nothing speaks against it.', decide: purchase },
];

export function whileUnrented(facts: Facts, stage: Unrented): Step {
  return firstOf(RULES, facts, stage) ?? decision({});
}

function stoppedWithout(facts: Facts, stage: Unrented): Step {
  const named = unprovenRecord(facts);
  if (named?.type === 'read') return named.step;
  const carried = carriedFields(facts);
  const fields = named?.type === 'forget' ? withoutMachine(carried) : carried;
  return decision({
    requeue: named?.type === 'awaitLists' ? { onList: true, afterMs: facts.constants.listLagMs } : {},
    fields: stage.attempt > 0 ? { ...fields, attempt: stage.attempt } : fields,
    finding: {
      phase: 'Stopped',
      reason: 'Stopped',
      detail: 'No machine is rented, and none is wanted while powerState is Stopped.',
      ready: true,
      machine: { type: 'none' },
    },
  });
}

/** Ends that a policy makes final, until the spec changes it. */
function endedForGood(facts: Facts, stage: Unrented): Decision | undefined {
  const { spec, status } = facts.object;
  const last = status?.history?.at(-1);
  // What is listed again has not ended: that is said by a later rule, which rents nothing either.
  if (!last || oldMachine(facts)) return undefined;
  if (last.reason === 'Vanished' && spec.onVanish === 'Hold') {
    return idle(facts, stage, {
      reason: 'VanishedHeld',
      detail: `Machine ${last.instanceId} was destroyed, and not by this operator; spec.onVanish is Hold.`,
    });
  }
  const lost = !CHOSEN_ENDS.has(last.reason);
  return lost && spec.replacement.policy === 'Never'
    ? idle(facts, stage, {
        reason: 'ReplacementOff',
        detail: `Machine ${last.instanceId} ended (${last.reason}), and spec.replacement.policy is Never.`,
      })
    : undefined;
}

/** Machines that were given up since another was wanted, not because they were lost. */
const CHOSEN_ENDS: ReadonlySet<string> = new Set([
  'SpecChanged',
  'ReplaceRequested',
  'PriceRaised',
  'LimitReached',
]);

function oldMachine({ list }: Facts): ListedMachine | undefined {
  return list?.labelled.find(({ ownership }) => attemptOf(ownership) !== undefined);
}

function oldMachineListed(facts: Facts, stage: Unrented): Decision | undefined {
  const old = oldMachine(facts);
  return (
    old &&
    idle(facts, stage, {
      reason: 'OldMachineNotGone',
      detail: `Machine ${old.row.id} of this object is still listed by the marketplace, so no other is rented.`,
      requeue: {
        onList: true,
      },
    })
  );
}

function tooManyRentals(facts: Facts, stage: Unrented): Decision | undefined {
  const { spec, status } = facts.object;
  const recent = recentRentals(rentalTimes(status), facts.now);
  const oldest = recent.at(-spec.replacement.maxPerHour);
  if (recent.length < spec.replacement.maxPerHour || oldest === undefined) return undefined;
  return idle(facts, stage, {
    reason: 'TooManyRentals',
    detail: `${spec.replacement.maxPerHour} machines were rented within an hour, as many as spec.replacement.maxPerHour allows.`,
    requeue: { afterMs: Math.max(1000, countsFor(oldest, facts.now)) },
  });
}

function backingOff(facts: Facts, stage: Unrented): Decision | undefined {
  const { refusal, notBefore } = facts.memory;
  const left = notBefore - facts.steadyNow;
  if (left <= 0) return undefined;
  if (!refusal) return decision({ requeue: { afterMs: left } });
  return idle(facts, stage, { reason: refusal.reason, detail: refusal.detail, requeue: { afterMs: left } });
}

/** What to do about a machine that the status of an object without one names all the same. */
type UnprovenRecord =
  /** It does not exist. */
  | { readonly type: 'forget' }
  | { readonly type: 'read'; readonly step: Extract<Step, { type: 'read' }> }
  | { readonly type: 'awaitLists' };

/**
 * Somebody wrote it there, or its proof was lost: it may be a true one still. It is forgotten once it is proven gone
 * as a machine of ours that vanished would be, and never before. Undefined where it stays, or there is none.
 */
function unprovenRecord(facts: Facts): UnprovenRecord | undefined {
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
