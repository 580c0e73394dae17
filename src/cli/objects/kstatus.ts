import type { Condition } from '../../api/v1alpha1/object.ts';

/** Progress of an object by the rules of Helm, Flux and kapp (kstatus). */
export type Progress =
  | { readonly state: 'Current' }
  | { readonly state: 'InProgress' | 'Failed' | 'Terminating'; readonly message: string };

/** The parts of an object that the rules read. */
export interface Judged {
  readonly metadata: {
    readonly generation?: number | undefined;
    readonly deletionTimestamp?: string | undefined;
  };
  readonly status?:
    | {
        readonly observedGeneration?: number | undefined;
        readonly conditions?: readonly Condition[] | undefined;
      }
    | undefined;
}

/**
 * Applies kstatus in its order: deletion, an unobserved generation, the first of Reconciling and Stalled, then Ready.
 * An object without a status is unobserved.
 */
export function progressOf({ metadata, status }: Judged): Progress {
  if (metadata.deletionTimestamp) return { state: 'Terminating', message: 'It is being deleted.' };
  if (status?.observedGeneration === undefined || status.observedGeneration !== metadata.generation) {
    return { state: 'InProgress', message: 'The operator has not yet seen this generation.' };
  }
  return byConditions(status.conditions ?? []);
}

/** Progress that a condition of this type means when it is True. */
const UNDER_WAY: ReadonlyMap<string, 'InProgress' | 'Failed'> = new Map([
  ['Reconciling', 'InProgress'],
  ['Stalled', 'Failed'],
]);

function byConditions(conditions: readonly Condition[]): Progress {
  for (const { type, status, message } of conditions) {
    const state = UNDER_WAY.get(type);
    if (state && status === 'True') return { state, message };
  }
  const ready = conditions.find(({ type }) => type === 'Ready');
  if (ready === undefined || ready.status === 'True') return { state: 'Current' };
  return { state: 'InProgress', message: ready.message };
}

/**
 * Returns true if a condition holds for the present generation: one of an older spec does not count, as in
 * `kubectl wait`.
 */
export function conditionHolds({ metadata, status }: Judged, type: string, expected: string): boolean {
  const condition = status?.conditions?.find(
    (candidate) => candidate.type.toLowerCase() === type.toLowerCase(),
  );
  const judgedBy = condition?.observedGeneration ?? status?.observedGeneration;
  const isPresent = judgedBy === undefined || judgedBy >= (metadata.generation ?? 0);
  return isPresent && condition?.status.toLowerCase() === expected.toLowerCase();
}
