import { parseDuration } from '../../../lib/duration.ts';
import { decision, type Rule } from '../decision.ts';
import { carriedFields, withRow, wordSeenSince } from '../machine-fields.ts';
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
 * Whether what was tolerated is over: looks for `exited`, time for a silent or disconnected host. Where any time is
 * tolerated, a second list has to show it: the first may be minutes old.
 */
export function isPastTolerance(observed: Observed, { state }: Held<StateNamed<'failing'>>): boolean {
  const { tolerance } = observed.object.spec.replacement;
  const since = wordSeenSince(observed, state.row);
  if (state.reason === 'Exited') {
    return (
      observed.listsBegun.filter((begun) => Math.floor(begun / 1000) >= Math.floor(since / 1000)).length >=
      tolerance.exitedSeen
    );
  }
  const patience = patienceOf(observed, state);
  const isSeenAgain = patience === 0 || observed.listsBegun.some((begun) => begun > since);
  return isSeenAgain && observed.steadyNow - since >= patience;
}

/** In milliseconds. */
function patienceOf({ object }: Observed, { reason }: StateNamed<'failing'>): number {
  const { offline, unknown } = object.spec.replacement.tolerance;
  return parseDuration(reason === 'HostOffline' ? offline : unknown) ?? 0;
}

function lost(observed: Observed, held: Held<StateNamed<'failing'>>): Step | undefined {
  if (!isPastTolerance(observed, held)) return undefined;
  return endMachine(observed, {
    ...held,
    reason: held.state.reason,
    kind: 'lost',
    finding: machineFinding(observed, held.state),
  });
}

function tolerate(observed: Observed, held: Held<StateNamed<'failing'>>): Decision {
  const until = wordSeenSince(observed, held.state.row) + patienceOf(observed, held.state);
  const look = held.state.reason === 'Exited' ? { onList: true } : untilTimeIsUp(observed, until);
  if (isFlapping(observed))
    return decision({ fields: carriedFields(observed), look: { ...look, onList: true } });
  return { ...say(observed, held), look };
}

function say(observed: Observed, held: Held<StateNamed<'failing'>>): Decision {
  return decision({
    fields: withRow(observed, held.state.row),
    finding: { phase: 'Lost', reason: held.state.reason, machine: machineFinding(observed, held.state) },
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
