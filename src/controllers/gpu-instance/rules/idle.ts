import type { Reason } from '../../../api/v1alpha1/reasons.ts';
import { decision } from '../decision.ts';
import { carriedFields } from '../machine-fields.ts';
import type { Stage } from '../stage.ts';
import type { Decision, Look, Observed } from '../types.ts';

type Unrented = Extract<Stage, { type: 'unrented' }>;

/** Why nothing is rented, and when to look again. */
export interface Because {
  readonly reason: Reason;
  readonly detail?: string | undefined;
  readonly look?: Look;
}

/** Says why nothing is rented. The purchase that came to nothing is closed in the same write. */
export function idle(observed: Observed, stage: Unrented, because: Because): Decision {
  const { reason, detail, look = {} } = because;
  const fields = carriedFields(observed);
  return decision({
    fields: stage.attempt > 0 ? { ...fields, attempt: stage.attempt } : fields,
    finding: { phase: PHASES[reason] ?? 'Pending', reason, detail, machine: { type: 'none' } },
    look,
  });
}

const PHASES: Partial<Readonly<Record<Reason, 'Paused' | 'Failed' | 'Lost'>>> = {
  Paused: 'Paused',
  LimitReached: 'Failed',
  VanishedHeld: 'Lost',
  ReplacementOff: 'Lost',
};
