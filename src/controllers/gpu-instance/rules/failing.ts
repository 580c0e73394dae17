import { isOpenAt, timeOutsideSpans } from '../../../accounts/breaker.ts';
import { parseDuration } from '../../../lib/time.ts';
import { statusSeenSince, untilTimeIsUp } from '../deadlines.ts';
import { decision, type Rule } from '../decision.ts';
import type { Facts, HeldFacts } from '../facts.ts';
import { isToStop } from '../limits.ts';
import { carriedFields, withRow } from '../machine-fields.ts';
import type { Decision, Step } from '../types.ts';
import { canStop } from '../unsupported.ts';
import { contractEnded } from './contract-end.ts';
import { endMachine } from './ending.ts';
import { machineFinding, type RecordedMachine, type StateIn } from './machine-finding.ts';
import { byRules } from './replacing.ts';
import { asDesired } from './stopped.ts';

const RULES: readonly Rule<RecordedMachine<StateIn<'failing'>>>[] = [
  {
    name: 'ended-while-stopped-wanted',
    because: 'powerState is Stopped, and a container that ended is as good as a stopped one.',
    decide: (facts, recorded) =>
      isToStop(facts) && canStop(facts) && recorded.state.reason === 'Exited'
        ? asDesired(facts, recorded)
        : undefined,
  },
  {
    name: 'unseen-while-stopped-wanted',
    because: 'powerState is Stopped: no running machine replaces a lost one.',
    decide: (facts, recorded) => (isToStop(facts) ? stayLost(facts, recorded) : undefined),
  },
  {
    name: 'contract-ended',
    because: 'The container ended with its contract, and its disk may still be read.',
    decide: (facts, recorded) =>
      recorded.state.reason === 'Exited' ? contractEnded(facts, recorded) : undefined,
  },
  {
    name: 'lost',
    because: 'The machine has failed for longer than spec.replacement.tolerance.',
    decide: lost,
  },
  {
    name: 'tolerate',
    because: 'The failure is tolerated: by spec.replacement.tolerance, or until the breaker closes.',
    decide: tolerate,
  },
];

export function whileFailing(facts: Facts, recorded: RecordedMachine<StateIn<'failing'>>): Step {
  return byRules(RULES, facts, recorded);
}

/**
 * Returns true if the tolerance is over: by lists for `exited`, by time for a silent or disconnected host, from a list
 * that was begun after it. Neither advances while the breaker is open.
 */
export function isPastTolerance(facts: HeldFacts, { state }: RecordedMachine<StateIn<'failing'>>): boolean {
  const { tolerance } = facts.object.spec.replacement;
  const since = statusSeenSince(facts, state.row);
  if (state.reason === 'Exited') {
    const spans = facts.account.facts?.openSpans ?? [];
    const shows = (begun: number) =>
      Math.floor(begun / 1000) >= Math.floor(since / 1000) && !isOpenAt(spans, begun);
    return facts.machine.listsBegun.filter(shows).length >= tolerance.exitedSeen;
  }
  const patience = patienceOf(facts, state);
  return patience === 0 || toleratedAt(facts, since, facts.machine.list?.begunSteady) >= patience;
}

/** Returns the milliseconds for which a state had been tolerated at that time; 0 if its start is unknown. */
function toleratedAt(facts: Pick<Facts, 'account'>, since: number, at = Number.NEGATIVE_INFINITY): number {
  if (at <= since) return 0;
  return timeOutsideSpans(facts.account.facts?.openSpans ?? [], { from: since, until: at });
}

/** Returns the tolerance in milliseconds. */
function patienceOf({ object }: Pick<Facts, 'object'>, { row }: StateIn<'failing'>): number {
  const { offline, unknown } = object.spec.replacement.tolerance;
  return parseDuration(row.state === 'offline' ? offline : unknown) ?? 0;
}

function lost(facts: HeldFacts, recorded: RecordedMachine<StateIn<'failing'>>): Step | undefined {
  if (!isPastTolerance(facts, recorded)) return undefined;
  return endMachine(facts, {
    ...recorded,
    reason: recorded.state.reason,
    kind: 'lost',
    finding: machineFinding(facts, recorded.state),
  });
}

function tolerate(facts: HeldFacts, recorded: RecordedMachine<StateIn<'failing'>>): Decision {
  const since = statusSeenSince(facts, recorded.state.row);
  const left = patienceOf(facts, recorded.state) - toleratedAt(facts, since, facts.clock.steadyNow);
  const until = facts.clock.steadyNow + left;
  const requeue = recorded.state.reason === 'Exited' ? { onList: true } : untilTimeIsUp(facts, until);
  if (isFlapping(facts))
    return decision({ fields: carriedFields(facts), requeue: { ...requeue, onList: true } });
  return { ...stayLost(facts, recorded), requeue };
}

function stayLost(facts: HeldFacts, recorded: RecordedMachine<StateIn<'failing'>>): Decision {
  const { breaker } = facts.account.facts ?? {};
  // The breaker, not its own tolerance, prevents the replacement.
  const isBlocked = breaker?.type === 'open' && !isToStop(facts);
  return decision({
    fields: withRow(facts, recorded.state.row),
    finding: {
      phase: 'Lost',
      ...(isBlocked ? { reason: 'BreakerOpen', detail: breaker.message } : { reason: recorded.state.reason }),
      machine: machineFinding(facts, recorded.state),
    },
  });
}

/** Window after an unhealthy period in which the next one must last for two lists before it is recorded. */
const FLAP_WINDOW_MS = 300_000;

/**
 * Returns true if a machine fails again shortly after it recovered, and fewer than two lists show that: a single poll
 * is not worth two writes.
 */
function isFlapping({
  memory,
  machine: { listsBegun },
  clock: { steadyNow },
}: Pick<Facts, 'machine' | 'clock' | 'memory'>): boolean {
  if (memory.badEndedAt === undefined || steadyNow - memory.badEndedAt > FLAP_WINDOW_MS) return false;
  const since = memory.seenStatus?.since ?? steadyNow;
  return listsBegun.filter((begun) => begun >= since).length < 2;
}
