import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import type { Clock } from '../../lib/clock.ts';
import type { FeedEvent } from '../../marketplace/feed/feed-event.ts';
import { claimVerifies } from '../../ownership/claim.ts';
import type { PurchaseConstants } from '../../ownership/constants.ts';
import type { Identity } from '../../ownership/identity.ts';
import type { Login } from '../../ownership/login.ts';
import type { AccountObject } from '../account-object.ts';
import { breakerOf } from '../account-status.ts';
import { Absences } from './absences.ts';
import {
  afterPoll,
  type BreakerMemory,
  type BreakerState,
  breakerAtStart,
  closeByHand,
  wellOnRecord,
} from './breaker.ts';
import { echoOf, echoOfRows, type LabelEcho } from './label-echo.ts';

export interface FeedWatchOptions {
  readonly account: MarketplaceAccount;
  readonly connection: { readonly login: Login };
  readonly clock: Clock;
  readonly constants: Pick<PurchaseConstants, 'listLagMs'>;
  readonly identity: () => Identity | undefined;
  readonly objects: () => readonly AccountObject[];
  /** Machines to be followed until they are gone, beside those that the status names. */
  readonly remembered: () => readonly number[];
  readonly onChange: () => void;
  readonly onLook: (event: FeedEvent) => void;
}

/** A machine may be missing from a list for one, and from the next for another. */
const LAGS_TO_BE_GONE = 2;

/** What one account learns from each look at its login's machines: its breaker, and whether labels come back. */
export class FeedWatch {
  readonly #options: FeedWatchOptions;
  readonly #account: () => MarketplaceAccount;
  readonly #absences = new Absences();
  #listedBefore = false;
  #breaker: BreakerMemory;
  #labelEcho: LabelEcho;

  /** `current`: the account's object as it is now. */
  constructor(options: FeedWatchOptions, current: () => MarketplaceAccount) {
    const { account } = options;
    this.#options = options;
    this.#account = current;
    this.#breaker = breakerAtStart(breakerOf(account));
    this.#labelEcho = echoOf(account.status?.labelsEchoed);
  }

  breaker(): BreakerState {
    return this.#breaker.state;
  }

  closeBreaker(): void {
    this.#breaker = closeByHand(this.#breaker);
    this.#options.onChange();
  }

  /** Machines of the status, and those that are remembered beside it, that lists further apart than two list-lags did not show. */
  longUnlisted(): ReadonlySet<number> {
    return this.#absences.longerThan(LAGS_TO_BE_GONE * this.#options.constants.listLagMs);
  }

  /** A machine is there although lists do not show it. */
  found(id: number): void {
    this.#absences.found(id);
  }

  labelEcho(): LabelEcho {
    return this.#labelEcho;
  }

  /** The label that a rental was sent with, and what a list shows of it. Only the first one teaches anything. */
  labelReadBack(sent: string, shown: string | null | undefined): void {
    if (this.#labelEcho !== 'unknown') return;
    this.#labelEcho = sent === shown ? 'echoed' : 'notEchoed';
    this.#options.onChange();
  }

  hear(event: FeedEvent): void {
    switch (event.type) {
      case 'row':
        return;
      case 'failed':
        this.#moveBreaker({ type: 'failed', at: this.#options.clock.now() });
        this.#options.onLook(event);
        return;
      case 'list': {
        const { rows, endedAt } = event.list;
        this.#learnEcho(rows.values());
        if (!this.#listedBefore)
          this.#breaker = wellOnRecord(
            this.#breaker,
            machinesOf(this.#watching().filter(({ wasWell }) => wasWell)),
          );
        const remembered = [...rememberedIds(this.#account()), ...this.#options.remembered()];
        this.#absences.see(event.list, remembered, this.#options.clock.monotonic());
        this.#moveBreaker({ type: 'complete', at: endedAt, rows, expected: machinesOf(this.#watching()) });
        if (!this.#listedBefore) this.#options.onChange();
        this.#listedBefore = true;
        this.#options.onLook(event);
      }
    }
  }

  #learnEcho(rows: Iterable<Parameters<typeof echoOfRows>[0][number]>): void {
    const identity = this.#options.identity();
    if (this.#labelEcho !== 'unknown' || !identity) return;
    this.#labelEcho = echoOfRows([...rows], this.#rentedIds(identity), identity);
    if (this.#labelEcho !== 'unknown') this.#options.onChange();
  }

  /** Machines that were rented with a label of ours: not those taken over, nor ids that a person wrote into a status. */
  #rentedIds({ keys }: Identity): ReadonlySet<number> {
    const { objects, connection } = this.#options;
    const claims = objects().flatMap(({ adopted, claim }) => (adopted === undefined && claim ? [claim] : []));
    const verified = claims.filter((facts) =>
      claimVerifies(keys, { ...facts, login: connection.login }, facts.claim),
    );
    return new Set(verified.map(({ instanceId }) => instanceId));
  }

  /** Objects the end of whose machine would be news: none that gives it up itself, and none that only shows it. */
  #watching(): readonly AccountObject[] {
    return this.#options
      .objects()
      .filter((object) => !object.deleting && !object.leaving && object.adopted !== 'Observe');
  }

  #moveBreaker(poll: Parameters<typeof afterPoll>[1]): void {
    const before = this.#breaker.state.type;
    this.#breaker = afterPoll(this.#breaker, poll, this.#account().spec.maxUnhealthy);
    if (this.#breaker.state.type !== before) this.#options.onChange();
  }
}

function machinesOf(objects: readonly AccountObject[]): ReadonlySet<number> {
  return new Set(objects.flatMap(({ instanceId }) => instanceId ?? []));
}

/** Machines that the status of an account names until they are gone. */
function rememberedIds({ status }: MarketplaceAccount): readonly number[] {
  const kept = (status?.retained ?? []).map(({ instanceId }) => instanceId);
  return [...kept, ...(status?.rolledBack ?? [])];
}
