import { type Clock, sleep } from '../../lib/clock.ts';
import { sameJson } from '../../lib/json.ts';
import { formatMicroTime, parseTime } from '../../lib/time.ts';
import { leaseResource } from '../kube/core-resources.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { isKubeError } from '../kube/kube-error.ts';
import { compareResourceVersions, type KubeObject } from '../kube/kube-object.ts';
import { type WatchEvent, watchEvents } from '../list-watch/watch-events.ts';

/** coordination.k8s.io/v1 LeaseSpec: the record that candidates compare. */
interface LeaseSpec {
  readonly holderIdentity?: string | undefined;
  readonly leaseDurationSeconds?: number | undefined;
  readonly acquireTime?: string | undefined;
  readonly renewTime?: string | undefined;
  readonly leaseTransitions?: number | undefined;
}

interface Lease extends KubeObject {
  readonly spec?: LeaseSpec | undefined;
}

/** Last renewal of the lease before this process took it. */
export interface FormerLead {
  /** Former holder; undefined if it released the lease. */
  readonly holder: string | undefined;
  /** Milliseconds since then, by the clocks of both processes; undefined if the lease has no time. */
  readonly ageMs: number | undefined;
}

const REWATCH_MS = 10_000;

/** No replica can become leader: the namespace of the Lease does not exist. */
export class LeaseNamespaceMissing extends Error {
  constructor(namespace: string, cause: unknown) {
    super(
      `namespace "${namespace}" does not exist, so no replica can lead; create it, or name the operator's own namespace by --namespace`,
      { cause },
    );
    this.name = 'LeaseNamespaceMissing';
  }
}

export interface LeaseRecordOptions {
  readonly client: KubeClient;
  readonly lease: { readonly namespace: string; readonly name: string };
  readonly identity: string;
  readonly hasEnded?: ((holder: string) => boolean) | undefined;
  readonly durationMs: number;
  readonly clock: Clock;
}

/** A candidate's view of the Lease, and its writes, each under the resource version that it has seen. */
export class LeaseRecord {
  readonly durationMs: number;
  readonly #options: LeaseRecordOptions;
  #lease: Lease | undefined;
  /** Monotonic time since which the record has not changed. */
  #unchangedSince = 0;
  #changeCameBy: 'answer' | 'watch' = 'answer';
  #former: FormerLead | undefined;

  constructor(options: LeaseRecordOptions) {
    this.#options = options;
    this.durationMs = options.durationMs;
  }

  holder(): string | undefined {
    return this.#lease?.spec?.holderIdentity || undefined;
  }

  /** Returns the leader before this process; undefined if the lease was created or never taken. */
  former(): FormerLead | undefined {
    return this.#former;
  }

  /** Returns the Lease as the object of events. */
  regarded(): KubeObject {
    const { lease } = this.#options;
    return this.#lease ?? { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: lease };
  }

  /**
   * Creates, takes or renews the lease. Returns true if this process holds it afterwards, false if another does.
   * Rejects with any other KubeError.
   */
  async acquireOrRenew(leading: boolean): Promise<boolean> {
    if (leading && this.#lease && this.holder() === this.#options.identity) {
      if (await this.#put(this.#lease)) return true;
    }
    const { client, lease } = this.#options;
    const current = await client.get<Lease>(leaseResource, lease);
    if (!current) return this.#create();
    this.#observe(current, 'answer');
    if (this.untilFreeMs() > 0) return false;
    return this.#put(current);
  }

  /**
   * Returns the minimum milliseconds for which another holder has the lease, by the observed record; 0 if it may be
   * taken.
   */
  untilFreeMs(): number {
    const holder = this.holder();
    const { identity, hasEnded } = this.#options;
    if (holder === undefined || holder === identity || hasEnded?.(holder)) return 0;
    const durationMs = (this.#lease?.spec?.leaseDurationSeconds ?? 0) * 1000;
    return Math.max(0, this.#unchangedSince + durationMs - this.#options.clock.monotonic());
  }

  /** Returns true if the watch delivers renewals: false if an answer shows one that the watch missed. */
  isFollowed(): boolean {
    return this.#changeCameBy === 'watch';
  }

  /** Clears the holder, so that the next candidate need not wait. Rejects with a KubeError. */
  async giveUp(): Promise<void> {
    const lease = this.#lease;
    if (!lease || this.holder() !== this.#options.identity) return;
    const now = formatMicroTime(this.#options.clock.now());
    const spec = {
      ...lease.spec,
      holderIdentity: '',
      leaseDurationSeconds: 1,
      renewTime: now,
      acquireTime: now,
    };
    this.#observe(await this.#options.client.replace<Lease>(leaseResource, { ...lease, spec }), 'answer');
  }

  /**
   * Records renewals as they happen, and calls `onFreed` when the lease has no holder, until the signal is aborted.
   * Never rejects: a failed watch is opened again, and it ends if watching is forbidden, since regular reads suffice.
   */
  async follow(onFreed: () => void, signal: AbortSignal): Promise<void> {
    const { client, clock, lease } = this.#options;
    const request = {
      resource: leaseResource,
      namespace: lease.namespace,
      fieldSelector: `metadata.name=${lease.name}`,
      timeoutSeconds: 300,
      signal,
    };
    while (!signal.aborted) {
      try {
        const events = watchEvents(client, clock, { ...request, onContact() {} });
        for await (const event of events) this.#onEvent(event, onFreed);
      } catch (error) {
        if (isKubeError(error, 'forbidden')) return;
      }
      await sleep(clock, REWATCH_MS, signal).catch(() => {});
    }
  }

  async #create(): Promise<boolean> {
    const { client, lease, identity, clock } = this.#options;
    const now = formatMicroTime(clock.now());
    const spec = { ...this.#claim(now), holderIdentity: identity, acquireTime: now, leaseTransitions: 0 };
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: lease, spec };
    try {
      return await this.#written(client.create<Lease>(leaseResource, body));
    } catch (error) {
      // A create can only miss the namespace.
      if (isKubeError(error, 'notFound')) throw new LeaseNamespaceMissing(lease.namespace, error);
      throw error;
    }
  }

  async #put(lease: Lease): Promise<boolean> {
    const { client, identity, clock } = this.#options;
    const now = formatMicroTime(clock.now());
    const isRenewal = lease.spec?.holderIdentity === identity;
    const transitions = lease.spec?.leaseTransitions ?? 0;
    const spec = {
      ...lease.spec,
      ...this.#claim(now),
      acquireTime: isRenewal ? (lease.spec?.acquireTime ?? now) : now,
      leaseTransitions: isRenewal ? transitions : transitions + 1,
    };
    const write = client.replace<Lease>(leaseResource, { ...lease, spec });
    const isWritten = await this.#written(write).catch(falseWhereDeleted);
    if (isWritten && !isRenewal) this.#former = formerLead(lease.spec, clock.now());
    return isWritten;
  }

  #claim(now: string): LeaseSpec {
    const leaseDurationSeconds = Math.ceil(this.durationMs / 1000);
    return { holderIdentity: this.#options.identity, leaseDurationSeconds, renewTime: now };
  }

  /** Returns true if the write succeeded, false if another writer was faster. */
  async #written(write: Promise<Lease>): Promise<boolean> {
    try {
      this.#observe(await write, 'answer');
      return true;
    } catch (error) {
      if (isKubeError(error, 'conflict', 'alreadyExists')) return false;
      throw error;
    }
  }

  #onEvent(event: WatchEvent, onFreed: () => void): void {
    if (event.type === 'upserted' && this.#isNewer(event.object)) this.#observe(event.object, 'watch');
    if (isFreed(event)) onFreed();
  }

  /** Returns true if the record is newer: a watch may deliver it after a later answer. */
  #isNewer({ metadata: { resourceVersion = '' } }: KubeObject): boolean {
    return compareResourceVersions(resourceVersion, this.#lease?.metadata.resourceVersion ?? '') > 0;
  }

  #observe(lease: Lease, cameBy: 'answer' | 'watch'): void {
    if (!this.#lease || !sameJson(this.#lease.spec, lease.spec)) {
      this.#unchangedSince = this.#options.clock.monotonic();
      this.#changeCameBy = cameBy;
    }
    this.#lease = lease;
  }
}

function formerLead({ holderIdentity, renewTime }: LeaseSpec = {}, now: number): FormerLead {
  const renewedAt = parseTime(renewTime);
  const ageMs = renewedAt === undefined ? undefined : Math.max(0, now - renewedAt);
  return { holder: holderIdentity || undefined, ageMs };
}

/** Returns false for a lease that was deleted meanwhile: the next attempt creates it again. */
function falseWhereDeleted(error: unknown): false {
  if (isKubeError(error, 'notFound')) return false;
  throw error;
}

function isFreed(event: WatchEvent): boolean {
  if (event.type === 'bookmark') return false;
  const lease: Lease = event.object;
  return event.type === 'deleted' || !lease.spec?.holderIdentity;
}
