import { isLost } from '../../instance/status-class.ts';
import { formatDollars } from '../../lib/money.ts';
import { MarketplaceError } from '../../marketplace/errors/errors.ts';
import type { Instance } from '../../marketplace/instances/instance.ts';
import { decide } from './decide.ts';
import type { Deps } from './deps.ts';
import { EXPLAINED_MS } from './memory.ts';
import { readInputs } from './rental-inputs.ts';
import type { Decision, InputsView, Observed, OffersView, Publication, ReadRequest } from './types.ts';

export type ReadDeps = Pick<Deps, 'cluster' | 'session' | 'wake' | 'aside' | 'log' | 'issueIdentity'>;

/** Where rules' requests are answered: by the operator from caches, queue and marketplace, by `explain` directly. */
export interface Reader {
  inputs(observed: Observed): Promise<InputsView>;
  offers(observed: Observed, request: OffersRequest): Promise<OffersView>;
  /** The machine by its single read; null if there is none, undefined if nobody can ask. Rejects as the client does. */
  machine(instanceId: string): Promise<Instance | null | undefined>;
  proveLogin(): Promise<boolean>;
}

type OffersRequest = Extract<ReadRequest, { type: 'offers' }>;

type Clocks = Pick<Deps, 'clock' | 'steady' | 'session'>;

/** What answers the steps that come before a decision. */
interface Answers {
  readonly reader: Reader;
  /** What dates an observation anew after each answer, since that may have taken long. */
  readonly clocks: Clocks;
  /** Writes the children. */
  readonly publish: (observed: Observed, publication: Publication) => Promise<Observed>;
}

/** More rounds than this in one reconcile, beside one for each destroyed machine, mean that two rules disagree. */
const MAX_ROUNDS = 24;

/**
 * Decides, and answers what rules request on the way: reads, and children that have to be written before a status
 * speaks of them. `reads` names the requests in their order. Rejects as the reader and `publish` do, and if two rules
 * request each other without end.
 */
export async function decideWithReads(
  first: Observed,
  answers: Answers,
): Promise<{
  readonly observed: Observed;
  readonly decision: Decision;
  readonly reads: readonly ReadRequest['type'][];
}> {
  const reads: ReadRequest['type'][] = [];
  let observed = first;
  for (let round = 0; round < MAX_ROUNDS + first.memory.destroys.length; round++) {
    const step = decide(observed);
    switch (step.type) {
      case 'decision':
        return { observed, decision: step, reads };
      case 'publish':
        observed = await answers.publish(observed, step.publication);
        break;
      case 'read':
        observed = await readAll(observed, step.requests, answers);
        reads.push(...step.requests.map(({ type }) => type));
    }
  }
  throw new Error('Two rules ask for each other without end');
}

/** All that was requested, one after another. Unusable inputs end the round: nothing is searched for them. */
export async function readAll(
  observed: Observed,
  requests: readonly ReadRequest[],
  { reader, clocks }: Pick<Answers, 'reader' | 'clocks'>,
): Promise<Observed> {
  let seen = observed;
  for (const request of requests) {
    const found = await readOne(seen, request, reader);
    seen = { ...withPresentTime(seen, clocks), ...found };
    if (found.inputs?.type === 'problem') break;
  }
  return seen;
}

async function readOne(observed: Observed, request: ReadRequest, reader: Reader): Promise<Partial<Observed>> {
  switch (request.type) {
    case 'inputs':
      return { inputs: await reader.inputs(observed) };
    case 'offers': {
      const found = await reader.offers(observed, request);
      if (request.scope === 'broad') return { broadOffers: found };
      return { offers: new Map([...observed.offers, [request.index, found]]) };
    }
    case 'machine': {
      const row = await rowOrFailure(request.instanceId, reader);
      const read = row === 'failed' ? 'failed' : row === null ? 'absent' : 'present';
      const lists = observed.absences.get(request.instanceId)?.lists ?? [];
      return { absences: new Map([...observed.absences, [request.instanceId, { lists, read }]]) };
    }
    case 'confirmLost': {
      // A list may be minutes old, and a host that answers again does not lose its machine.
      const { instanceId } = request;
      const row = await rowOrFailure(instanceId, reader);
      if (row === null || row === 'failed')
        return { confirmed: { instanceId, state: row === null ? 'absent' : row } };
      return { confirmed: { instanceId, state: isLost(row.actualStatus) ? 'lost' : 'well' } };
    }
    case 'loginProof':
      return { loginProven: await reader.proveLogin() };
  }
}

/** A failed read says nothing: neither there nor gone. */
async function rowOrFailure(instanceId: string, reader: Reader): Promise<Instance | null | 'failed'> {
  try {
    const row = await reader.machine(instanceId);
    return row === undefined ? 'failed' : row;
  } catch (error) {
    if (!(error instanceof MarketplaceError)) throw error;
    return 'failed';
  }
}

/** The operator's own reader. Whatever asks the marketplace waits without occupying a worker slot. */
export function readerOf({ cluster, session, wake, aside, log, issueIdentity }: ReadDeps): Reader {
  return {
    inputs: async ({ object }) => readInputs(object, cluster, issueIdentity),
    async offers(observed, request) {
      const found = await aside(() => searchOffers(observed, request, { session, wake }));
      if (found.type !== 'found') return found;
      const prices = found.offers.flatMap(({ pricePerHour }) => pricePerHour ?? []);
      log.debug('Offers searched', {
        offers: found.offers.length,
        ...(prices.length > 0 && { fromDollarsPerHour: formatDollars(Math.min(...prices)) }),
      });
      return found;
    },
    machine: (instanceId) => aside(async () => session?.feed.get(instanceId)),
    proveLogin: () => aside(async () => (await session?.proveLogin()) ?? false),
  };
}

/** Brings the clocks of an observation up to date: what is bought after a long read is dated anew. */
function withPresentTime(observed: Observed, { clock, steady, session }: Clocks): Observed {
  const { account } = observed;
  const times = { now: Math.floor(clock.now()), steadyNow: steady.now() };
  if (!session || account.state !== 'ready') return { ...observed, ...times };
  const facts = { ...account.facts, serviceTime: session.serviceClock.now() };
  return { ...observed, ...times, account: { ...account, facts } };
}

/** Waits for a search that is under way. One that waits in the queue enqueues the object when it is answered. */
async function searchOffers(
  { uid, memory, object: { metadata } }: Observed,
  { queries, scope, patient }: OffersRequest,
  { session, wake }: Pick<ReadDeps, 'session' | 'wake'>,
): Promise<OffersView> {
  if (!session) return { type: 'found', offers: [] };
  const { queue } = session;
  const { namespace = '', generation = 0 } = metadata;
  let isHere = true;
  const asker = { uid, namespace, generation, wake: () => isHere || wake() };
  const want = {
    queries,
    ...(scope === 'exact' && { exact: true }),
    ...(patient && { patient }),
    ...(memory.askedAt !== undefined && { askedAt: memory.askedAt }),
  };
  const ask = () => (scope === 'broad' ? queue.explain(queries[0], EXPLAINED_MS) : queue.offers(asker, want));
  const first = ask();
  if (first.type === 'queued') await first.ended;
  const answer = first.type === 'queued' && first.ended ? ask() : first;
  isHere = false;
  switch (answer.type) {
    case 'queued':
      return { type: 'queued', place: queue.place(uid, generation) };
    case 'failed':
      return failedSearch(answer.error);
    case 'found':
      return { type: 'found', offers: answer.offers, ...(answer.isShared && { isShared: true }) };
  }
}

/** Throws what is no failure of the marketplace. */
export function failedSearch(error: unknown): OffersView {
  if (!(error instanceof MarketplaceError)) throw error;
  return { type: 'failed', kind: error.kind, detail: error.message, retryAfterMs: error.retryAfterMs };
}
