import type { ReplacementDecision } from '../../accounts/admission.ts';
import { formatDollars } from '../../lib/money.ts';
import { MarketplaceError } from '../../market/errors.ts';
import type { MachineRow } from '../../market/machine.ts';
import { decide } from './decide.ts';
import type { Deps } from './deps.ts';
import { readPreflight } from './preflight-reads.ts';
import { EXPLAINED_MS } from './retry.ts';
import { SECOND_SEARCH_MS } from './rules/purchase.ts';
import type {
  ConfirmedView,
  Decision,
  FirstSearch,
  InputsView,
  MemoryView,
  Observed,
  OffersView,
  Publication,
  ReadRequest,
  RoomView,
  SeenMachines,
  SeenPurchase,
} from './types.ts';

export type ReadDeps = Pick<
  Deps,
  'cluster' | 'session' | 'wake' | 'aside' | 'log' | 'issueIdentity' | 'memory' | 'steady'
>;

/**
 * Source of answers to the rules' requests: caches, queue and marketplace for the operator, direct reads for `explain`.
 */
export interface Reader {
  /** Returns the cluster objects that the rental needs. */
  inputs(observed: Observed): Promise<InputsView>;
  offers(observed: Observed, request: OffersRequest): Promise<OffersView>;
  /** Reads the machine; null if it does not exist, undefined if no key can read it. Rejects like the client. */
  machine(instanceId: string): Promise<MachineRow | null | undefined>;
  /** Returns the admission of a rental in place of the object's machine; the offer is reserved for the object. */
  room(observed: Observed, request: RoomRequest): ReplacementDecision;
  /** Keeps the first of two searches; the kept one is returned. */
  keepFirstSearch(search: FirstSearch | undefined): FirstSearch | undefined;
  proveLogin(): Promise<boolean>;
}

type OffersRequest = Extract<ReadRequest, { type: 'offers' }>;
export type RoomRequest = Extract<ReadRequest, { type: 'room' }>;

type Clocks = Pick<Deps, 'clock' | 'steady' | 'session'>;

/** Sources for the steps before a decision. */
interface Answers {
  readonly reader: Reader;
  /** Clocks that date an observation again after each answer, which may have taken long. */
  readonly clocks: Clocks;
  /** Writes the children. */
  readonly publish: (observed: Observed, publication: Publication) => Promise<Observed>;
}

/**
 * Maximum number of rounds in one reconcile, plus one for each destroyed machine; more mean that two rules disagree.
 */
const MAX_ROUNDS = 24;

/**
 * Decides, and serves the requests of rules: reads, and children that must be written before a status that mentions
 * them. `reads` names the requests in their order. Rejects if the reader or `publish` does, and if two rules request
 * each other endlessly.
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

/** Reads all requested inputs, one after another. Unusable inputs end the round, without a search. */
export async function readAll(
  observed: Observed,
  requests: readonly ReadRequest[],
  { reader, clocks }: Pick<Answers, 'reader' | 'clocks'>,
): Promise<Observed> {
  let seen = observed;
  for (const request of requests) {
    const found = await readOne(seen, request, reader);
    seen = withFound(withPresentTime(seen, clocks), found);
    if (found.purchase?.inputs?.type === 'problem') break;
  }
  return seen;
}

/** The answer to one request. */
interface Found {
  readonly machine?: Partial<SeenMachines>;
  readonly purchase?: Partial<SeenPurchase>;
  readonly memory?: MemoryView;
}

function withFound(observed: Observed, { machine, purchase, memory = observed.memory }: Found): Observed {
  return {
    ...observed,
    machine: { ...observed.machine, ...machine },
    purchase: { ...observed.purchase, ...purchase },
    memory,
  };
}

async function readOne(observed: Observed, request: ReadRequest, reader: Reader): Promise<Found> {
  switch (request.type) {
    case 'inputs':
      return { purchase: { inputs: await reader.inputs(observed) } };
    case 'offers': {
      const found = await reader.offers(observed, request);
      if (request.scope === 'broad') return { purchase: { broadOffers: found } };
      return { purchase: { offers: new Map([...observed.purchase.offers, [request.index, found]]) } };
    }
    case 'machine': {
      const row = await rowOrFailure(request.instanceId, reader);
      const read = row === 'failed' ? 'failed' : row === null ? 'absent' : 'present';
      const lists = observed.machine.absences.get(request.instanceId)?.lists ?? [];
      const absences = new Map([...observed.machine.absences, [request.instanceId, { lists, read }]]);
      return { machine: { absences } };
    }
    case 'confirm': {
      // A list may be minutes old, or wrong.
      const { instanceId } = request;
      return { machine: { confirmed: { instanceId, read: await readMachine(instanceId, reader) } } };
    }
    case 'confirmLabel': {
      const { instanceId } = request;
      const read = await readMachine(instanceId, reader);
      return { machine: { labelReads: new Map([...observed.machine.labelReads, [instanceId, read]]) } };
    }
    case 'room':
      return { purchase: { room: roomOf(observed, request, reader.room(observed, request)) } };
    case 'firstSearch': {
      const { memory } = observed;
      const firstSearch = reader.keepFirstSearch(request.search);
      return { memory: { ...memory, replacement: { ...memory.replacement, firstSearch } } };
    }
    case 'loginProof':
      return { machine: { loginProven: await reader.proveLogin() } };
  }
}

function roomOf(
  { clock: { steadyNow: at } }: Pick<Observed, 'clock'>,
  { offerId, pricePerHour }: RoomRequest,
  answer: ReplacementDecision,
): RoomView {
  const seen = { offerId, pricePerHour, at };
  if (answer.type === 'fits') return { type: 'fits', ...seen };
  const { reason, message: detail, retryAfterMs } = answer;
  return { type: 'refused', ...seen, reason, detail, retryAfterMs };
}

/** Reads the machine. A reply with another machine proves nothing about this one. */
async function readMachine(instanceId: string, reader: Reader): Promise<ConfirmedView['read']> {
  const row = await rowOrFailure(instanceId, reader);
  if (row === null) return 'absent';
  return row === 'failed' || row.id !== instanceId ? 'failed' : row;
}

/** Reads the machine; a failed read proves neither presence nor absence. */
async function rowOrFailure(instanceId: string, reader: Reader): Promise<MachineRow | null | 'failed'> {
  try {
    const row = await reader.machine(instanceId);
    return row === undefined ? 'failed' : row;
  } catch (error) {
    if (!(error instanceof MarketplaceError)) throw error;
    return 'failed';
  }
}

/** Returns the operator's own reader. Requests to the marketplace wait without occupying a worker slot. */
export function readerOf(deps: ReadDeps): Reader {
  const { session, wake, aside, log, steady, memory } = deps;
  return {
    inputs: (observed) => readPreflight(observed, deps),
    async offers(observed, request) {
      const found = await aside(() => searchOffers(observed, request, { session, wake, steady }));
      if (found.type !== 'found') return found;
      const prices = found.offers.flatMap(({ pricePerHour }) => pricePerHour ?? []);
      log.debug('Offers searched', {
        offers: found.offers.length,
        ...(prices.length > 0 && { fromDollarsPerHour: formatDollars(Math.min(...prices)) }),
      });
      return found;
    },
    async machine(instanceId) {
      const row = await aside(async () => session?.feed.get(instanceId));
      if (row) session?.utilization.noteRead(row, steady.toMonotonic(steady.now()));
      return row;
    },
    room: ({ object, purchase: { uid } }, { offerId, pricePerHour }) =>
      session?.admission.requestReplacement({
        ...{ objectUid: uid, namespace: object.metadata.namespace ?? '' },
        ...{ offerId, pricePerHour },
      }) ?? NO_SESSION,
    keepFirstSearch(search) {
      memory.replacement.firstSearch = search;
      return search;
    },
    proveLogin: () => aside(async () => (await session?.proveLogin()) ?? false),
  };
}

const NO_SESSION: ReplacementDecision = {
  type: 'refused',
  reason: 'AccountNotReady',
  message: 'The MarketplaceAccount has no session.',
  retryAfterMs: 5_000,
};

/** Updates the clocks of an observation: a purchase after a long read is dated again. */
function withPresentTime(observed: Observed, { clock, steady, session }: Clocks): Observed {
  const { account } = observed;
  const times = { ...observed.clock, now: Math.floor(clock.now()), steadyNow: steady.now() };
  if (!session || account.state !== 'ready') return { ...observed, clock: times };
  const facts = { ...account.facts, serviceTime: session.serviceClock.now() };
  return { ...observed, clock: times, account: { ...account, facts } };
}

/** Waits for a search in progress. A queued search enqueues the object when it is answered. */
async function searchOffers(
  { purchase: { uid }, memory, object: { metadata } }: Pick<Observed, 'object' | 'purchase' | 'memory'>,
  { queries, scope, patient, since }: OffersRequest,
  { session, wake, steady }: Pick<ReadDeps, 'session' | 'wake' | 'steady'>,
): Promise<OffersView> {
  if (!session) return { type: 'found', offers: [] };
  const { queue } = session;
  const { namespace = '', generation = 0 } = metadata;
  const notBefore = laterOf(memory.askedAt, since === undefined ? undefined : steady.toMonotonic(since));
  let isHere = true;
  const asker = { uid, namespace, generation, wake: () => isHere || wake() };
  const want = {
    queries,
    ...(scope === 'exact' && { exact: true }),
    ...(patient && { patient }),
    ...(notBefore !== undefined && { askedAt: notBefore }),
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
      return {
        ...{ type: 'found', offers: answer.offers, begunAt: steady.fromMonotonic(answer.begunAt) },
        ...(answer.isShared && { isShared: true }),
      };
  }
}

function laterOf(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? (left ?? right) : Math.max(left, right);
}

/**
 * Returns the search of a preview as if an earlier one had the same result: a preview makes only one search.
 */
export function asIfConfirmed(search: FirstSearch | undefined): FirstSearch | undefined {
  return search && { ...search, begunAt: search.begunAt - SECOND_SEARCH_MS };
}

/** Throws an error that is no failure of the marketplace. */
export function failedSearch(error: unknown): OffersView {
  if (!(error instanceof MarketplaceError)) throw error;
  return { type: 'failed', kind: error.kind, detail: error.message, retryAfterMs: error.retryAfterMs };
}
