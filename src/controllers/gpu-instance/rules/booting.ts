import { LOADING_HARD_CAP } from '../../../api/v1alpha1/gpu-instance-spec.ts';
import { formatTime, parseDuration, parseTime } from '../../../lib/time.ts';
import type { Instance } from '../../../marketplace/instances/instance.ts';
import { decision, type Rule } from '../decision.ts';
import { nextDeadline } from '../due.ts';
import {
  carriedFields,
  deadlineAfter,
  heldSince,
  withRow,
  wordOf,
  wordSeenSince,
} from '../machine-fields.ts';
import type { Decision, Look, Observed, Step } from '../types.ts';
import { endMachine } from './ending.ts';
import type { Held, StateNamed } from './held-machine.ts';
import { bootReason, machineFinding } from './machine-finding.ts';
import { stop } from './stopping.ts';
import { isTimeUp, untilTimeIsUp } from './time-is-up.ts';
import { byRules } from './unwanted.ts';

const RULES: readonly Rule<Held<StateNamed<'booting'>>>[] = [
  {
    name: 'stop-while-booting',
    because: 'powerState is Stopped, and a booting machine bills like a running one.',
    decide: (observed, held) =>
      observed.object.spec.powerState === 'Stopped' ? stop(observed, held) : undefined,
  },
  { name: 'boot-timed-out', because: 'A machine that never comes up bills for nothing.', decide: timedOut },
  { name: 'boot', because: 'Booting takes its time.', decide: wait },
];

export function whileBooting(observed: Observed, held: Held<StateNamed<'booting'>>): Step {
  return byRules(RULES, observed, held);
}

interface Deadline {
  readonly at: number;
  readonly reason: 'ProvisioningTimedOut' | 'LoadingTimedOut';
}

/** When this step of the boot is over at the latest. Progress moves it, up to the hard cap. */
export function bootDeadline(observed: Observed, row: Instance): Deadline {
  return isProvisioned(observed, row) ? loadingDeadline(observed, row) : provisioningDeadline(observed, row);
}

/** By its word, or by the record: a machine that was loading and is `created` again has no new time to be provisioned. */
function isProvisioned({ object }: Observed, row: Instance): boolean {
  const { actualStatus, runningAt } = object.status ?? {};
  const wasLoading = runningAt === undefined && actualStatus !== undefined;
  return [wordOf(row), ...(wasLoading ? [actualStatus] : [])].some((word) => bootReason(word) === 'Loading');
}

/** One that has run begins anew when it is `created` again, as after a start. */
function provisioningDeadline(observed: Observed, row: Instance): Deadline {
  const { spec, status } = observed.object;
  const since =
    status?.runningAt === undefined ? heldSince(observed, row.startedAt) : wordSeenSince(observed, row);
  const at = deadlineAfter(observed, since, durationMs(spec.timeouts.provisioning));
  return { at, reason: 'ProvisioningTimedOut' };
}

function loadingDeadline(observed: Observed, row: Instance): Deadline {
  const { timeouts } = observed.object.spec;
  const since = loadingSince(observed, row);
  const progressAt = Math.max(
    since,
    observed.memory.progress?.at ?? 0,
    observed.memory.progressOnRecord ?? 0,
  );
  const at = Math.min(
    deadlineAfter(observed, progressAt, durationMs(timeouts.loading)),
    deadlineAfter(observed, since, durationMs(LOADING_HARD_CAP)),
  );
  return { at, reason: 'LoadingTimedOut' };
}

function loadingSince(observed: Observed, row: Instance): number {
  if (bootReason(wordOf(row)) === 'Loading') return wordSeenSince(observed, row);
  return parseTime(observed.object.status?.actualStatusSince) ?? observed.steadyNow;
}

function timedOut(observed: Observed, held: Held<StateNamed<'booting'>>): Step | undefined {
  const deadline = bootDeadline(observed, held.state.row);
  if (!isTimeUp(observed, deadline.at)) return undefined;
  return endMachine(observed, {
    ...held,
    reason: deadline.reason,
    kind: 'lost',
    finding: machineFinding(observed, held.state),
  });
}

/** Waits. Only a step of the boot is worth a write, not each look at it. */
function wait(observed: Observed, held: Held<StateNamed<'booting'>>): Decision {
  const { row } = held.state;
  const reason = bootReason(wordOf(row));
  const fields = fieldsFor(observed, row);
  return decision({
    fields,
    finding: {
      phase: reason === 'Provisioning' ? 'Provisioning' : 'Loading',
      reason,
      machine: machineFinding(observed, held.state),
    },
    look: sooner(untilTimeIsUp(observed, bootDeadline(observed, row).at), nextDeadline(observed)),
  });
}

function sooner(one: Look, other: Look): Look {
  const times = [one.afterMs, other.afterMs].filter((time) => time !== undefined);
  return times.length === 0 ? one : { ...one, afterMs: Math.min(...times) };
}

/** A new machine has nothing to tell before it loads; that one which ran is created again has to outlive a restart. */
function fieldsFor(observed: Observed, row: Instance): ReturnType<typeof withRow> {
  if (bootReason(wordOf(row)) === 'Loading') return loadingFields(observed, row);
  return observed.object.status?.runningAt === undefined ? carriedFields(observed) : withRow(observed, row);
}

/** Progress is made durable when a quarter of the patience has passed since it last was, not at each sight of it. */
function loadingFields(observed: Observed, row: Instance): ReturnType<typeof withRow> {
  const fields = withRow(observed, row);
  const seen = observed.memory.progress?.at;
  if (seen === undefined) return fields;
  const seenAt = observed.now - (observed.steadyNow - seen);
  const written = parseTime(fields.progressAt) ?? parseTime(fields.actualStatusSince) ?? seenAt;
  const patience = durationMs(observed.object.spec.timeouts.loading);
  return seenAt > written + patience / 4 ? { ...fields, progressAt: formatTime(seenAt) } : fields;
}

/** A duration of the spec; the CRD lets no other text through. */
function durationMs(text: string): number {
  return parseDuration(text) ?? 0;
}
