import { isOpenAt, timeOutsideSpans } from '../../../accounts/breaker.ts';
import { parseDuration } from '../../../lib/time.ts';
import type { Finding } from '../conditions.ts';
import { decision, type Rule } from '../decision.ts';
import { carriedFields, withRow, wordSeenSince } from '../machine-fields.ts';
import { factsOf } from '../recorded.ts';
import type { Decision, Observed, Step } from '../types.ts';
import { endMachine } from './ending.ts';
import type { Held, StateNamed } from './held-machine.ts';
import { machineFinding } from './machine-finding.ts';
import { asWanted } from './stopped.ts';
import { untilTimeIsUp } from './time-is-up.ts';
import { byRules } from './unwanted.ts';

const RULES: readonly Rule<Held<StateNamed<'failing'>>>[] = [
  {
    name: 'ended-while-stopped-wanted',
    because: 'A container that ended runs as little as a stopped one.',
    decide: (observed, held) =>
      observed.object.spec.powerState === 'Stopped' && held.state.reason === 'Exited'
        ? asWanted(observed, held)
        : undefined,
  },
  {
    name: 'unseen-while-stopped-wanted',
    because: 'A machine that should be stopped is not replaced by one that runs.',
    decide: (observed, held) =>
      observed.object.spec.powerState === 'Stopped' ? say(observed, held) : undefined,
  },
  { name: 'lost', because: 'The tolerance is over.', decide: lost },
  { name: 'tolerate', because: 'A single look, or a short silence, proves nothing.', decide: tolerate },
];

export function whileFailing(observed: Observed, held: Held<StateNamed<'failing'>>): Step {
  return byRules(RULES, observed, held);
}

/**
 * Whether what was tolerated is over: looks for `exited`, time for a silent or disconnected host, by a list that was
 * begun after it. Neither goes on while the breaker is open.
 */
export function isPastTolerance(observed: Observed, { state }: Held<StateNamed<'failing'>>): boolean {
  const { tolerance } = observed.object.spec.replacement;
  const since = wordSeenSince(observed, state.row);
  if (state.reason === 'Exited') {
    const spans = factsOf(observed)?.heldSpans ?? [];
    const shows = (begun: number) =>
      Math.floor(begun / 1000) >= Math.floor(since / 1000) && !isOpenAt(spans, begun);
    return observed.listsBegun.filter(shows).length >= tolerance.exitedSeen;
  }
  const patience = patienceOf(observed, state);
  return patience === 0 || toleratedAt(observed, since, observed.list?.begunSteady) >= patience;
}

/** For how long something was tolerated by then, in milliseconds; none if nobody knows when that was. */
function toleratedAt(observed: Observed, since: number, at = Number.NEGATIVE_INFINITY): number {
  if (at <= since) return 0;
  return timeOutsideSpans(factsOf(observed)?.heldSpans ?? [], { from: since, until: at });
}

/** In milliseconds. */
function patienceOf({ object }: Observed, { reason }: StateNamed<'failing'>): number {
  const { offline, unknown } = object.spec.replacement.tolerance;
  return parseDuration(reason === 'HostOffline' ? offline : unknown) ?? 0;
}

function lost(observed: Observed, held: Held<StateNamed<'failing'>>): Step | undefined {
  if (!isPastTolerance(observed, held)) return undefined;
  const step = endMachine(observed, {
    ...held,
    reason: held.state.reason,
    kind: 'lost',
    finding: machineFinding(observed, held.state),
  });
  return held.state.reason !== 'Exited' && isDestroy(step) ? confirmed(observed, held, step) : step;
}

const isDestroy = (step: Step) =>
  step.type === 'decision' && step.actions.some(({ type }) => type === 'destroy');

/** Right before a machine is destroyed that nobody sees, it is asked for by itself. */
function confirmed(
  { confirmed: seen }: Observed,
  { machine: { instanceId } }: Held<StateNamed<'failing'>>,
  destroy: Step,
): Step | undefined {
  if (seen?.instanceId !== instanceId)
    return { type: 'read', requests: [{ type: 'confirmLost', instanceId }] };
  return seen.says === 'lost' || seen.says === 'absent' ? destroy : undefined;
}

function tolerate(observed: Observed, held: Held<StateNamed<'failing'>>): Decision {
  const since = wordSeenSince(observed, held.state.row);
  const left = patienceOf(observed, held.state) - toleratedAt(observed, since, observed.steadyNow);
  const until = observed.steadyNow + left;
  const look = held.state.reason === 'Exited' ? { onList: true } : untilTimeIsUp(observed, until);
  if (isFlapping(observed))
    return decision({ fields: carriedFields(observed), look: { ...look, onList: true } });
  return { ...say(observed, held), look };
}

/** Why it is not replaced, if that is not its own tolerance. */
function whyTolerated(
  observed: Observed,
  { state }: Held<StateNamed<'failing'>>,
): Pick<Finding, 'reason' | 'detail'> {
  const breaker = factsOf(observed)?.breaker;
  const holds = breaker?.type === 'open' && observed.object.spec.powerState !== 'Stopped';
  return holds ? { reason: 'BreakerOpen', detail: breaker.message } : { reason: state.reason };
}

function say(observed: Observed, held: Held<StateNamed<'failing'>>): Decision {
  return decision({
    fields: withRow(observed, held.state.row),
    finding: {
      phase: 'Lost',
      ...whyTolerated(observed, held),
      machine: machineFinding(observed, held.state),
    },
  });
}

/** How long after a bad spell the next one must last for two lists before it is written down. */
const FLAP_WINDOW_MS = 300_000;

/** A machine that was bad a moment ago and came back: a single further look is not worth two writes. */
function isFlapping({ memory, listsBegun, steadyNow }: Observed): boolean {
  if (memory.badEndedAt === undefined || steadyNow - memory.badEndedAt > FLAP_WINDOW_MS) return false;
  const since = memory.seenWord?.since ?? steadyNow;
  return listsBegun.filter((begun) => begun >= since).length < 2;
}
