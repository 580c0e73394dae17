import type { ReplacementRequest } from '../../accounts/admission.ts';
import { sessionOf } from '../../accounts/registry.ts';
import type { AccountSession } from '../../accounts/session.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { accountRefOf } from '../../instance/account-ref.ts';
import { canonicalJson } from '../../lib/json.ts';
import type { ReconcileContext } from '../../runtime/controller.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import type { SharedDeps } from './deps.ts';
import { deriveFacts } from './facts.ts';
import { ObjectMemory } from './memory.ts';
import { observe } from './observe.ts';
import { type Reader, readAll, readerOf } from './reads.ts';
import { Retry } from './retry.ts';
import { type Hand, handOf } from './rules/in-hand.ts';
import type { Observed, Refusal } from './types.ts';

/** Workers that a group would end for its template. */
export interface OutlookRequest {
  readonly groupUid: string;
  /** Hash of the template; with another one the backoff begins again. */
  readonly templateHash: string;
  /**
   * Returns the workers with the new template, in the order in which they would end. Called when a search is due.
   */
  readonly workers: () => Promise<readonly GpuInstance[]>;
  /** The account that the template names, and the namespace of the group. */
  readonly account: Pick<GpuInstance, 'metadata' | 'spec'>;
  /** Called when a search that waits in a queue is answered. */
  readonly wake: () => void;
}

/** Answer: each of these workers may end, since another machine can be rented for it. */
export interface Outlook {
  readonly inHand: ReadonlySet<string>;
  /** The cause for the first worker that may not end; undefined while it is not known. */
  readonly blocked?: Refusal | undefined;
}

type Shared = Pick<
  SharedDeps,
  | 'clock'
  | 'steady'
  | 'random'
  | 'cluster'
  | 'instances'
  | 'accounts'
  | 'budgets'
  | 'constants'
  | 'identity'
  | 'leaseRemainingMs'
  | 'index'
  | 'withoutStart'
>;
type Own = Pick<ReconcileContext, 'aside' | 'log'>;

interface Kept {
  readonly key: string;
  readonly retry: Retry;
}

const NOTHING: Outlook = { inHand: new Set() };
/** Maximum reads for one worker: more mean that two rules disagree. */
const MAX_ROUNDS = 24;

/**
 * The search for replacements of workers of an old template, by the rules of a rental. Nothing is rented or reserved.
 * Searches are paced for each group like those of an object without a machine.
 */
export class TemplateOutlook {
  readonly #shared: Shared;
  readonly #kept = new Map<string, Kept>();

  constructor(shared: Shared) {
    this.#shared = shared;
  }

  /** Rejects as the reader of the operator does. */
  async ask(request: OutlookRequest, own: Own): Promise<Outlook> {
    const { accounts, steady } = this.#shared;
    const session = sessionOf(accounts.get(accountRefOf(request.account)));
    const { retry } = this.#keptOf(request, session);
    if (retry.notBefore > steady.now() && retry.refusal) return { ...NOTHING, blocked: retry.refusal };
    const inHand = new Set<string>();
    const promised: ReplacementRequest[] = [];
    for (const worker of await request.workers()) {
      const hand = await this.#handOf(worker, { retry, promised, session, wake: request.wake, own });
      if (hand.type !== 'searching') session?.queue.leave(seekerOf(worker));
      if (hand.type !== 'inHand') return { inHand, blocked: blockedBy(hand, retry, steady.now()) };
      const { id: offerId, pricePerHour } = hand.offer;
      promised.push({ ...requester(worker), offerId, pricePerHour });
      inHand.add(worker.metadata.name);
      retry.succeeded();
    }
    return { inHand };
  }

  forget(groupUid: string): void {
    this.#kept.delete(groupUid);
  }

  /** Returns the cached refusal, which is valid for one template and the limits under which it was found. */
  #keptOf({ groupUid, templateHash }: OutlookRequest, session: AccountSession | undefined): Kept {
    const key = `${templateHash} ${canonicalJson(session?.limits ?? {})}`;
    const known = this.#kept.get(groupUid);
    if (known?.key === key) return known;
    const fresh = { key, retry: new Retry() };
    this.#kept.set(groupUid, fresh);
    return fresh;
  }

  async #handOf(worker: GpuInstance, search: Search): Promise<Hand> {
    const { steady, clock } = this.#shared;
    const { retry, session } = search;
    const memory = new ObjectMemory();
    const { instanceId = '', attempt = 0 } = worker.status ?? {};
    const replaced = { machine: { instanceId, attempt }, reason: 'SpecChanged' } as const;
    const reader = this.#readerFor(memory, search);
    let observed = observe(worker, { ...this.#shared, memory });
    for (let round = 0; observed && round < MAX_ROUNDS; round++) {
      const seen = withoutPromised(observed, search.promised);
      const replacement = retry.retryView(steady.now());
      const facts = deriveFacts({ ...seen, memory: { ...seen.memory, replacement } });
      if (facts.account.state === 'missing') return ACCOUNT_MISSING;
      const hand = handOf(facts, replaced);
      if (hand.type !== 'read') return hand;
      observed = await readAll(seen, hand.requests, { reader, clocks: { clock, steady, session } });
    }
    return { type: 'searching', requeue: { afterMs: 1_000 } };
  }

  /**
   * Returns the reader of a search, which has its own entry in the queue: the worker itself needs no machine. No
   * certificate is issued.
   */
  #readerFor(memory: ObjectMemory, { retry, session, wake, own, promised }: Search): Reader {
    const { cluster, steady } = this.#shared;
    const reader = readerOf({ cluster, session, wake, memory, steady, issueIdentity: undefined, ...own });
    return {
      ...reader,
      keepFirstSearch(search) {
        retry.firstSearch = search;
        return search;
      },
      offers: (seen, request) =>
        reader.offers({ ...seen, purchase: { ...seen.purchase, uid: seekerOf(seen.object) } }, request),
      room: ({ object }, { offerId, pricePerHour }) =>
        session?.admission.mayReplace({ ...requester(object), offerId, pricePerHour }, promised) ?? {
          ...{ type: 'refused', reason: 'AccountNotReady', retryAfterMs: 5_000 },
          message: 'The MarketplaceAccount has no session.',
        },
    };
  }
}

interface Search {
  readonly retry: Retry;
  /** Rentals for the workers before this one. */
  readonly promised: readonly ReplacementRequest[];
  readonly session: AccountSession | undefined;
  readonly wake: () => void;
  readonly own: Own;
}

const ACCOUNT_MISSING: Hand = {
  ...{ type: 'none', afterMs: 60_000 },
  refusal: {
    reason: 'AccountMissing',
    detail: 'The template names a MarketplaceAccount that does not exist.',
  },
};

const seekerOf = (worker: GpuInstance): string => `${uidOf(worker)}/template`;

const requester = (worker: GpuInstance) => ({
  objectUid: uidOf(worker),
  namespace: worker.metadata.namespace ?? '',
});

/** Saves the result, and returns the reason why no further worker may end. */
function blockedBy(hand: Hand, retry: Retry, now: number): Refusal | undefined {
  if (hand.type !== 'none') return retry.refusal;
  if (hand.found) retry.refusedByAccount(now, hand.found.afterMs, hand.refusal);
  if (hand.found?.explained) retry.explain(hand.found.explained, now);
  return hand.refusal;
}

/** Returns the observation without promised offers: each ending worker needs an offer of its own. */
function withoutPromised(observed: Observed, promised: readonly ReplacementRequest[]): Observed {
  const { account } = observed;
  if (account.state !== 'ready' || promised.length === 0) return observed;
  const { reserved } = account.facts;
  const before = (id: string) => promised.filter(({ offerId }) => offerId === id).length;
  const facts = { ...account.facts, reserved: { has: (id: string) => reserved.has(id, before(id)) } };
  return { ...observed, account: { ...account, facts } };
}
