import { type MarketplaceAccount, marketOf } from '../api/v1alpha1/marketplace-account.ts';
import type { Outage } from '../api/v1alpha1/outage.ts';
import { type AccountRef, accountKey } from '../instance/account-ref.ts';
import type { InstanceSummary } from '../instance/summary.ts';
import type { Clock } from '../lib/clock.ts';
import type { Secret } from '../lib/secret.ts';
import type { FeedEvent } from '../market/feed-state.ts';
import type { PurchaseConstants } from '../ownership/constants.ts';
import { type Login, loginText } from '../ownership/login.ts';
import type { KubeClient } from '../runtime/kube/kube-client.ts';
import { uidOf } from '../runtime/kube/kube-object.ts';
import {
  type AccountObjects,
  type Counting,
  countedObjects,
  type FollowedObjects,
} from './account-objects.ts';
import { type LoginConnections, pollIntervalOf } from './connection.ts';
import type { Installation } from './installation/installation.ts';
import { believedTime } from './service-clock.ts';
import { AccountSession, type AccountSessionOptions, type UserFacts } from './session.ts';
import type { BrakeSettings } from './spend-limits.ts';
import { type AccountStatusWriter, StatusWriter, type StatusWriterRef } from './status-writer.ts';

/**
 * `notReady` contains the session if the login was proven before. Its feed, `get` and `destroy` still serve teardown;
 * its tickets are refused.
 */
export type AccountLookup<Session = AccountSession> =
  | { readonly type: 'ready'; readonly session: Session }
  | {
      readonly type: 'notReady';
      readonly reason: string;
      readonly message: string;
      /** The loss of service that it follows from. */
      readonly outage?: Outage | undefined;
      readonly session: Session | undefined;
    }
  /** `isUnwatched`: this installation does not watch its namespace. */
  | { readonly type: 'missing'; readonly isUnwatched?: boolean };

/** Returns the session of a lookup, even if it may only be used for teardown. */
export function sessionOf<Session>(lookup: AccountLookup<Session>): Session | undefined {
  return lookup.type === 'missing' ? undefined : lookup.session;
}

/** The accounts that this process knows, by name. */
export type AccountDirectory = Pick<
  AccountRegistry,
  'get' | 'permits' | 'statusWriter' | 'sessions' | 'onChange'
>;

/** Dependencies of accounts. */
export interface AccountRegistryOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly connections: LoginConnections;
  readonly installation: Installation;
  readonly brake: BrakeSettings;
  readonly budgets: AccountSessionOptions['budgets'];
  readonly constants: PurchaseConstants;
  readonly minPollIntervalMs: number;
  /** GpuInstances that name an account, from the cache, kept up to date. */
  readonly follow: (ref: AccountRef) => FollowedObjects;
  /** All GpuInstances, as the cache has them. */
  readonly allObjects: () => readonly InstanceSummary[];
  /** True if this installation watches the namespace. */
  readonly isWatched: (namespace: string) => boolean;
  /** Every account of the watched scope, as the cache has them. */
  readonly accounts: () => readonly MarketplaceAccount[];
  /** Returns the account in the cache. */
  readonly accountOf: (ref: AccountRef) => MarketplaceAccount | undefined;
  /** Undefined while it is being found out. */
  readonly namespaceAllowed: (account: MarketplaceAccount, namespace: string) => boolean | undefined;
  /** A status was written outside the account's own controller. */
  readonly onWritten: (account: MarketplaceAccount) => void;
}

/** Login and rights that a key proved. */
export interface ProvenKey {
  readonly login: Login;
  readonly key: Secret;
  /** `teardown` for a kept key. */
  readonly use: 'full' | 'teardown';
  readonly user: UserFacts;
}

/** Notifications for the controllers of accounts alone. */
export type AccountEvent =
  | FeedEvent
  | { readonly type: 'status' }
  /** A running machine of the login is listed as stopped, regardless of who stopped it. */
  | { readonly type: 'machineStopped' };

interface NotReady {
  readonly reason: string;
  readonly message: string;
  readonly outage?: Outage | undefined;
}

interface Known {
  readonly uid: string;
  readonly writer: StatusWriter;
  readonly objects: FollowedObjects;
  session: AccountSession | undefined;
  notReady: NotReady | undefined;
}

const CONNECTING: NotReady = {
  reason: 'Connecting',
  message: 'The key is being checked and the machines of the login are being listed.',
};

/**
 * The accounts of this process. Only the account controller changes it; the others read it as
 * {@link AccountDirectory}.
 */
export class AccountRegistry {
  readonly #options: AccountRegistryOptions;
  readonly #byKey = new Map<string, Known>();
  readonly #listeners = new Set<(ref: AccountRef) => void>();
  readonly #eventListeners = new Set<(ref: AccountRef, event: AccountEvent) => void>();

  constructor(options: AccountRegistryOptions) {
    this.#options = options;
    options.installation.onChange(() => this.notifyAll());
  }

  get(ref: AccountRef): AccountLookup {
    const known = this.#byKey.get(accountKey(ref));
    // An existing account is not missing while its controller reads and verifies its key for the first time.
    if (!known && !this.#options.accountOf(ref))
      return this.#options.isWatched(ref.namespace)
        ? { type: 'missing' }
        : { type: 'missing', isUnwatched: true };
    const installation = this.#options.installation.state();
    if (installation.type !== 'known') {
      return { type: 'notReady', ...installation.why, session: undefined };
    }
    const { session, notReady } = known ?? {};
    if (session?.isListed && !notReady) return { type: 'ready', session };
    const why = notReady ?? CONNECTING;
    return { type: 'notReady', ...why, session };
  }

  /**
   * Returns true if objects of that namespace may use the account; false also if the account does not exist. Undefined
   * until the labels of the namespace are read.
   */
  permits(ref: AccountRef, namespace: string): boolean | undefined {
    const account = this.#options.accountOf(ref);
    return account ? this.#options.namespaceAllowed(account, namespace) : false;
  }

  /**
   * Exists before the key is read, because records of deleted objects cannot wait for it. Undefined if the namespace
   * is not watched. If no cache has the account, a write reads it from the cluster first, and writes nothing if it
   * does not exist.
   */
  statusWriter(ref: AccountRef): AccountStatusWriter | undefined {
    const known = this.#byKey.get(accountKey(ref));
    if (known) return known.writer;
    const { accountOf, isWatched } = this.#options;
    const account = accountOf(ref);
    if (account) return this.#known(account).writer;
    return isWatched(ref.namespace) ? this.#writerFor({ ...ref, uid: undefined }) : undefined;
  }

  /** Returns every account with a proven login; none before the identity of this installation is known. */
  sessions(): readonly AccountSession[] {
    if (this.#options.installation.state().type !== 'known') return [];
    return this.proven();
  }

  /** Calls the listener after an account became ready or not ready, or its breaker or limits changed. */
  onChange(listener: (ref: AccountRef) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Calls the listener of an account's controller for each poll of a login, complete or failed, and each change that a
   * status should show.
   */
  onEvent(listener: (ref: AccountRef, event: AccountEvent) => void): () => void {
    this.#eventListeners.add(listener);
    return () => this.#eventListeners.delete(listener);
  }

  /**
   * Returns the objects for which the account rents or rented, from the cache. Read them immediately, because the set
   * changes.
   */
  objectsOf(account: MarketplaceAccount): AccountObjects {
    const known = this.#byKey.get(accountKey(refOf(account)));
    if (known?.uid === uidOf(account)) return known.objects.counted(this.#countingOf(account));
    const once = this.#options.follow(refOf(account));
    const counted = once.counted(this.#countingOf(account));
    once.close();
    return counted;
  }

  /** Objects, among those that name the account, for which it rents or rented. */
  counted(account: MarketplaceAccount, objects: readonly InstanceSummary[]): readonly InstanceSummary[] {
    return countedObjects(objects, this.#countingOf(account));
  }

  #countingOf(account: MarketplaceAccount): Counting {
    const { namespaceAllowed, installation } = this.#options;
    return {
      permits: (namespace) => namespaceAllowed(account, namespace) === true,
      keys: installation.identity()?.keys,
      login: account.status?.login,
    };
  }

  /** Returns the session of an account for its own controller, in any state. */
  session(ref: AccountRef): AccountSession | undefined {
    return this.#byKey.get(accountKey(ref))?.session;
  }

  /** Opens or continues the session of an account after a key proved its login. */
  connect(account: MarketplaceAccount, proven: ProvenKey): AccountSession {
    const known = this.#known(account);
    const pollIntervalMs = pollIntervalOf(account, this.#options.minPollIntervalMs);
    const user = { accountUid: known.uid, pollIntervalMs, market: marketOf(account) };
    const connection = this.#options.connections.open(proven.login, user);
    const { key, use } = proven;
    connection.keys.set(known.uid, { key, use, mayDestroy: proven.user.mayDestroy });
    connection.feed.start();
    const session = known.session ?? this.#createSession(account, connection);
    session.proved(proven.user);
    session.update(account);
    if (known.session === undefined) {
      known.session = session;
      this.notify(refOf(account));
    }
    return session;
  }

  /** Sets the reason why the account may not be used for new rentals; undefined if it may. */
  setNotReady(account: MarketplaceAccount, why: NotReady | undefined): void {
    const known = this.#known(account);
    const changed =
      known.notReady?.reason !== why?.reason || known.notReady?.outage?.since !== why?.outage?.since;
    known.notReady = why;
    known.session?.refuse(why && { reason: 'AccountNotReady', message: why.message });
    if (changed) this.notify(refOf(account));
  }

  /** Ends the session: the key was refused or proves another login. No further call is sent for the account. */
  disconnect(ref: AccountRef): void {
    const known = this.#byKey.get(accountKey(ref));
    if (!known?.session) return;
    known.session.close();
    this.#options.connections.close(known.session.login, known.uid);
    known.session = undefined;
    this.notify(ref);
  }

  /** Removes a deleted account. */
  forget(ref: AccountRef): void {
    this.disconnect(ref);
    const known = this.#byKey.get(accountKey(ref));
    if (!known) return;
    this.#options.connections.forget(known.uid);
    known.objects.close();
    this.#byKey.delete(accountKey(ref));
    this.notify(ref);
  }

  /** Returns true if the account's key was tried and opened no session. */
  wasTried(ref: AccountRef): boolean {
    const known = this.#byKey.get(accountKey(ref));
    return known?.notReady !== undefined && known.session === undefined;
  }

  /**
   * Returns the time (epoch milliseconds) until which machines have cost money: by the service of the account
   * (namespace/name), or else the latest time of all accounts' services, because one of them dated every start. The
   * operator's own time is used only if no service has sent its time, because a changed wall clock must not change
   * the spending.
   */
  spendingTime(account?: string): number {
    const own = account === undefined ? undefined : this.#byKey.get(account)?.session;
    const known = own && believedTime(own.serviceClock.now());
    if (known !== undefined) return known;
    const others = this.proven().flatMap(({ serviceClock }) => believedTime(serviceClock.now()) ?? []);
    return others.length > 0 ? Math.max(...others) : this.#options.clock.now();
  }

  #emit(ref: AccountRef, event: AccountEvent): void {
    for (const listener of this.#eventListeners) listener(ref, event);
  }

  notify(ref: AccountRef): void {
    for (const listener of this.#listeners) listener(ref);
  }

  /** Returns every session, whether or not the identity is known; for controllers of accounts only. */
  proven(): readonly AccountSession[] {
    return [...this.#byKey.values()].flatMap(({ session }) => (session ? [session] : []));
  }

  /** Notifies all accounts of a change on which they all depend. */
  notifyAll(): void {
    for (const { session } of this.#byKey.values()) {
      if (session) this.notify(session.ref);
    }
  }

  /** Returns the knowledge about an account; empty if another object of that name replaced it. */
  #known(account: MarketplaceAccount): Known {
    const ref = refOf(account);
    const uid = uidOf(account);
    const before = this.#byKey.get(accountKey(ref));
    if (before?.uid === uid) return before;
    this.forget(ref);
    const writer = this.#writerFor({ ...ref, uid });
    const objects = this.#options.follow(ref);
    const known: Known = { uid, writer, objects, session: undefined, notReady: undefined };
    this.#byKey.set(accountKey(ref), known);
    return known;
  }

  #writerFor(ref: StatusWriterRef): StatusWriter {
    const { client, clock } = this.#options;
    const onWritten = (account: MarketplaceAccount): void => {
      this.#options.onWritten(account);
      // The remains of an object count before its end is seen: the cache may show the end first.
      this.session(ref)?.update(account);
    };
    return new StatusWriter({
      ...{ client, clock, onWritten, ref },
      spendingTime: () => this.spendingTime(accountKey(ref)),
    });
  }

  #ofSameLogin(account: MarketplaceAccount, login: Login): readonly AccountSession[] {
    const uid = uidOf(account);
    return this.proven().filter((other) => other.uid !== uid && loginText(other.login) === loginText(login));
  }

  /**
   * Returns true if an account of the login without a session may have a rental in progress. A rental older than that
   * is listed by now, or has created no machine.
   */
  #isRentingUnproven(account: MarketplaceAccount, login: Login): boolean {
    const { accounts, constants } = this.#options;
    const { rentCallMs, lateCallMs, listLagMs } = constants;
    // The service's clock dates intents.
    const from = this.spendingTime(accountKey(refOf(account))) - rentCallMs - lateCallMs - 2 * listLagMs;
    const mayRent = ({ hasOpenIntent, newestRentalAt = from }: InstanceSummary) =>
      hasOpenIntent && newestRentalAt > from;
    return accounts().some(
      (other) =>
        uidOf(other) !== uidOf(account) &&
        !this.session(refOf(other)) &&
        other.status?.login !== undefined &&
        loginText(other.status.login) === loginText(login) &&
        this.objectsOf(other).undecided().some(mayRent),
    );
  }

  /**
   * Returns the adoption policy of a login. Adoption needs the consent of every account of the login, since they all
   * see the same machines. An account whose login is not known yet may share this one; an account whose key was refused
   * does not.
   */
  #adoptionOf(login: Login): 'None' | 'Unlabelled' | undefined {
    const accounts = this.#options.accounts();
    const isOfLogin = (account: MarketplaceAccount) => {
      const known = this.session(refOf(account))?.login ?? account.status?.login;
      return known && loginText(known) === loginText(login);
    };
    if (accounts.some((account) => isOfLogin(account) && account.spec.adoption !== 'Unlabelled'))
      return 'None';
    return accounts.some((account) => this.#isUntried(account)) ? undefined : 'Unlabelled';
  }

  #isUntried(account: MarketplaceAccount): boolean {
    const known = this.#byKey.get(accountKey(refOf(account)));
    return !known?.session && !known?.notReady && account.status?.login === undefined;
  }

  #createSession(
    account: MarketplaceAccount,
    connection: ReturnType<LoginConnections['open']>,
  ): AccountSession {
    const ref = refOf(account);
    return new AccountSession({
      ...this.#options,
      account,
      connection,
      spendingTime: () => this.spendingTime(accountKey(ref)),
      identity: () => this.#options.installation.identity(),
      objects: (current) => this.objectsOf(current),
      ofSameLogin: () => this.#ofSameLogin(account, connection.login),
      isRentingUnproven: () => this.#isRentingUnproven(account, connection.login),
      adoptionOfLogin: () => this.#adoptionOf(connection.login),
      onChange: () => this.notify(ref),
      onStatusChange: () => this.#emit(ref, { type: 'status' }),
      onPoll: (event) => this.#emit(ref, event),
      onMachineStopped: () => this.#emit(ref, { type: 'machineStopped' }),
    });
  }
}

/** Returns the name of an account. */
export function refOf(account: MarketplaceAccount): AccountRef {
  return { namespace: account.metadata.namespace ?? '', name: account.metadata.name };
}
