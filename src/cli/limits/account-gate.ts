import { accountObject, monthName } from '../../accounts/account-object.ts';
import { departedOf } from '../../accounts/account-status.ts';
import { countedObjects } from '../../accounts/counted-objects.ts';
import { OfferReservations } from '../../accounts/login/offer-reservations.ts';
import { limitsOf } from '../../accounts/tickets/limits.ts';
import { type AccountSums, sumAccount } from '../../accounts/tickets/spend-brake.ts';
import { TicketOffice } from '../../accounts/tickets/ticket-office.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { systemClock } from '../../lib/clock.ts';
import type { MicroDollars } from '../../lib/money.ts';
import type { Identity } from '../../ownership/identity.ts';

/** What an account is judged by. */
export interface GateFacts {
  readonly account: MarketplaceAccount;
  /** GpuInstances that name it. */
  readonly objects: readonly GpuInstance[];
  /** Undefined where it may not be read: then every intent and claim counts. */
  readonly identity: Identity | undefined;
  /** Undefined where it is not known. */
  readonly credit: MicroDollars | undefined;
}

/** The operator's own ceilings are flags of its process, which nobody sees from here. */
const NO_CEILINGS = {
  maxRentalsPerHour: Number.POSITIVE_INFINITY,
  maxLiveMachines: Number.POSITIVE_INFINITY,
  maxDollarsPerHour: Number.POSITIVE_INFINITY,
};

/** What passes within moments is not looked at from here. */
const OPEN_QUEUE = {
  takeSlot: () => ({ endpointClass: 'rent' as const, expiresAt: Number.POSITIVE_INFINITY, release() {} }),
  slotEnded() {},
};

/**
 * The operator's gate in front of purchases, over what the cluster says now. Its tickets are never used. What passes
 * within seconds (the marketplace's pace, whose turn it is) does not count.
 */
export function accountGate(facts: GateFacts): TicketOffice {
  const clock = systemClock;
  return new TicketOffice({
    clock,
    queue: OPEN_QUEUE,
    reservations: new OfferReservations(clock),
    settings: NO_CEILINGS,
    limits: () => limitsOf(facts.account),
    refusal: () => undefined,
    labelEcho: () => 'echoed',
    isLoginRenting: () => false,
    objects: () => viewsOf(facts, clock.now()),
    sums: (objects, pending) => sumsOf(facts, { objects, pending }),
  });
}

function viewsOf({ account, objects, identity }: GateFacts, now: number) {
  const keys = identity?.keys;
  const views = objects.map((object) => accountObject(object, now, keys));
  const permits = (namespace: string) => mayUse(account, namespace);
  return countedObjects(views, { permits, keys, login: account.status?.login });
}

function sumsOf(
  { account, credit }: GateFacts,
  under: Pick<Parameters<typeof sumAccount>[0], 'objects' | 'pending'>,
): AccountSums {
  const now = systemClock.now();
  return sumAccount({ ...under, departed: departedOf(account), credit, now, month: monthName(now) });
}

/** Labels of namespaces are not asked for: one that a selector may let in is taken as let in. */
export function mayUse({ spec, metadata }: MarketplaceAccount, namespace: string): boolean {
  return spec.allowedNamespaces.from !== 'Same' || namespace === metadata.namespace;
}
