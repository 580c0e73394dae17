import { type GpuInstanceCondition, gpuInstanceConditions } from '../../api/v1alpha1/conditions.ts';
import type { GpuInstance, GpuInstancePhase, GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { type Reason, reasons, withPage } from '../../api/v1alpha1/reasons.ts';
import { formatTime } from '../../lib/time.ts';
import { setConditions } from '../../runtime/conditions.ts';
import type { ConditionState, Decision, Verdict } from './types.ts';

/** Finding of a rule, as short as possible; {@link verdict} turns it into conditions. */
export interface Finding {
  readonly phase: GpuInstancePhase;
  /** Reason of the state of the object. */
  readonly reason: Reason;
  /** Replaces the catalogue's sentence. Never contains a figure that changes by itself. */
  readonly detail?: string | undefined;
  readonly machine: MachineFinding;
  /** True if all desired conditions hold. */
  readonly ready?: boolean;
  /** Set if price, lifetime or total cost exceed their limits and that is not the `reason`. */
  readonly budget?: { readonly reason: Reason; readonly detail: string } | undefined;
  /** Current activity, if it differs from the reason of Ready. */
  readonly atWork?: { readonly reason: Reason; readonly detail?: string | undefined } | undefined;
}

/** Messages of the condition Rented by the origin of the machine; undefined for the sentence of the catalogue. */
const ORIGINS = {
  Rented: undefined,
  Adopted: 'An existing machine was taken over.',
  Observed: 'An existing machine is watched and never touched.',
} as const;

export type Origin = keyof typeof ORIGINS;

const NOT_RENTED = 'No machine is rented.';

/** Knowledge about the machine. */
export type MachineFinding =
  | { readonly type: 'none' }
  | {
      readonly type: 'booting' | 'failing' | 'stopped' | 'silent';
      readonly origin: Origin;
      readonly reason: Reason;
      readonly detail?: string;
    }
  | { readonly type: 'running'; readonly origin: Origin; readonly reachable: ConditionState };

/** Returns the condition with the given detail or the catalogue's sentence, and its remedy. */
export function conditionState(
  status: ConditionState['status'],
  reason: Reason,
  detail?: string,
): ConditionState {
  const entry: { sentence: string; remedy?: string } = reasons[reason];
  const sentence = detail ?? entry.sentence;
  return { status, reason, message: entry.remedy === undefined ? sentence : `${sentence} ${entry.remedy}` };
}

/**
 * Returns the conditions that follow from a finding. Reconciling and Stalled exist only while they are true. The table
 * in `additions.ts` lists what changes them afterwards.
 */
export function verdict(finding: Finding): Verdict {
  const { phase, reason, detail, machine, ready = false } = finding;
  // The reason for which the object is stalled or replaced is also the exceeded limit; a price only while its machine
  // exists.
  const exceeds = reason === 'LimitReached' || (reason === 'PriceRaised' && machine.type !== 'none');
  const exceeded = finding.budget ?? (exceeds ? { reason, detail } : undefined);
  return {
    phase,
    Ready: conditionState(ready ? 'True' : 'False', reason, detail),
    ...machineConditions(finding),
    ...(exceeded && { OverBudget: conditionState('True', exceeded.reason, exceeded.detail) }),
    ...workConditions(finding),
  };
}

/**
 * Returns Reconciling while an action or a wait is in progress, Stalled if only a person can continue; neither
 * without a problem.
 */
function workConditions({
  reason,
  detail,
  ready,
  atWork,
}: Finding): Pick<Verdict, 'Reconciling' | 'Stalled'> {
  if (ready) return {};
  if (atWork) return { Reconciling: conditionState('True', atWork.reason, atWork.detail) };
  const state = conditionState('True', reason, detail);
  return reasons[reason].kind === 'terminal' ? { Stalled: state } : { Reconciling: state };
}

function machineConditions({
  machine,
  reason,
  detail,
}: Finding): Pick<Verdict, 'containerRuns' | 'Rented' | 'Running'> {
  switch (machine.type) {
    case 'none':
      return {
        containerRuns: false,
        Rented: conditionState('False', reason, detail),
        Running: conditionState('False', 'NotRunning', NOT_RENTED),
      };
    case 'running':
      return {
        containerRuns: true,
        Rented: conditionState('True', 'Rented', ORIGINS[machine.origin]),
        Running: machine.reachable,
      };
    case 'silent':
      return {
        containerRuns: false,
        Rented: conditionState('True', 'Rented', ORIGINS[machine.origin]),
        Running: conditionState('Unknown', machine.reason, machine.detail),
      };
    case 'booting':
    case 'failing':
    case 'stopped':
      return {
        containerRuns: false,
        Rented: conditionState('True', 'Rented', ORIGINS[machine.origin]),
        Running: conditionState('False', machine.reason, machine.detail),
      };
  }
}

/** Condition types of earlier versions: the next write of the status removes them. */
const RETIRED_CONDITIONS = ['WithinBudget', 'Booted', 'Reachable'];

/** Returns the status of a decision: its fields, and its verdict as conditions of the object's generation. */
export function statusOf(
  object: GpuInstance,
  desired: NonNullable<Decision['status']>,
  now: number,
): GpuInstanceStatus {
  const { phase, containerRuns: _runs, ...states } = desired.verdict;
  const types = Object.keys(gpuInstanceConditions) as GpuInstanceCondition[];
  const conditions = setConditions({
    previous: object.status?.conditions,
    desired: types.flatMap((type) => {
      const state = states[type];
      return state ? [withPage({ type, ...state })] : [];
    }),
    absent: [...RETIRED_CONDITIONS, ...types.filter((type) => states[type] === undefined)],
    generation: object.metadata.generation,
    now: formatTime(now),
  });
  return {
    ...desired.fields,
    observedGeneration: object.metadata.generation,
    // A pause is otherwise not to be seen on a machine that runs.
    phase: object.spec.paused && phase === 'Running' ? 'Paused' : phase,
    conditions: conditions.map((condition) => ({ ...condition })),
  };
}
