import type { Machine, MachineRead } from '../../accounts/beliefs/machine.ts';
import { parseDollars } from '../../lib/money.ts';
import type { RentalIntent } from '../../ownership/intent.ts';
import { deadlineOf, listsAgreeAfter } from './settlement.ts';
import type { Observed } from './types.ts';

/*
 * Proof of a machine at a market without labels. The reply to a rental names the machine. A list must then show it as
 * new, with a start within the time of the purchase. Another new machine contradicts the reply in two cases: no list
 * shows the named machine in time, or only the other machine has the price of the offer. Between two new machines of
 * the same kind and time, only the reply decides.
 */

/** Returns true if the market of the account keeps no labels at all. */
export function keepsNoLabels({ account }: Pick<Observed, 'account'>): boolean {
  return account.facts?.market.label.kept === 'never';
}

type Judged = Pick<Observed, 'object' | 'machine' | 'clock' | 'memory'>;

/**
 * Returns the proof of a machine that the reply to the rental of this intent named. `unseen`: lists do not agree on
 * it yet. `disputed`: lists do not agree yet that the purchase created another machine.
 */
export function proofByLists(
  observed: Judged,
  instanceId: string,
  intent: RentalIntent,
): 'confirmed' | 'unseen' | 'disputed' | 'contradicted' {
  const { list } = observed.machine;
  if (!list) return 'unseen';
  const known = new Set(intent.knownIds);
  const fresh = [...list.unowned, ...list.doubtful].filter(({ id }) => !known.has(id));
  const isSettled = listsAgreeAfter(
    observed,
    deadlineOf(intent, observed) + observed.clock.constants.listLagMs,
  );
  const { recorded } = list;
  if (!recorded) return fresh.length > 0 && isSettled ? 'contradicted' : 'unseen';
  const better = fresh.filter((row) => costsAsOffered(observed, row));
  if (better.length === 0 || better.some(({ id }) => id === instanceId))
    return agreesOn(recorded) ? 'confirmed' : 'unseen';
  return isSettled && [recorded, ...better].every(agreesOn) ? 'contradicted' : 'disputed';
}

/** Returns true if the machine has exactly the price of the offer that was rented. */
function costsAsOffered({ object }: Pick<Observed, 'object'>, { pricePerHour }: Machine): boolean {
  return pricePerHour !== undefined && pricePerHour === parseDollars(object.status?.offerPricePerHour);
}

function agreesOn({ unsettled }: Machine): boolean {
  return !unsettled.has('startedAt') && !unsettled.has('pricePerHour');
}

/** Returns true if the read of a machine shows the start and the price that lists show. */
export function readAgreesWithRow({ reports, startedAt, pricePerHour }: Machine, read: MachineRead): boolean {
  return (
    read.startedAt === (reports.startedAt?.value ?? startedAt) &&
    read.pricePerHour === (reports.pricePerHour?.value ?? pricePerHour)
  );
}
