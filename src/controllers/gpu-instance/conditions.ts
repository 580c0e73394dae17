import { type GpuInstanceCondition, gpuInstanceConditions } from '../../api/v1alpha1/conditions.ts';
import type { GpuInstance, GpuInstancePhase, GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { type Reason, reasons, withPage } from '../../api/v1alpha1/reasons.ts';
import { formatTime } from '../../lib/time.ts';
import { setConditions } from '../../runtime/conditions.ts';
import type { Decision, Says, Verdict } from './types.ts';

/** What a rule found, in as few words as it takes; {@link verdict} makes the conditions of it. */
export interface Finding {
  readonly phase: GpuInstancePhase;
  /** Why the object is as it is. */
  readonly reason: Reason;
  /** Instead of the catalogue's sentence. Never a figure that moves by itself. */
  readonly detail?: string | undefined;
  readonly machine: MachineFinding;
  /** Whether everything that is wanted holds. */
  readonly ready?: boolean;
  /** Set where price, lifetime or total cost are not within their limits and that is not the `reason`. */
  readonly budget?: { readonly reason: Reason; readonly detail: string } | undefined;
  /** What is being done, where that is not the same as why Ready is as it is. */
  readonly atWork?: { readonly reason: Reason; readonly detail?: string | undefined } | undefined;
}

/** What is known of the machine. */
export type MachineFinding =
  | { readonly type: 'none' }
  | {
      readonly type: 'booting' | 'failing' | 'stopped' | 'silent';
      readonly held: Reason;
      readonly reason: Reason;
    }
  | { readonly type: 'running'; readonly held: Reason; readonly reachable: Says };

/** One statement: the given detail or the catalogue's sentence, and what a person can do. */
export function say(status: Says['status'], reason: Reason, detail?: string): Says {
  const entry: { sentence: string; remedy?: string } = reasons[reason];
  const sentence = detail ?? entry.sentence;
  return { status, reason, message: entry.remedy === undefined ? sentence : `${sentence} ${entry.remedy}` };
}

/** The conditions that follow from a finding. Reconciling and Stalled stand only while they are true. */
export function verdict(finding: Finding): Verdict {
  const { phase, reason, detail, ready = false } = finding;
  return {
    phase,
    Ready: say(ready ? 'True' : 'False', reason, detail),
    ...machineConditions(finding),
    WithinBudget: budgetCondition(finding),
    ...workConditions(finding),
  };
}

/** What the object is stalled or replaced for is also what it exceeds; a price only while its machine is there. */
function budgetCondition({ reason, detail, budget, machine }: Finding): Says {
  if (budget) return say('False', budget.reason, budget.detail);
  const exceeds = reason === 'LimitReached' || (reason === 'PriceRaised' && machine.type !== 'none');
  return exceeds ? say('False', reason, detail) : say('True', 'WithinLimits');
}

/** Reconciling while something is done or waited for, Stalled where only a person gets on; neither where all is well. */
function workConditions({
  reason,
  detail,
  ready,
  atWork,
}: Finding): Pick<Verdict, 'Reconciling' | 'Stalled'> {
  if (ready) return {};
  if (atWork) return { Reconciling: say('True', atWork.reason, atWork.detail) };
  const says = say('True', reason, detail);
  return reasons[reason].kind === 'terminal' ? { Stalled: says } : { Reconciling: says };
}

function machineConditions({
  machine,
  reason,
  detail,
}: Finding): Pick<Verdict, 'Rented' | 'Booted' | 'Reachable'> {
  switch (machine.type) {
    case 'none':
      return {
        Rented: say('False', reason, detail),
        Booted: say('False', 'NotRented'),
        Reachable: say('False', 'NotRented'),
      };
    case 'running':
      return {
        Rented: say('True', machine.held),
        Booted: say('True', 'Running'),
        Reachable: machine.reachable,
      };
    case 'silent':
      return {
        Rented: say('True', machine.held),
        Booted: say('Unknown', machine.reason),
        Reachable: say('False', 'NotRunning'),
      };
    case 'booting':
    case 'failing':
    case 'stopped':
      return {
        Rented: say('True', machine.held),
        Booted: say('False', machine.reason),
        Reachable: say('False', 'NotRunning'),
      };
  }
}

/** The status that a decision wants: its fields, and its verdict as conditions of the object's generation. */
export function statusOf(
  object: GpuInstance,
  wanted: NonNullable<Decision['status']>,
  now: number,
): GpuInstanceStatus {
  const { phase, ...said } = wanted.verdict;
  const types = Object.keys(gpuInstanceConditions) as GpuInstanceCondition[];
  const conditions = setConditions({
    previous: object.status?.conditions,
    wanted: types.flatMap((type) => {
      const says = said[type];
      return says ? [withPage({ type, ...says })] : [];
    }),
    absent: types.filter((type) => said[type] === undefined),
    generation: object.metadata.generation,
    now: formatTime(now),
  });
  return {
    ...wanted.fields,
    observedGeneration: object.metadata.generation,
    phase,
    conditions: conditions.map((condition) => ({ ...condition })),
  };
}
