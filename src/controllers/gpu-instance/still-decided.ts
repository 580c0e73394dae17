import { decide } from './decide.ts';
import type { Action, Observed } from './types.ts';
import type { AbsenceView } from './views.ts';

/**
 * Whether the same action is decided again on `seen`, which is newer than what it was decided on. What was looked up
 * in between, such as single reads, is taken from `before`: it cannot be asked for again in this moment.
 */
export function stillDecides(
  seen: Observed,
  { before, action }: { readonly before: Observed; readonly action: Action },
): boolean {
  const step = decide({ ...seen, ...lookedUp(seen, before) });
  return step.type === 'decision' && step.actions.some((each) => isSameAction(each, action));
}

function lookedUp(seen: Observed, before: Observed): Partial<Observed> {
  const { offers, broadOffers, inputs, loginProven, confirmed, published } = before;
  // What one of several calls has failed by meanwhile keeps none of the others waiting.
  const { destroyFailures, destroyNotBefore, notBefore } = before.memory;
  const memory = { ...seen.memory, destroyFailures, destroyNotBefore, notBefore };
  return {
    ...{ offers, broadOffers, inputs, loginProven, confirmed, published },
    memory,
    absences: absences(seen, before),
  };
}

function absences(seen: Observed, before: Observed): ReadonlyMap<number, AbsenceView> {
  const withRead = ([id, { lists }]: readonly [number, AbsenceView]) =>
    [id, { lists, read: before.absences.get(id)?.read }] as const;
  return new Map([...seen.absences].map(withRead));
}

/** What is done to which machine; a label as well, but not a price that has moved meanwhile. */
function isSameAction(one: Action, other: Action): boolean {
  if (one.type !== other.type) return false;
  const { instanceId, label } = targetOf(one);
  const target = targetOf(other);
  return instanceId === target.instanceId && label === target.label;
}

function targetOf(action: Action): { readonly instanceId?: number; readonly label?: string | undefined } {
  switch (action.type) {
    case 'rent':
    case 'release':
      return {};
    case 'relabel':
    case 'retain':
      return { instanceId: action.instanceId, label: action.label };
    case 'destroy':
    case 'stop':
    case 'start':
      return { instanceId: action.instanceId };
  }
}
