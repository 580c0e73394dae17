import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { facetsOf } from '../../api/v1alpha1/reasons.ts';
import type { SpendBudget } from '../../api/v1alpha1/spend-budget.ts';
import { totalCost } from '../../instance/cost.ts';
import { formatDollars, type MicroDollars, parseDollars } from '../../lib/money.ts';
import { counted } from '../../lib/plural.ts';
import type { CostNow } from './contract.ts';

/** Limits of the server. */
export interface ServerLimits {
  readonly maxTotal: MicroDollars;
  readonly maxMachines: number;
}

/** Objects of the agent in the cluster, and the budgets of the namespace, from one reading. */
export interface AgentState {
  readonly objects: readonly GpuInstance[];
  /** Undefined if the caller may not list them. */
  readonly budgets: readonly SpendBudget[] | undefined;
}

/**
 * Returns true while the server counts its limits for the object, which rents nothing meanwhile. A person who ends the
 * pause has admitted it.
 */
export const isPending = ({ metadata, spec }: GpuInstance): boolean =>
  spec.paused && metadata.annotations?.[annotations.agentPending] !== undefined;

/**
 * Returns true if the object has no machine and never rents one again: the operator has seen the present spec and its
 * limits.
 */
export function hasEnded({ metadata, status }: GpuInstance): boolean {
  if (!status || status.instanceId !== undefined || status.observedGeneration !== metadata.generation)
    return false;
  if (status.run?.finishedAt !== undefined) return true;
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  return facetsOf(ready?.reason).endsForGood === true;
}

/**
 * Returns the amount that an object uses of --max-total: what it has cost, and until it has ended at least the ceiling
 * of its creation, also while it is being stopped. Infinite without a ceiling: the server creates no such object.
 */
function promised(object: GpuInstance, now: number): MicroDollars {
  const spent = totalCost(object.status?.cost, now);
  if (hasEnded(object)) return spent;
  const created = parseDollars(object.metadata.annotations?.[annotations.agentMaxCost]);
  const present = parseDollars(object.spec.maxTotalCost);
  if (present === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(spent, created ?? 0, present);
}

const sumOf = (amounts: readonly MicroDollars[]): MicroDollars =>
  amounts.reduce((sum, amount) => sum + amount, 0);

/** Returns the cost of all machines of the agent until `now` (epoch milliseconds). */
const spentBy = (objects: readonly GpuInstance[], now: number): MicroDollars =>
  sumOf(objects.map(({ status }) => totalCost(status?.cost, now)));

/** A limit and the amount that it still allows to be promised. */
interface Left {
  readonly limit: string;
  readonly reason: 'AtServerLimit' | 'BudgetReached';
  readonly left: MicroDollars;
  readonly text: string;
}

/** Returns every limit in dollars, with the amount that is left for new objects. */
function leftOf(
  { objects, budgets = [] }: AgentState,
  { maxTotal }: ServerLimits,
  now: number,
): readonly Left[] {
  const spent = spentBy(objects, now);
  const used = sumOf(objects.map((object) => promised(object, now)));
  const open = used - spent;
  const own: Left = {
    limit: '--max-total',
    reason: 'AtServerLimit',
    left: maxTotal - used,
    text: `$${shown(maxTotal - used)} of $${formatDollars(maxTotal)} (--max-total)`,
  };
  const ofBudgets = budgets.flatMap(({ metadata: { name }, spec, status }): Left[] => {
    const perMonth = parseDollars(spec.perMonth);
    if (perMonth === undefined || spec.action !== 'Block') return [];
    // The status is a little older than the objects, and rounded.
    const gone = Math.max(parseDollars(status?.spentThisMonth) ?? 0, spent);
    const left = perMonth - gone - open;
    const text = `$${shown(left)} of $${spec.perMonth} this month (SpendBudget ${name})`;
    return [{ limit: `SpendBudget ${name}`, reason: 'BudgetReached', left, text }];
  });
  return [own, ...ofBudgets];
}

const shown = (amount: MicroDollars): string =>
  Number.isFinite(amount) ? formatDollars(Math.max(0, amount)) : '0.00';

/** Reason why the limits have no room for an object. */
export interface NoRoom {
  readonly reason: 'AtServerLimit' | 'BudgetReached';
  readonly message: string;
  /** True if the end of a machine makes room. */
  readonly passes: boolean;
}

/**
 * Returns why an object of this ceiling has no room beside `state`, which must not contain it; undefined if it has.
 * Two callers that list after they created their object cannot both be given the last room: the one whose object was
 * created last sees the other's.
 */
export function roomFor(
  ceiling: MicroDollars,
  state: AgentState,
  limits: ServerLimits,
  now: number,
): NoRoom | undefined {
  const machines = state.objects.filter((object) => !hasEnded(object)).length;
  if (machines >= limits.maxMachines)
    return {
      reason: 'AtServerLimit',
      message: `${counted(machines, 'machine')} of this agent ${machines === 1 ? 'runs' : 'run'} or may be rented; --max-machines is ${limits.maxMachines}. Stop one first.`,
      passes: true,
    };
  const short = leftOf(state, limits, now).find(({ left }) => left < ceiling);
  if (!short) return undefined;
  return {
    reason: short.reason,
    message: `Left to promise: ${short.text}. maxCost is $${formatDollars(ceiling)}. Give a lower maxCost, stop a machine, or ask a person to raise the limit.`,
    passes: false,
  };
}

/** Returns the state without an object. */
export function beside(own: GpuInstance, state: AgentState): AgentState {
  return { ...state, objects: state.objects.filter(({ metadata }) => metadata.uid !== own.metadata.uid) };
}

/**
 * Returns the state without pending objects that were created after `own`. These withdraw if they find no room, and the
 * earliest one waits for that.
 */
export function beforeLater(own: GpuInstance, state: AgentState): AgentState {
  return { ...state, objects: state.objects.filter((other) => !isPending(other) || isEarlier(other, own)) };
}

function isEarlier({ metadata: left }: GpuInstance, { metadata: right }: GpuInstance): boolean {
  const order = (left.creationTimestamp ?? '').localeCompare(right.creationTimestamp ?? '');
  return order < 0 || (order === 0 && (left.uid ?? '') < (right.uid ?? ''));
}

/** Returns the money of the agent at `now` (epoch milliseconds). */
export function costNow(state: AgentState, limits: ServerLimits, now: number): CostNow {
  const prices = state.objects.map(({ status }) =>
    status?.instanceId === undefined ? 0 : (parseDollars(status.cost?.pricePerHour) ?? 0),
  );
  const left = Math.min(...leftOf(state, limits, now).map((each) => each.left));
  return {
    perHour: formatDollars(sumOf(prices)),
    total: formatDollars(spentBy(state.objects, now)),
    budgetLeft: shown(left),
  };
}
