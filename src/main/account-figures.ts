import { isUnresolved } from '../accounts/breaker.ts';
import type { ProvenSession } from '../accounts/session.ts';
import { CLASS_ORDER } from '../marketplace/pacing/endpoint-class.ts';
import type { AccountFigures } from '../server/account-metrics.ts';

/** An account as metrics show it. */
export function accountFigures(session: ProvenSession, now: number): AccountFigures {
  const { dollarsPerHour, credit, liveMachines, rentalsLastHour, spentThisMonth } = session.admission.sums();
  const list = session.feed.latest();
  const { orphans, copied, late = [] } = session.findings;
  const mislabelled = [...copied, ...late];
  const priceOf = (ids: readonly number[]) =>
    ids.reduce((sum, id) => sum + (list?.rows.get(id)?.pricePerHour ?? 0), 0);
  const waits = CLASS_ORDER.map((name) => [name, session.pacer.nextSlotMs(name) / 1000] as const);
  return {
    namespace: session.ref.namespace,
    account: session.ref.name,
    dollarsPerHour,
    credit,
    liveMachines,
    rentalsLastHour,
    spentThisMonth,
    orphans: orphans.length,
    orphanDollarsPerHour: priceOf(orphans),
    mislabelled: mislabelled.length,
    mislabelledDollarsPerHour: priceOf(mislabelled),
    breakerOpen: isUnresolved(session.observer.breaker),
    listAgeSeconds: list && (now - list.endedAt) / 1000,
    waitSeconds: Object.fromEntries(waits),
  };
}
