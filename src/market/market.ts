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
import type { SelfEndFacts } from './self-end.ts';

/** A change that the market confirmed. */
export interface Answered {
  /** Epoch milliseconds of the reply, on the market's clock. */
  readonly answeredAt: number | undefined;
}

/** The deadline of a rent call: it is sent before the deadline or not at all. */
export type RentOptions = CallOptions & { readonly deadlineMs: number };

/** Fields of a market's offers by which alternatives filter and sort. */
export interface OfferFieldFacts {
  /** Facts that its offers have and that {@link Market.offers} filters by. A requirement on any other is refused. */
  readonly facts: ReadonlySet<string>;
  /** Returns an error with a suggestion if no offer has such a field; undefined if offers have it. */
  unknown(name: string): string | undefined;
  /** Returns an error if no offer, or every offer, has such a value; undefined otherwise. */
  impossible(name: string, value: number): string | undefined;
}

/** Programs that a market runs on the files of a machine without a connection to it, also while it is stopped. */
export interface FileCommandFacts {
  readonly programs: readonly string[];
  /** Maximum characters of a command. */
  readonly maxLength: number;
}

/** The log of a container, as a market returns it. */
export interface ContainerLogFacts {
  /** Maximum bytes of one read. */
  readonly maxBytes: number;
}

/** Capabilities of a market, as data. A method of {@link Market} that a market lacks is absent. */
export interface MarketFacts {
  readonly name: string;
  /** Labels of machines; `observe` if only the first rental shows whether they are echoed. */
  readonly label: { readonly kept: 'always' | 'observe' | 'never' };
  /** True if a rental may be interruptible at a bid. */
  readonly hasBids: boolean;
  /** True if a machine can be stopped and started, and keeps its disk while stopped. */
  readonly hasStop: boolean;
  /** True if its lists show the GPU utilization of running machines. */
  readonly hasUtilization: boolean;
  /** Offers and machines name the machine and the host that they are of. */
  readonly namesHosts: boolean;
  readonly script: ScriptFacts;
  /** Absent if a machine has no key by which it can end itself. */
  readonly selfEnd?: SelfEndFacts;
  readonly offerFields: OfferFieldFacts;
  /** Absent if the market returns no log of a container. */
  readonly containerLog?: ContainerLogFacts;
  /** Absent if the market runs no program on the files of a machine. */
  readonly fileCommands?: FileCommandFacts;
}

/**
 * A login of a market, without any Kubernetes types. Every method rejects with a MarketplaceError, whose `outcome` is
 * `refused` only if the effect certainly did not happen. A change is sent once.
 */
export interface Market {
  readonly about: MarketFacts;
  /** Returns the matching offers in the order of the query. */
  offers(query: OfferQuery, call?: CallOptions): Promise<readonly Offer[]>;
  /**
   * Sends one request that can create a machine; it is never repeated. Outcome `unknown`: a machine may exist and bill.
   */
  rent(offerId: MarketplaceId, request: RentRequest, call: RentOptions): Promise<Rented>;
  /** Returns all machines of the login. Rejects instead of returning a part. */
  machines(call?: CallOptions): Promise<MachineList>;
  /**
   * Reads fresh rows of the machines that are not running, during a paged list of {@link machines}. `known`: rows of
   * the latest list. Undefined if the list is one reply: then it is as fresh.
   */
  unsettled?(
    known: ReadonlyMap<MarketplaceId, MachineRow>,
    call?: CallOptions,
  ): Promise<readonly MachineRow[]> | undefined;
  /** Returns one machine; null if the market reports it as absent, which alone is no proof. */
  machine(id: MarketplaceId, call?: CallOptions): Promise<MachineRow | null>;
  /** Ends billing. Resolves only if the market confirmed; an absent machine rejects with `notFound`. */
  destroy(id: MarketplaceId, call?: CallOptions): Promise<Answered>;
  stop?(id: MarketplaceId, call?: CallOptions): Promise<Answered>;
  start?(id: MarketplaceId, call?: CallOptions): Promise<Answered>;
  relabel?(id: MarketplaceId, label: string, call?: CallOptions): Promise<Answered>;
  /**
   * Runs a command of {@link MarketFacts.fileCommands} on the files of a machine, and returns its output, errors
   * included. It is sent once. Outcome `unknown`: it may have run, but its output did not arrive.
   */
  runCommand?(id: MarketplaceId, command: string, call?: CallOptions): Promise<string>;
  /**
   * Returns the last `tailLines` lines of the container's log, which may be read again at any time; empty if the
   * machine wrote none. Rejects with `malformedReply` if they exceed {@link MarketFacts.containerLog}.
   */
  readLog?(id: MarketplaceId, tailLines: number, call?: CallOptions): Promise<string>;
  /** Adds a public SSH key to one machine. */
  attachSshKey?(id: MarketplaceId, publicKey: string, call?: CallOptions): Promise<Answered>;
  /** Returns the user of the key. */
  login(call?: CallOptions): Promise<LoginUser>;
  /** Returns true if the key may destroy machines. Destroys nothing. */
  mayDestroy(call?: CallOptions): Promise<boolean>;
}

/** Dependencies of a market's adapter. */
export interface MarketOptions {
  /** Origin of the service, with an optional path prefix. */
  readonly url: string;
  /** Key of every request, or the source that returns it at the moment of sending. */
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

/** Opens a login of a market. Throws a MarketplaceError if the address is invalid. */
export type OpenMarket = (options: MarketOptions) => Market;
