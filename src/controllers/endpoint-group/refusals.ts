import { actionKey } from './actions.ts';
import type { Action, Refusal } from './types.ts';

/** What was refused and is still to be done. */
export function standing(refused: readonly Refusal[], decided: readonly Action[]): readonly Refusal[] {
  const keys = new Set(decided.map(actionKey));
  return refused.filter(({ action }) => keys.has(action));
}

/** Whether this very deed was refused the last time. */
export function isRefusedIn(refused: readonly Refusal[], action: Action): boolean {
  return refused.some((refusal) => refusal.action === actionKey(action));
}
