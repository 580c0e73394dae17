import { type Reason, reasons } from '../../../api/v1alpha1/reasons.ts';
import type { MachineFinding } from '../conditions.ts';
import type { OwnedMachine } from '../facts.ts';

/** Why and how firmly a machine is to end. */
export interface EndWish {
  readonly machine: OwnedMachine;
  readonly reason: Reason;
  readonly detail?: string | undefined;
  /**
   * `lost`: it is of no use any more. `unwanted`: it works, and another is wanted. `limit`: the object may
   * have none any more. What may hold each of them back differs.
   */
  readonly kind: 'lost' | 'unwanted' | 'limit';
  readonly finding: MachineFinding;
}

/** Why, in a sentence. */
export function whyOf({ reason, detail }: EndWish): string {
  return detail ?? reasons[reason].sentence;
}
