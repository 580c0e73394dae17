import { marketplaceAccountConditions } from '../../api/v1alpha1/conditions.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { ShownEvent } from '../cluster-objects.ts';
import { nextSteps, type StatusReport, since } from './report.ts';

/** Everything that a MarketplaceAccount's own record tells, at `now` (epoch milliseconds). */
export function accountReport(
  account: MarketplaceAccount,
  events: readonly ShownEvent[],
  now: number,
): StatusReport {
  const { metadata, status } = account;
  const conditions = status?.conditions ?? [];
  return {
    object: `gpuacct/${metadata.name}`,
    namespace: metadata.namespace ?? '',
    facts: facts(account, now),
    next: nextSteps(conditions, marketplaceAccountConditions),
    tables: [
      {
        title: 'Retained machines (they bill)',
        headers: ['Instance', 'Owner', 'Policy', 'Since', '$/h'],
        rows: (status?.retained ?? []).map(({ instanceId, owner, policy, since: from, pricePerHour }) => [
          String(instanceId),
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

function facts({ metadata, spec, status }: MarketplaceAccount, now: number): StatusReport['facts'] {
  const { login, machines, breaker } = status ?? {};
  const limits = Object.entries(spec.limits).map(([name, value]) => `${name} ${value}`);
  const all: readonly (readonly [string, string | undefined])[] = [
    ['Login', login ? `user ${login.userId} at ${login.url}` : 'not proven yet'],
    ['Second factor', status?.twoFactor],
    ['Credit', status?.credit && `$${status.credit}${status.runway ? `, lasts ${status.runway}` : ''}`],
    ['Cost', status?.pricePerHour && `$${status.pricePerHour}/h`],
    ['Limits', limits.join(', ') || 'none'],
    [
      'Machines',
      machines &&
        `${machines.rented} rented for ${machines.objects} objects, ${machines.billing} of ours bill, ${machines.orphaned} orphaned, ${machines.retained} retained, ${machines.foreign} of others`,
    ],
    [
      'Breaker',
      breaker?.open
        ? `open since ${since(breaker.since, now)}: replacing and sweeping are stopped`
        : undefined,
    ],
    [
      'Avoided',
      status?.avoid?.length ? `${status.avoid.length} machines and hosts (gpu-rent avoid list)` : undefined,
    ],
    ['Age', since(metadata.creationTimestamp, now)],
  ];
  return all.flatMap(([label, text]) => (text === undefined || text === '' ? [] : [[label, text] as const]));
}
