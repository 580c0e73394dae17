import { annotations } from '../../../api/v1alpha1/names.ts';
import type { Reason } from '../../../api/v1alpha1/reasons.ts';
import { formatTime } from '../../../lib/time.ts';
import type { Instance } from '../../../marketplace/instances/instance.ts';
import type { Facts, OwnedMachine } from '../facts.ts';
import { asHandled, replaceIsHandled } from '../limits.ts';
import type { MachineState } from '../stage.ts';
import { actualStatusOf, conditionState, type MachineFinding, withRow } from '../status.ts';
import type { ConditionState, StatusFields } from '../types.ts';

/** Whether the object's machine was rented, or taken over. */
export function originOf(facts: Facts): Reason {
  return facts.object.spec.adopt === undefined || (facts.object.status?.attempt ?? 0) > 1
    ? 'Rented'
    : 'Adopted';
}

/** What a machine's state means for the conditions. */
export function machineFinding(facts: Facts, state: MachineState): MachineFinding {
  const origin = originOf(facts);
  switch (state.type) {
    case 'absent':
      return { type: 'silent', origin, reason: 'NotRunning' };
    case 'booting':
      return { type: 'booting', origin, reason: bootReason(actualStatusOf(state.row)) };
    case 'running':
      return { type: 'running', origin, reachable: reachable(facts) };
    case 'stopped':
      return { type: 'stopped', origin, reason: 'Stopped' };
    case 'failing':
      return { type: 'failing', origin, reason: state.reason };
    case 'unrecognized':
      return { type: 'silent', origin, reason: 'StatusUnrecognized' };
  }
}

/** Which step of the boot a word stands for. */
export function bootReason(status: string): Reason {
  return status === 'provisioning' || status === 'created' ? 'Provisioning' : 'Loading';
}

/** Whether the machine answers: by its probe where it has one, by running where it has none. */
export function reachable(facts: Facts): ConditionState {
  const { status, reason, detail } = reachability(facts);
  return conditionState(status, reason, detail);
}

interface Reachability {
  readonly status: ConditionState['status'];
  readonly reason: Reason;
  /** In the words of what does not answer, without what to do. */
  readonly detail?: string | undefined;
}

/** The same before it is put in a condition. */
export function reachability(facts: Facts): Reachability {
  const { object, probe } = facts;
  const unmapped = unmappedPorts(facts);
  if (unmapped.length > 0) {
    const detail = `The machine runs, and maps no public port to ${unmapped.join(', ')}.`;
    return { status: 'False', reason: 'PortsNotMapped', detail };
  }
  if (object.spec.readinessProbe === undefined) return { status: 'True', reason: 'Running' };
  if (probe === undefined)
    return { status: 'False', reason: 'ProbeFailing', detail: 'The readiness probe has not answered yet.' };
  return probe.ready
    ? { status: 'True', reason: 'ProbeSucceeded' }
    : { status: 'False', reason: probe.reason ?? 'ProbeFailing', detail: probe.detail };
}

/** Declared ports that a running machine does not have. A service that tells no address tells no ports either. */
function unmappedPorts({ object, list }: Facts): readonly string[] {
  const row = list?.recorded;
  if (row?.publicAddress === undefined) return [];
  return (object.spec.ports ?? [])
    .map(({ containerPort, protocol }) => `${containerPort}/${protocol === 'UDP' ? 'udp' : 'tcp'}`)
    .filter((port) => row.ports[port] === undefined);
}

/** Everything the row tells; of a machine that runs also the first sight of it running. */
export function seenFields(facts: Facts, row: Instance): StatusFields {
  if (row.actualStatus !== 'running') return withRow(facts, row);
  // A start that worked is forgotten.
  const { startRequestedAt: _worked, progressAt: _loaded, ...fields } = withRow(facts, row);
  const seenAt = formatTime(facts.list?.begunAt ?? facts.now);
  const annotation = facts.object.metadata.annotations?.[annotations.replaceAt];
  return {
    ...fields,
    runningAt: fields.runningAt ?? seenAt,
    ...(annotation !== undefined && replaceIsHandled(facts, annotation)
      ? { replacedAt: asHandled(annotation) }
      : {}),
  };
}

/** A recorded machine and what it is doing. */
export interface RecordedMachine<S extends MachineState = MachineState> {
  readonly machine: OwnedMachine;
  readonly state: S;
}

/** A machine's state by its name. */
export type StateIn<T extends MachineState['type']> = Extract<MachineState, { type: T }>;

/** What a list can show a machine to be doing. */
export type Listed = Exclude<MachineState, { type: 'absent' }>;
