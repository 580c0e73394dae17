import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import { parseDuration } from '../lib/time.ts';
import type { Transport } from '../lib/transport.ts';
import { createMarketplaceClient, type MarketplaceClient } from '../marketplace/client.ts';
import { createFeed, type Feed } from '../marketplace/feed/feed.ts';
import type { KeySource } from '../marketplace/http/call.ts';
import { createPacer, type Pacer } from '../marketplace/pacing/pacing.ts';
import { type Login, loginText } from '../ownership/login.ts';
import { LoginKeys } from './api-keys.ts';
import { OfferReservations } from './pending-rentals.ts';
import { AdmissionQueue } from './queue/admission-queue.ts';
import { ServiceClock } from './service-clock.ts';

/** Milliseconds between two polls of an account: what it asks for, not below the operator's floor. */
export function pollIntervalOf(account: MarketplaceAccount, floorMs: number): number {
  return Math.max(floorMs, parseDuration(account.spec.pollInterval) ?? 10_000);
}

/** What every marketplace connection of this process is made of. */
export interface MarketplaceAccess {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** False with a simulator: no pauses between requests. */
  readonly paced: boolean;
}

/** One login of one marketplace, shared by every account object that proved it: one list, one limiter. */
export interface LoginConnection {
  readonly login: Login;
  readonly keys: LoginKeys;
  /**
   * The client of one account: what it reads is shared by the accounts of the login, what it writes leaves with the
   * key of that account or not at all.
   */
  clientOf(accountUid: string): MarketplaceClient;
  readonly feed: Feed;
  readonly pacer: Pacer;
  /** Searches and rental slots of every object that rents by this login. */
  readonly queue: AdmissionQueue;
  readonly reservations: OfferReservations;
  readonly serviceClock: ServiceClock;
}

interface Shared {
  readonly connection: LoginConnection;
  /** Poll interval by account uid; the shortest counts. */
  readonly users: Map<string, number>;
  pollIntervalMs: number;
}

/** What paces an account that uses no connection. */
interface Proof {
  readonly pacer: Pacer;
  /** Its key has said whose it is: the limiter is that of the login. */
  readonly isOfLogin: boolean;
}

/** Calls of one login in flight at once where its slots are not spaced: with a simulator nothing else limits them. */
const UNPACED_IN_FLIGHT = 64;

/** The connections of this process, by login. A connection ends with the last account that uses it. */
export class LoginConnections {
  readonly #access: MarketplaceAccess;
  readonly #byLogin = new Map<string, Shared>();
  readonly #reservationsByUrl = new Map<string, OfferReservations>();
  /** Of accounts that use no connection, by account uid. */
  readonly #proofs = new Map<string, Proof>();
  /**
   * The limiter of each login that a key has ever proved here. It outlives connections, accounts and proofs, since the
   * service goes on counting the calls of a login.
   */
  readonly #pacers = new Map<string, Pacer>();

  constructor(access: MarketplaceAccess) {
    this.#access = access;
  }

  /** Joins or opens the connection of a login that has just been proved; {@link LoginConnection.feed} is not started. */
  open(
    login: Login,
    user: { readonly accountUid: string; readonly pollIntervalMs: number },
  ): LoginConnection {
    const pacer = this.pacerOfProof(login, user.accountUid);
    this.#proofs.delete(user.accountUid);
    const shared = this.#byLogin.get(loginText(login)) ?? this.#create(login, pacer);
    shared.users.set(user.accountUid, user.pollIntervalMs);
    this.#adoptShortestInterval(shared);
    return shared.connection;
  }

  /**
   * The limiter of an account's calls. What proves its key counts, too: a service does not know for whose sake a call
   * was made, and a destroy that follows a probe too closely would be refused.
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
   * The same once the key has said whose it is: all calls of a login share its limiter, and no two logins share one. The
   * first to prove a login brings the limiter of its own calls.
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

  /** The account is gone. */
  forget(accountUid: string): void {
    this.#proofs.delete(accountUid);
  }

  /** The account uses it no more; the last one stops the feed. */
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
    // Who is still proving the login gets another limiter, which goes on at the same pace.
    const next = this.#newPacer(pacer);
    this.#pacers.set(loginText(login), next);
    for (const [uid, proof] of this.#proofs)
      if (proof.pacer === pacer) this.#proofs.set(uid, { pacer: next, isOfLogin: true });
  }

  /** The process ends: nothing is sent any more. */
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

  #create(login: Login, pacer: Pacer): Shared {
    const { clock, random, log, transport, paced } = this.#access;
    const reservations = this.#reservationsOf(login.url);
    const keys = new LoginKeys();
    const serviceClock = new ServiceClock(clock);
    const clientWith = (apiKey: KeySource): MarketplaceClient =>
      createMarketplaceClient({
        baseUrl: login.url,
        apiKey,
        transport,
        clock,
        random,
        log,
        pacer,
        // Only replies that show machines: another backend of the service may have a wrong clock.
        onGoodReply: ({ area, effect, headers }) => {
          if (area === 'instances' && effect === 'read') serviceClock.onReply(headers);
        },
      });
    const reads = clientWith(keys.forReads);
    const shared: Shared = {
      connection: {
        login,
        keys,
        serviceClock,
        clientOf: (accountUid) => clientWith(keys.of(accountUid)),
        pacer,
        feed: createFeed({
          instances: () => reads.instances,
          pollIntervalMs: () => shared.pollIntervalMs,
          clock,
          random,
          log: log.child({ login: loginText(login) }),
        }),
        queue: new AdmissionQueue({
          ...{ clock, pacer, paced },
          search: (query) => reads.offers.search(query),
          isReserved: (offerId) => reservations.isReserved(offerId),
        }),
        reservations,
      },
      users: new Map(),
      pollIntervalMs: Number.POSITIVE_INFINITY,
    };
    shared.connection.feed.subscribe(({ type }) => {
      if (type === 'list') serviceClock.onCompleteList();
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
