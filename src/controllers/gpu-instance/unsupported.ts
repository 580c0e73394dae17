import type { GpuInstanceSpec } from '../../api/v1alpha1/gpu-instance.ts';
import { billedNow } from './billing.ts';
import type { Facts } from './facts.ts';
import { budgetStopOf, isToStop, type StopFacts } from './limits.ts';
import type { Capabilities } from './types.ts';

/**
 * Returns the fields of a spec that no machine of this market can satisfy, each with its remedy; undefined without
 * any. A market would ignore them, and the machine would still bill.
 */
export function unsupportedFields(
  { offers = [], deletionPolicy, idle }: Pick<GpuInstanceSpec, 'offers' | 'deletionPolicy' | 'idle'>,
  { name, hasBids, hasStop, hasUtilization }: Capabilities,
): string | undefined {
  const bids = hasBids
    ? []
    : offers.flatMap(({ pricing }, index) => (pricing === 'Interruptible' ? [index] : []));
  const problems = [
    ...bids.map(
      (index) =>
        `spec.offers[${index}].pricing: ${name} has no Interruptible machines. Set OnDemand, or use an account of another market.`,
    ),
    ...(deletionPolicy === 'Stop' && !hasStop
      ? [
          `spec.deletionPolicy: ${name} cannot stop machines. Set Destroy or Retain, or use an account of another market.`,
        ]
      : []),
    ...(idle !== undefined && !hasUtilization
      ? [`spec.idle: ${name} shows no GPU utilization. Leave idle out, or use an account of another market.`]
      : []),
    ...(idle?.action === 'Stop' && !hasStop
      ? [
          `spec.idle.action: ${name} cannot stop machines. Set Report or Destroy, or use an account of another market.`,
        ]
      : []),
  ];
  return problems.length === 0 ? undefined : problems.join(' ');
}

/** Returns true if the market of the account can stop machines. Without a known account a stop may be tried. */
export function canStop({ account }: Pick<Facts, 'account'>): boolean {
  return account.facts?.market.hasStop !== false;
}

/** Field that requests a stop, and the values that a market without stop can follow. */
const WITHOUT_STOP = {
  powerState: 'spec.powerState is Stopped. Set Running, or delete the object to end the machine',
  deletionPolicy: 'spec.deletionPolicy is Stop. Set Destroy or Retain',
  idle: 'spec.idle.action is Stop. Set Report or Destroy',
  budget: 'a budget of its namespace stops it. Raise the budget, or delete the object to end the machine',
} as const;

/** Returns the reason why a rented machine is not stopped, with its price; undefined if the market can stop it. */
export function cannotStop(
  facts: Pick<Facts, 'object' | 'machine' | 'account' | 'memory'>,
  field: keyof typeof WITHOUT_STOP,
): string | undefined {
  if (canStop(facts)) return undefined;
  const price = billedNow(facts);
  const bills = price === undefined ? 'may still bill' : `bills $${price}/h`;
  const { instanceId } = facts.object.status ?? {};
  return `${facts.account.facts?.market.name} cannot stop machines: machine ${instanceId} ${bills}, and ${WITHOUT_STOP[field]}.`;
}

/**
 * Returns the condition of a running machine that must stop but cannot, because its market has no stop; undefined
 * otherwise.
 */
export function notStopped(
  facts: StopFacts,
): { readonly reason: 'InvalidSpec' | 'AtLimit'; readonly detail: string } | undefined {
  if (!isToStop(facts)) return undefined;
  const budget = budgetStopOf(facts);
  const detail = cannotStop(facts, budget === undefined ? 'powerState' : 'budget');
  if (detail === undefined) return undefined;
  return budget === undefined
    ? { reason: 'InvalidSpec', detail }
    : { reason: 'AtLimit', detail: `${budget} ${detail}` };
}
