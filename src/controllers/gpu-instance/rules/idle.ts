import { type Reason, reasons } from '../../../api/v1alpha1/reasons.ts';
import { say } from '../conditions.ts';
import { decision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { carriedFields } from '../machine-fields.ts';
import type { Stage } from '../stage.ts';
import type { Decision, EventNote, Look, Says } from '../types.ts';

type Unrented = Extract<Stage, { type: 'unrented' }>;

/** Why nothing is rented, and when to look again. */
export interface Because {
  readonly reason: Reason;
  readonly detail?: string | undefined;
  readonly look?: Look;
}

/** Says why nothing is rented. The purchase that came to nothing is closed in the same write. */
export function idle(facts: Facts, stage: Unrented, because: Because): Decision {
  const { reason, detail, look = {} } = because;
  const fields = carriedFields(facts);
  return decision({
    fields: stage.attempt > 0 ? { ...fields, attempt: stage.attempt } : fields,
    finding: { phase: PHASES[reason] ?? 'Pending', reason, detail, machine: { type: 'none' } },
    events: news(facts, say('False', reason, detail)),
    look,
  });
}

/** What goes by itself, as a rule within moments, or is told by an event of the account. */
const PASSING: ReadonlySet<Reason> = new Set<Reason>([
  'AccountNotReady',
  'BreakerOpen',
  'OldMachineNotGone',
  'ServiceTimeUncertain',
  'Throttled',
  'Unreachable',
]);

/** One event when the object comes to wait for something else: whoever looks at it sees what, and what to do. */
export function news({ object }: Facts, { reason, message }: Says): readonly EventNote[] {
  const before = object.status?.conditions?.find(({ type }) => type === 'Ready');
  if (before?.reason === reason || PASSING.has(reason) || reasons[reason].kind === 'progress') return [];
  return [{ type: 'Warning', reason, action: 'Renting', note: message }];
}

const PHASES: Partial<Readonly<Record<Reason, 'Paused' | 'Failed' | 'Lost'>>> = {
  Paused: 'Paused',
  LimitReached: 'Failed',
  VanishedHeld: 'Lost',
  ReplacementOff: 'Lost',
};
