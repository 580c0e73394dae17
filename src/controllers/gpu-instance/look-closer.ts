import type { AccountSession } from '../../accounts/account-session.ts';
import { isLost } from '../../instance/status-class.ts';
import type { Clock } from '../../lib/clock.ts';
import { MarketplaceError } from '../../marketplace/errors/errors.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { EXPLAINED_MS } from './memory/memory.ts';
import type { SteadyClock } from './memory/steady-clock.ts';
import { readInputs } from './rental/inputs.ts';
import type { Need, Observed } from './types.ts';
import type { AbsenceView, ConfirmedView, OffersView } from './views.ts';

export interface CloserSources {
  readonly clock: Clock;
  readonly steady: SteadyClock;
  readonly cluster: KubeClient;
  readonly session: AccountSession | undefined;
  /** Puts the object into the work queue. */
  readonly wake: () => void;
}

/** The same view with what a rule asked for, and with the time that it took. */
export async function lookCloser(observed: Observed, need: Need, sources: CloserSources): Promise<Observed> {
  const seen = await readNeed(observed, need, sources);
  return {
    ...withServiceTime(observed, sources),
    ...seen,
    now: Math.floor(sources.clock.now()),
    steadyNow: sources.steady.now(),
  };
}

/** A read may have taken long: what is bought after it is dated anew. */
function withServiceTime(observed: Observed, { session }: CloserSources): Observed {
  if (!session || observed.account.state !== 'ready') return observed;
  const facts = { ...observed.account.facts, serviceTime: session.serviceTime() };
  return { ...observed, account: { ...observed.account, facts } };
}

async function readNeed(observed: Observed, need: Need, sources: CloserSources): Promise<Partial<Observed>> {
  switch (need.type) {
    case 'inputs':
      return { inputs: await readInputs(observed.object, sources.cluster) };
    case 'offers': {
      const found = await searchOffers(observed, need, sources);
      return { offers: new Map([...observed.offers, [need.index, found]]) };
    }
    case 'read': {
      const read = await readMachine(need.instanceId, sources.session);
      const lists = observed.absences.get(need.instanceId)?.lists ?? [];
      return { absences: new Map([...observed.absences, [need.instanceId, { lists, read }]]) };
    }
    case 'confirmLost':
      return {
        confirmed: { instanceId: need.instanceId, says: await confirmLost(need.instanceId, sources) },
      };
    case 'loginProof':
      return { loginProven: (await sources.session?.proveLogin()) ?? false };
  }
}

/** Waits for a search that is on its way. One that has to wait for its turn calls the object when it is answered. */
async function searchOffers(
  { uid, memory, object: { metadata } }: Observed,
  { queries, exact, patient, explains }: Extract<Need, { type: 'offers' }>,
  { session, wake }: CloserSources,
): Promise<OffersView> {
  if (!session) return { type: 'found', offers: [] };
  const { queue } = session;
  const generation = metadata.generation ?? 0;
  let isHere = true;
  const asker = {
    ...{ uid, namespace: metadata.namespace ?? '', generation },
    wake: () => isHere || wake(),
  };
  const want = {
    ...{ queries, ...(exact && { exact }), ...(patient && { patient }) },
    ...(memory.askedAt !== undefined && { askedAt: memory.askedAt }),
  };
  const ask = () => (explains ? queue.explain(queries[0], EXPLAINED_MS) : queue.offers(asker, want));
  const first = ask();
  if (first.type === 'queued') await first.ended;
  const answer = first.type === 'queued' && first.ended ? ask() : first;
  isHere = false;
  switch (answer.type) {
    case 'queued':
      return { type: 'queued', place: queue.place(uid, generation) };
    case 'failed':
      return failedView(answer.error);
    case 'found':
      return { type: 'found', offers: answer.offers, ...(answer.isShared && { isShared: true }) };
  }
}

function failedView(error: unknown): OffersView {
  if (!(error instanceof MarketplaceError)) throw error;
  return { type: 'failed', kind: error.kind, detail: error.message, retryAfterMs: error.retryAfterMs };
}

/** A list may be minutes old, and a host that answers again does not lose its machine. */
async function confirmLost(instanceId: number, { session }: CloserSources): Promise<ConfirmedView['says']> {
  try {
    const row = await session?.feed.get(instanceId);
    if (row === undefined) return 'failed';
    return row === null ? 'absent' : isLost(row.actualStatus) ? 'lost' : 'well';
  } catch (error) {
    if (!(error instanceof MarketplaceError)) throw error;
    return 'failed';
  }
}

/** A failed read says nothing: neither there nor gone. */
async function readMachine(
  instanceId: number,
  session: AccountSession | undefined,
): Promise<AbsenceView['read']> {
  try {
    const row = await session?.feed.get(instanceId);
    return row === undefined ? 'failed' : row === null ? 'absent' : 'present';
  } catch (error) {
    if (!(error instanceof MarketplaceError)) throw error;
    return 'failed';
  }
}
