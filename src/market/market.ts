import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { Secret } from '../lib/secret.ts';
import type { Transport } from '../lib/transport.ts';
import type { CallOptions, MarketKeySource } from './call-options.ts';
import type { MarketplaceId } from './ids.ts';
import type { LoginUser } from './login-user.ts';
import type { MachineList, MachineRow } from './machine.ts';
import type { Offer, OfferQuery } from './offer.ts';
import type { Pacer } from './pacing.ts';
import type { Rented, RentRequest, ScriptFacts } from './rental.ts';

/** A change that the market confirmed. */
export interface Answered {
  /** Epoch milliseconds of the reply, on the market's clock. */
  readonly answeredAt: number | undefined;
}

/** A rental leaves within its deadline or not at all. */
export type RentOptions = CallOptions & { readonly deadlineMs: number };

/** Own fields of a market's offers, which alternatives filter and sort by. */
export interface OfferFieldFacts {
  /** Says that no offer has such a field, and which one may be meant; undefined if offers have it. */
  unknown(name: string): string | undefined;
  /** Says that no offer, or each of them, has such a value; undefined if one may. */
  impossible(name: string, value: number): string | undefined;
}

/** Capabilities of a market, as data. A method of {@link Market} that a market lacks is absent. */
export interface MarketFacts {
  readonly name: string;
  /** Labels of machines: `observe` if only the first rental shows that they come back. */
  readonly label: { readonly kept: 'always' | 'observe' | 'never' };
  /** A rental may be interruptible at a bid. */
  readonly hasBids: boolean;
  readonly script: ScriptFacts;
  readonly offerFields: OfferFieldFacts;
}

/**
 * One login of one market; it knows no Kubernetes. Every method rejects with a MarketplaceError, whose `outcome` is
 * `refused` only if the effect certainly did not happen. A change is sent once.
 */
export interface Market {
  readonly about: MarketFacts;
  /** Offers that match, in the order of the query. */
  offers(query: OfferQuery, call?: CallOptions): Promise<readonly Offer[]>;
  /** One request that can create a machine, never repeated. Outcome `unknown`: a machine may exist and bill. */
  rent(offerId: MarketplaceId, request: RentRequest, call: RentOptions): Promise<Rented>;
  /** All machines of the login, or a rejection: never a part. */
  machines(call?: CallOptions): Promise<MachineList>;
  /**
   * Fresh rows of the machines that are not running, while {@link machines} reads a list of many pages. `known`: rows
   * of the latest list. Undefined if the list is one reply: then it is as fresh.
   */
  unsettled?(
    known: ReadonlyMap<MarketplaceId, MachineRow>,
    call?: CallOptions,
  ): Promise<readonly MachineRow[]> | undefined;
  /** null: the market says that the machine is absent. One witness, never proof. */
  machine(id: MarketplaceId, call?: CallOptions): Promise<MachineRow | null>;
  /** Ends billing. Resolves only if the market confirmed; an absent machine rejects with `notFound`. */
  destroy(id: MarketplaceId, call?: CallOptions): Promise<Answered>;
  stop?(id: MarketplaceId, call?: CallOptions): Promise<Answered>;
  start?(id: MarketplaceId, call?: CallOptions): Promise<Answered>;
  relabel?(id: MarketplaceId, label: string, call?: CallOptions): Promise<Answered>;
  /** The user of the key. */
  login(call?: CallOptions): Promise<LoginUser>;
  /** True if the key may destroy machines. Nothing is destroyed. */
  mayDestroy(call?: CallOptions): Promise<boolean>;
}

/** Parts of a market's adapter. */
export interface MarketOptions {
  /** Origin of the service, with a path prefix if it has one. */
  readonly url: string;
  /** The key of every request, or the source that yields it when a request is sent. */
  readonly key: Secret | MarketKeySource;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Shared by every client of the same login. */
  readonly pacer: Pacer;
  /** Called with the headers of each good reply that shows machines. */
  readonly onMachinesReply?: (headers: Readonly<Record<string, string>>) => void;
}

/** Opens one login of a market. Throws a MarketplaceError if the address is none. */
export type OpenMarket = (options: MarketOptions) => Market;
