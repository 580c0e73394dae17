import { parseDuration } from '../../../lib/duration.ts';
import { parseDollars } from '../../../lib/money.ts';
import { formatTime, parseTime } from '../../../lib/rfc3339.ts';
import { decision, firstOf, type Rule } from '../decision.ts';
import { deadlineAfter, withRow } from '../machine-fields.ts';
import { factsOf } from '../recorded.ts';
import type { Decision, Observed, Step } from '../types.ts';
import { endMachine } from './ending.ts';
import { machineFinding } from './machine-finding.ts';
import { type Held, type StateNamed, UNWANTED_RULES } from './running.ts';

const RULES: readonly Rule<Held<StateNamed<'stopped'>>>[] = [
  ...UNWANTED_RULES,
  {
    name: 'stopped-as-wanted',
    because: 'powerState is Stopped.',
    decide: (observed, held) =>
      observed.object.spec.powerState === 'Stopped' ? asWanted(observed, held) : undefined,
  },
  {
    name: 'start-unsupported',
    because: 'The service has no start; only another machine runs again.',
    decide: withoutStart,
  },
  {
    name: 'start-timed-out',
    because: 'A start that does not work in time will not work.',
    decide: startTimedOut,
  },
  { name: 'start', because: 'powerState is Running.', decide: start },
];

export function whileStopped(observed: Observed, held: Held<StateNamed<'stopped'>>): Step {
  return firstOf(RULES, observed, held) ?? decision({});
}

/** A stopped machine is what is wanted: nothing is done, and its disk bills. */
export function asWanted(observed: Observed, held: Held<StateNamed<'stopped' | 'failing'>>): Decision {
  const { startRequestedAt: _over, ...fields } = withRow(observed, held.state.row);
  return decision({
    fields,
    finding: {
      phase: 'Stopped',
      reason: 'Stopped',
      ready: true,
      machine: { ...machineFinding(observed, held.state) },
    },
  });
}

function withoutStart(observed: Observed, held: Held<StateNamed<'stopped'>>): Step | undefined {
  if (factsOf(observed)?.startUnsupported !== true) return undefined;
  const finding = machineFinding(observed, held.state);
  if (observed.object.spec.replacement.policy === 'Never') {
    return decision({
      fields: withRow(observed, held.state.row),
      finding: { phase: 'Failed', reason: 'StartUnsupported', machine: finding },
    });
  }
  return endMachine(observed, { ...held, reason: 'StartUnsupported', kind: 'lost', finding });
}

function startTimedOut(observed: Observed, held: Held<StateNamed<'stopped'>>): Step | undefined {
  const askedAt = startAskedAt(observed);
  if (askedAt === undefined) return undefined;
  if (observed.steadyNow < deadlineAfter(observed, askedAt, startTimeoutMs(observed))) return undefined;
  const reason = held.state.row.interruptible === true ? 'Outbid' : 'CannotStart';
  return endMachine(observed, {
    ...held,
    reason,
    kind: 'lost',
    finding: machineFinding(observed, held.state),
  });
}

/** The request is written down before it is sent: the timeout counts from there, also after a restart. */
function start(observed: Observed, held: Held<StateNamed<'stopped'>>): Decision {
  const fields = withRow(observed, held.state.row);
  const askedAt = startAskedAt(observed);
  const wait = observed.memory.notBefore - observed.steadyNow;
  const refusal = observed.memory.refusal;
  if (wait > 0 && refusal && askedAt === undefined) {
    return decision({
      fields,
      finding: {
        phase: 'Stopped',
        reason: refusal.reason,
        detail: refusal.detail,
        machine: machineFinding(observed, held.state),
      },
      look: { afterMs: wait },
    });
  }
  const timeout = startTimeoutMs(observed);
  return decision({
    fields: { ...fields, startRequestedAt: fields.startRequestedAt ?? formatTime(observed.now) },
    finding: { phase: 'Starting', reason: 'Starting', machine: machineFinding(observed, held.state) },
    actions:
      wait > 0 || askedAt !== undefined
        ? []
        : [
            {
              type: 'start',
              instanceId: held.machine.instanceId,
              pricePerHour:
                held.state.row.pricePerHour ?? parseDollars(observed.object.status?.offerPricePerHour ?? ''),
            },
          ],
    record: { type: 'status' },
    look: {
      afterMs: askedAt === undefined ? timeout : Math.max(1000, askedAt + timeout - observed.steadyNow),
    },
  });
}

/** Since when a start is under way, by the record; undefined where none is. */
function startAskedAt({ object, memory }: Observed): number | undefined {
  const written = parseTime(object.status?.startRequestedAt);
  return written === undefined ? undefined : (memory.startRequestedAt ?? written);
}

function startTimeoutMs({ object }: Observed): number {
  return parseDuration(object.spec.timeouts.start) ?? 0;
}
