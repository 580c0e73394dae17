import type { Machine } from '../../../accounts/beliefs/machine.ts';
import { annotations } from '../../../api/v1alpha1/names.ts';
import type { Reason } from '../../../api/v1alpha1/reasons.ts';
import { isUp, type ShownState } from '../../../instance/machine-state.ts';
import { asHandled } from '../../../instance/replace-request.ts';
import { formatTime } from '../../../lib/time.ts';
import { unmappedPorts } from '../../../reach/machine-ports.ts';
import { conditionState, type MachineFinding, type Origin } from '../conditions.ts';
import type { Facts, HeldFacts } from '../facts.ts';
import { replaceIsHandled } from '../limits.ts';
import { withRow } from '../machine-fields.ts';
import type { MachineState } from '../stage.ts';
import type { ConditionState, OwnedMachine, StatusFields } from '../types.ts';

/** Returns the origin of the object's machine: rented or adopted. */
export function originOf(facts: Pick<Facts, 'object'>): Origin {
  return facts.object.spec.adopt === undefined || (facts.object.status?.attempt ?? 0) > 1
    ? 'Rented'
    : 'Adopted';
}

/** Returns the finding for the conditions from the state of a machine. */
export function machineFinding(
  facts: Pick<Facts, 'object' | 'machine'>,
  state: MachineState,
): MachineFinding {
  const origin = originOf(facts);
  switch (state.type) {
    case 'absent':
      return { type: 'silent', origin, reason: 'NotRunning' };
    case 'booting':
      return { type: 'booting', origin, reason: bootReason(state.row) };
    case 'running':
      return { type: 'running', origin, reachable: reachable(facts) };
    case 'stopped':
      return { type: 'stopped', origin, reason: 'Stopped', ...unrequested(facts) };
    case 'failing':
      return { type: 'failing', origin, reason: state.reason };
    case 'unrecognized':
      return { type: 'silent', origin, reason: 'NotRunning', detail: UNRECOGNIZED };
  }
}

/** Detail of a machine in a state that the market has and this version does not. */
export const UNRECOGNIZED =
  'The marketplace reports a state that this operator does not know; the machine is kept as it is. See status.machine.state.';

/** Returns the detail of a stopped machine that should run: the stop was not requested. */
const unrequested = ({ object }: Pick<Facts, 'object'>): { readonly detail?: string } =>
  object.spec.powerState === 'Running' ? { detail: 'The machine is stopped.' } : {};

/** Returns the step of the boot for a state. */
export function bootReason({ state }: Pick<ShownState, 'state'>): Reason {
  return state === 'pending' ? 'Provisioning' : 'Loading';
}

/** Returns the state of `Reachable`, from the probe, or from the running state without a probe. */
export function reachable(facts: Pick<Facts, 'object' | 'machine'>): ConditionState {
  const { status, reason, detail } = reachability(facts);
  return conditionState(status, reason, detail);
}

interface Reachability {
  readonly status: ConditionState['status'];
  readonly reason: Reason;
  /** Reason in the words of the failing component, without advice. */
  readonly detail?: string | undefined;
}

/** Returns the reachability before it becomes a condition. */
export function reachability(facts: Pick<Facts, 'object' | 'machine'>): Reachability {
  const {
    object,
    machine: { probe },
  } = facts;
  const unmapped = missingPorts(facts);
  if (unmapped.length > 0) {
    const detail = `The machine runs, and maps no public port to ${unmapped.join(', ')}. To rent another, set the annotation ${annotations.replaceAt}.`;
    return { status: 'False', reason: 'NotReachable', detail };
  }
  if (object.spec.readinessProbe === undefined)
    return { status: 'True', reason: 'Ready', detail: 'The container runs.' };
  if (probe === undefined)
    return { status: 'False', reason: 'NotReachable', detail: 'The readiness probe has not answered yet.' };
  return probe.ready
    ? { status: 'True', reason: 'Ready', detail: 'The readiness probe succeeds.' }
    : { status: 'False', reason: 'NotReachable', detail: probe.detail };
}

/**
 * Returns the declared ports that a running machine lacks. A service that reports no address reports no ports either.
 */
function missingPorts({ object, machine: { list } }: Pick<Facts, 'object' | 'machine'>): readonly string[] {
  const row = list?.recorded;
  return row?.publicAddress === undefined ? [] : unmappedPorts(row, object.spec);
}

/** Returns the fields of the row; for a running machine also the time at which it was first seen running. */
export function seenFields(facts: HeldFacts, row: Machine): StatusFields {
  if (row.state !== 'running') return withRow(facts, row);
  // The start succeeded, so its request is removed.
  const { startRequestedAt: _worked, progressAt: _loaded, ...fields } = withRow(facts, row);
  const seenAt = formatTime(facts.machine.list?.begunAt ?? facts.clock.now);
  const annotation = facts.object.metadata.annotations?.[annotations.replaceAt];
  return {
    ...fields,
    runningAt: fields.runningAt ?? seenAt,
    ...(fields.runningAt !== undefined && !isUp(facts.object.status) && { lastRunAt: seenAt }),
    ...readyField(facts, fields),
    ...(annotation !== undefined && replaceIsHandled(facts, annotation)
      ? { replacedAt: asHandled(annotation) }
      : {}),
  };
}

/** Returns the time of the first successful probe. A probe that never succeeded on any machine is itself suspect. */
function readyField(
  facts: Pick<Facts, 'object' | 'machine' | 'clock'>,
  { readyAt }: StatusFields,
): Pick<StatusFields, 'readyAt'> {
  if (readyAt !== undefined || facts.object.spec.readinessProbe === undefined) return {};
  return reachability(facts).status === 'True' ? { readyAt: formatTime(facts.clock.now) } : {};
}

/** A recorded machine and its state. */
export interface RecordedMachine<S extends MachineState = MachineState> {
  readonly machine: OwnedMachine;
  readonly state: S;
}

/** A machine's state by its name. */
export type StateIn<T extends MachineState['type']> = Extract<MachineState, { type: T }>;

/** Activities of a machine that a list can show. */
export type Listed = Exclude<MachineState, { type: 'absent' }>;
