import { isOpenAt, timeOutsideSpans } from '../../../accounts/breaker.ts';
import { parseDuration } from '../../../lib/time.ts';
import { decision, type Rule } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { untilTimeIsUp } from '../limits.ts';
import { carriedFields, statusSeenSince, withRow } from '../status.ts';
import type { Decision, Step } from '../types.ts';
import { endMachine } from './ending.ts';
import { machineFinding, type RecordedMachine, type StateIn } from './machine-finding.ts';
import { byRules } from './replacing.ts';
import { asDesired } from './stopped.ts';

const RULES: readonly Rule<RecordedMachine<StateIn<'failing'>>>[] = [
  {
    name: 'ended-while-stopped-wanted',
    because: 'A container that ended runs as little as a stopped one.',
    decide: (facts, recorded) =>
      facts.object.spec.powerState === 'Stopped' && recorded.state.reason === 'Exited'
        ? asDesired(facts, recorded)
        : undefined,
  },
  {
    name: 'unseen-while-stopped-wanted',
    because: 'A machine that should be stopped is not replaced by one that runs.',
    decide: (facts, recorded) =>
      facts.object.spec.powerState === 'Stopped' ? stayLost(facts, recorded) : undefined,
  },
  { name: 'lost', because: 'The tolerance is over.', decide: lost },
  { name: 'tolerate', because: 'A single look, or a short silence, proves nothing.', decide: tolerate },
];

export function whileFailing(facts: Facts, recorded: RecordedMachine<StateIn<'failing'>>): Step {
  return byRules(RULES, facts, recorded);
}

/**
 * Whether what was tolerated is over: looks for `exited`, time for a silent or disconnected host, by a list that was
 * begun after it. Neither goes on while the breaker is open.
 */
export function isPastTolerance(facts: Facts, { state }: RecordedMachine<StateIn<'failing'>>): boolean {
  const { tolerance } = facts.object.spec.replacement;
  const since = statusSeenSince(facts, state.row);
  if (state.reason === 'Exited') {
    const spans = facts.accountFacts?.openSpans ?? [];
    const shows = (begun: number) =>
      Math.floor(begun / 1000) >= Math.floor(since / 1000) && !isOpenAt(spans, begun);
    return facts.listsBegun.filter(shows).length >= tolerance.exitedSeen;
  }
  const patience = patienceOf(facts, state);
  return patience === 0 || toleratedAt(facts, since, facts.list?.begunSteady) >= patience;
}

/** For how long something was tolerated by then, in milliseconds; none if nobody knows when that was. */
function toleratedAt(facts: Facts, since: number, at = Number.NEGATIVE_INFINITY): number {
  if (at <= since) return 0;
  return timeOutsideSpans(facts.accountFacts?.openSpans ?? [], { from: since, until: at });
}

/** In milliseconds. */
function patienceOf({ object }: Facts, { reason }: StateIn<'failing'>): number {
  const { offline, unknown } = object.spec.replacement.tolerance;
  return parseDuration(reason === 'HostOffline' ? offline : unknown) ?? 0;
}

function lost(facts: Facts, recorded: RecordedMachine<StateIn<'failing'>>): Step | undefined {
  if (!isPastTolerance(facts, recorded)) return undefined;
  const step = endMachine(facts, {
    ...recorded,
    reason: recorded.state.reason,
    kind: 'lost',
    finding: machineFinding(facts, recorded.state),
  });
  return recorded.state.reason !== 'Exited' && isDestroy(step) ? confirmed(facts, recorded, step) : step;
}

const isDestroy = (step: Step) =>
  step.type === 'decision' && step.actions.some(({ type }) => type === 'destroy');

/** Right before a machine is destroyed that nobody sees, it is asked for by itself. */
function confirmed(
  { confirmed: seen }: Facts,
  { machine: { instanceId } }: RecordedMachine<StateIn<'failing'>>,
  destroy: Step,
): Step | undefined {
  if (seen?.instanceId !== instanceId)
    return { type: 'read', requests: [{ type: 'confirmLost', instanceId }] };
  return seen.state === 'lost' || seen.state === 'absent' ? destroy : undefined;
}

function tolerate(facts: Facts, recorded: RecordedMachine<StateIn<'failing'>>): Decision {
  const since = statusSeenSince(facts, recorded.state.row);
  const left = patienceOf(facts, recorded.state) - toleratedAt(facts, since, facts.steadyNow);
  const until = facts.steadyNow + left;
  const requeue = recorded.state.reason === 'Exited' ? { onList: true } : untilTimeIsUp(facts, until);
  if (isFlapping(facts))
    return decision({ fields: carriedFields(facts), requeue: { ...requeue, onList: true } });
  return { ...stayLost(facts, recorded), requeue };
}

function stayLost(facts: Facts, recorded: RecordedMachine<StateIn<'failing'>>): Decision {
  const { breaker } = facts.accountFacts ?? {};
  // Why it is not replaced, if that is not its own tolerance.
  const isBlocked = breaker?.type === 'open' && facts.object.spec.powerState !== 'Stopped';
  return decision({
    fields: withRow(facts, recorded.state.row),
    finding: {
      phase: 'Lost',
      ...(isBlocked ? { reason: 'BreakerOpen', detail: breaker.message } : { reason: recorded.state.reason }),
      machine: machineFinding(facts, recorded.state),
    },
  });
}

/** How long after a bad spell the next one must last for two lists before it is written down. */
const FLAP_WINDOW_MS = 300_000;

/** A machine that was bad a moment ago and came back: a single further look is not worth two writes. */
function isFlapping({ memory, listsBegun, steadyNow }: Facts): boolean {
  if (memory.badEndedAt === undefined || steadyNow - memory.badEndedAt > FLAP_WINDOW_MS) return false;
  const since = memory.seenStatus?.since ?? steadyNow;
  return listsBegun.filter((begun) => begun >= since).length < 2;
}
