import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import { parseDuration } from '../lib/time.ts';
import type { Transport } from '../lib/transport.ts';
import type { MarketKeySource } from '../market/call-options.ts';
import { createFeed, type Feed } from '../market/feed.ts';
import { listTook } from '../market/feed-state.ts';
import type { MachineRow } from '../market/machine.ts';
import type { Market, MarketFacts, MarketOptions } from '../market/market.ts';
import { createPacer, type Pacer } from '../market/pacing.ts';
import { type Login, loginText } from '../ownership/login.ts';
import { LoginKeys } from './api-keys.ts';
import { type Agreement, agreementOf, NO_SIGHTINGS, sightingsAfter } from './beliefs/sightings.ts';
import { UtilizationHistory } from './beliefs/utilization.ts';
import { OfferReservations, RentalAnswers } from './pending-rentals.ts';
import { AdmissionQueue } from './queue/admission-queue.ts';
import { ServiceClock } from './service-clock.ts';

/**
 * Returns the milliseconds between two polls of an account: the requested interval, at least the operator's minimum.
 */
export function pollIntervalOf(account: MarketplaceAccount, floorMs: number): number {
  return Math.max(floorMs, parseDuration(account.spec.pollInterval) ?? 10_000);
}

/** Dependencies of every marketplace connection of this process. */
export interface MarketplaceAccess {
  /** Opens a login of the market of that name. */
  readonly openMarket: (name: string, options: MarketOptions) => Market;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** False with a simulator: no pauses between requests. */
  readonly paced: boolean;
}

/** Connection of a login, shared by every account object that proved it: one list, one limiter. */
export interface LoginConnection {
  readonly login: Login;
  readonly keys: LoginKeys;
  /**
   * Returns the market for one account. Its reads are shared by the accounts of the login; its writes are sent with the
   * key of that account or not at all.
   */
  marketOf(accountUid: string): Market;
  /** Capabilities of its market. */
  readonly about: MarketFacts;
  readonly feed: Feed;
  readonly pacer: Pacer;
  /** Searches and rental slots of every object that rents by this login. */
  readonly queue: AdmissionQueue;
  readonly reservations: OfferReservations;
  readonly serviceClock: ServiceClock;
  /** Returns the agreement of the login's complete lists on a row. */
  agreement(row: MachineRow): Agreement;
  /** GPU utilization of the login's machines, as this process has seen it. */
  readonly utilization: UtilizationHistory;
  /** Machines that replies to rentals of the login named. */
  readonly answers: RentalAnswers;
}

interface Shared {
  readonly connection: LoginConnection;
  /** Poll interval by account uid; the shortest counts. */
  readonly users: Map<string, number>;
  pollIntervalMs: number;
}

/** Pacing of an account that uses no connection. */
interface Proof {
  readonly pacer: Pacer;
  /** True if the key proved its login, so the limiter is that of the login. */
  readonly isOfLogin: boolean;
}

/**
 * Maximum number of concurrent calls of one login if its slots are not spaced. With a simulator nothing else limits
 * them.
 */
const UNPACED_IN_FLIGHT = 64;

/** Timers fire slightly early: this share of the interval separates two polls. */
const POLL_SHARE = 0.9;

/** Returns the minimum milliseconds between the starts of two lists that agree on a value. */
function spacingOf(pollIntervalMs: number): number {
  return pollIntervalMs * POLL_SHARE;
}

/** The connections of this process, by login. A connection ends with the last account that uses it. */
export class LoginConnections {
  readonly #access: MarketplaceAccess;
  readonly #byLogin = new Map<string, Shared>();
  readonly #reservationsByUrl = new Map<string, OfferReservations>();
  /** Pacing of accounts that use no connection, by account uid. */
  readonly #proofs = new Map<string, Proof>();
  /**
   * The limiter of each login that a key has ever proved in this process. It outlives connections, accounts and
   * proofs, since the service continues to count the calls of a login.
   */
  readonly #pacers = new Map<string, Pacer>();

  constructor(access: MarketplaceAccess) {
    this.#access = access;
  }

  /** Joins or opens the connection of a login that has just been proved; {@link LoginConnection.feed} is not started. */
  open(
    login: Login,
    user: { readonly accountUid: string; readonly pollIntervalMs: number; readonly market: string },
  ): LoginConnection {
    const pacer = this.pacerOfProof(login, user.accountUid);
    this.#proofs.delete(user.accountUid);
    const shared = this.#byLogin.get(loginText(login)) ?? this.#create(login, pacer, user.market);
    shared.users.set(user.accountUid, user.pollIntervalMs);
    this.#adoptShortestInterval(shared);
    return shared.connection;
  }

  /**
   * Returns the limiter of an account's calls, including the calls that verify its key. The marketplace counts calls
   * of all objects together, and would refuse a destroy that follows a probe too closely.
   */
  pacerOf(accountUid: string): Pacer {
    for (const { connection, users } of this.#byLogin.values()) {
      if (users.has(accountUid)) return connection.pacer;
    }
    const known = this.#proofs.get(accountUid);
    if (known) return known.pacer;
    const pacer = this.#newPacer();
    this.#proofs.set(accountUid, { pacer, isOfLogin: false });
    return pacer;
  }

  /**
   * Returns the limiter after the key proved its login. All calls of a login share one limiter. The first account
   * that proves a login contributes the limiter of its own calls.
   */
  pacerOfProof(login: Login, accountUid: string): Pacer {
    const text = loginText(login);
    const open = this.#byLogin.get(text);
    if (open?.users.has(accountUid)) return open.connection.pacer;
    const own = this.#proofs.get(accountUid);
    const undecided = own?.isOfLogin ? undefined : own?.pacer;
    const pacer = this.#pacers.get(text) ?? undecided ?? this.#newPacer();
    this.#pacers.set(text, pacer);
    this.#proofs.set(accountUid, { pacer, isOfLogin: true });
    return pacer;
  }

  /** Removes a deleted account. */
  forget(accountUid: string): void {
    this.#proofs.delete(accountUid);
  }

  /** Ends the account's use of the login; the last account stops the feed. */
  close(login: Login, accountUid: string): void {
    const shared = this.#byLogin.get(loginText(login));
    if (!shared?.users.delete(accountUid)) return;
    shared.connection.keys.remove(accountUid);
    this.#adoptShortestInterval(shared);
    if (shared.users.size > 0) return;
    this.#byLogin.delete(loginText(login));
    shared.connection.feed.stop();
    shared.connection.queue.stop();
    const { pacer } = shared.connection;
    pacer.stop();
    // A caller that is still proving the login gets another limiter at the same pace.
    const next = this.#newPacer(pacer);
    this.#pacers.set(loginText(login), next);
    for (const [uid, proof] of this.#proofs)
      if (proof.pacer === pacer) this.#proofs.set(uid, { pacer: next, isOfLogin: true });
  }

  /** Closes all feeds when the process ends: no further call is sent. */
  closeAll(): void {
    for (const { connection } of this.#byLogin.values()) {
      connection.feed.stop();
      connection.queue.stop();
      connection.pacer.stop();
    }
    this.#byLogin.clear();
  }

  #newPacer(after?: Pacer): Pacer {
    const { clock, paced } = this.#access;
    const spacing = paced ? {} : { scale: 0, maxInFlight: UNPACED_IN_FLIGHT };
    return createPacer({ clock, ...spacing, ...(after && { after }) });
  }

  #create(login: Login, pacer: Pacer, market: string): Shared {
    const { clock, random, log, transport, paced, openMarket } = this.#access;
    const reservations = this.#reservationsOf(login.url);
    const keys = new LoginKeys();
    const serviceClock = new ServiceClock(clock);
    const marketWith = (key: MarketKeySource): Market =>
      openMarket(market, {
        url: login.url,
        key,
        transport,
        clock,
        random,
        log,
        pacer,
        onMachinesReply: (headers) => serviceClock.onReply(headers),
      });
    const reads = marketWith(keys.forReads);
    let sightings = NO_SIGHTINGS;
    const utilization = new UtilizationHistory();
    const shared: Shared = {
      connection: {
        login,
        about: reads.about,
        keys,
        serviceClock,
        marketOf: (accountUid) => marketWith(keys.of(accountUid)),
        pacer,
        feed: createFeed({
          market: () => reads,
          pollIntervalMs: () => shared.pollIntervalMs,
          clock,
          random,
          log: log.child({ login: loginText(login) }),
        }),
        queue: new AdmissionQueue({
          ...{ clock, pacer, paced },
          search: async (query) => {
            const begunAt = clock.monotonic();
            const offers = await reads.offers(query);
            reservations.shown(offers, begunAt);
            return offers;
          },
          isReserved: (offerId) => reservations.isReserved(offerId),
        }),
        reservations,
        answers: new RentalAnswers(),
        utilization,
        agreement: (row) => agreementOf(sightings, row, spacingOf(shared.pollIntervalMs)),
      },
      users: new Map(),
      pollIntervalMs: Number.POSITIVE_INFINITY,
    };
    shared.connection.feed.subscribe((event) => {
      if (event.type !== 'list') return;
      serviceClock.onCompleteList();
      // A list that a clock jump interrupted counts as begun with the previous list, so no value becomes older.
      const took = listTook(event.list);
      const begunAt = took === undefined ? sightings.begunAt : clock.monotonic() - took;
      sightings = sightingsAfter(sightings, event.list, begunAt);
      utilization.noteList(event.list, clock.monotonic(), shared.pollIntervalMs);
    });
    this.#byLogin.set(loginText(login), shared);
    return shared;
  }

  #reservationsOf(url: string): OfferReservations {
    const known = this.#reservationsByUrl.get(url);
    if (known) return known;
    const reservations = new OfferReservations(this.#access.clock);
    this.#reservationsByUrl.set(url, reservations);
    return reservations;
  }

  #adoptShortestInterval(shared: Shared): void {
    shared.pollIntervalMs = Math.min(...shared.users.values());
  }
}
