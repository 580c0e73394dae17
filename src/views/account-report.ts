import { marketplaceAccountConditions } from '../api/v1alpha1/conditions.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import { outageText } from '../api/v1alpha1/outage.ts';
import type { MicroDollars } from '../lib/money.ts';
import { agreeing, counted } from '../lib/plural.ts';
import { dollarText, inDollars } from './amounts.ts';
import type { ShownEvent } from './events.ts';
import { nextSteps } from './next-steps.ts';
import { type StatusReport, since } from './report.ts';

/** Facts about an account in addition to its own record. */
export interface AccountSeen {
  readonly events: readonly ShownEvent[];
  /** Spending by the operator's sums, in micro-dollars; undefined if the caller may not list its objects. */
  readonly spentThisMonth: MicroDollars | undefined;
}

/** Returns the report on a MarketplaceAccount from its own record and its objects, at `now` (epoch milliseconds). */
export function accountReport(
  account: MarketplaceAccount,
  { events, spentThisMonth }: AccountSeen,
  now: number,
): StatusReport {
  const { metadata, status } = account;
  const conditions = status?.conditions ?? [];
  return {
    object: `gpuacct/${metadata.name}`,
    namespace: metadata.namespace ?? '',
    facts: facts(account, spentThisMonth, now),
    next: nextSteps(conditions, marketplaceAccountConditions),
    tables: [
      {
        title: 'Retained machines (they bill)',
        headers: ['Instance', 'Owner', 'Policy', 'Since', '$/h'],
        rows: (status?.retained ?? []).map(({ instanceId, owner, policy, since: from, pricePerHour }) => [
          instanceId,
          owner,
          policy,
          since(from, now),
          pricePerHour ?? '',
        ]),
      },
    ],
    conditions,
    events,
  };
}

type Status = NonNullable<MarketplaceAccount['status']>;
type Facts = readonly (readonly [string, string | undefined])[];

function facts(
  { metadata, spec, status }: MarketplaceAccount,
  spentThisMonth: MicroDollars | undefined,
  now: number,
): StatusReport['facts'] {
  const limits = Object.entries(spec.limits).map(([name, value]) => `${name} ${value}`);
  const { login } = status ?? {};
  const all: Facts = [
    ['Login', login ? `user ${login.userId} at ${login.url}` : 'not proven yet'],
    ['Limits', limits.join(', ') || 'none'],
    ...(status ? seenFacts(status, now) : []),
    ['Spent', spentText(spentThisMonth, spec.limits.maxSpendPerMonth)],
    ['Age', since(metadata.creationTimestamp, now)],
  ];
  return all.flatMap(([label, text]) => (text === undefined || text === '' ? [] : [[label, text] as const]));
}

function seenFacts(status: Status, now: number): Facts {
  const { credit, runway, pricePerHour, machines, breaker, outage, avoid = [] } = status;
  const lasts = runway ? `, lasts ${runway}` : '';
  return [
    ['Outage', outage && outageText(outage, now)],
    ['Second factor', status.twoFactor],
    ['Credit', credit && `$${credit}${lasts}`],
    ['Cost', pricePerHour && `$${pricePerHour}/h`],
    ['Machines', machines && machinesText(machines)],
    [
      'Breaker',
      breaker?.open
        ? `open since ${since(breaker.since, now)}: replacing and sweeping are stopped`
        : undefined,
    ],
    [
      'Avoided',
      avoid.length > 0
        ? `${counted(avoid.length, 'machine or host', 'machines and hosts')} (gpu-rent avoid list)`
        : undefined,
    ],
  ];
}

function spentText(spent: MicroDollars | undefined, most: string | undefined): string {
  if (spent === undefined) return 'unknown: you may not list all its objects';
  return `this month ${dollarText(inDollars(spent))}${most === undefined ? '' : ` of $${most}`} (UTC)`;
}

function machinesText(machines: NonNullable<Status['machines']>): string {
  const { rented, objects, billing, orphaned, retained, foreign } = machines;
  return `${rented} rented for ${counted(objects, 'object')}, ${billing} of this installation ${agreeing(billing, 'bills', 'bill')}, ${orphaned} orphaned, ${retained} retained, ${foreign} of others`;
}
