import { accountReasons } from './account-reasons.ts';
import { groupReasons } from './group-reasons.ts';
import { lifeReasons, ownershipReasons, troubleReasons } from './machine-reasons.ts';
import type { ReasonEntry } from './reason-entry.ts';
import { rentingReasons } from './renting-reasons.ts';

/** Every reason that a condition or an event of ours can carry. */
export const reasons = {
  ...lifeReasons,
  ...rentingReasons,
  ...troubleReasons,
  ...ownershipReasons,
  ...accountReasons,
  ...groupReasons,
} as const satisfies Record<string, ReasonEntry>;

export type Reason = keyof typeof reasons;

/** Whether a reason stalls its object until a person acts. */
export function isTerminal(reason: Reason): boolean {
  return reasons[reason].kind === 'terminal';
}
