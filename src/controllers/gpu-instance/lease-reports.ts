import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { renewalText } from '../../instance/lease-report.ts';
import { leaseMs } from '../../instance/machine-fuses.ts';
import { isAtRest, isUp, lastRunAt, recordedState } from '../../instance/machine-state.ts';
import { idIn, textIn, wholeIn } from '../../lib/body-fields.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { parseTime } from '../../lib/time.ts';
import type { Identity } from '../../ownership/identity.ts';
import { provenLease } from '../../ownership/worker-token.ts';
import { objectKey } from '../../runtime/kube/kube-object.ts';
import { FAILURES_UNTIL_EVENT } from './lease.ts';
import type { LeaseView } from './types.ts';

/** Reply to the request of a machine. */
export interface LeaseReply {
  readonly status: number;
  readonly message: string;
  /** Text that renews the lease of the machine, if the request was its own. */
  readonly renew?: string;
}

const DENIED: LeaseReply = { status: 401, message: 'id and mtoken do not belong to a machine' };

/** Requests of one machine within this time are one renewal: a machine that repeats itself causes no more writes. */
const SPACING_MS = 10_000;
/** A machine detects a renewal at its next count, and its call may take a while. */
const UNSEEN_MS = 90_000;
/** Time from the start of a machine within which it requests its first renewal. */
const FIRST_REQUEST_MS = 10 * 60_000;

const SILENT = 'the machine requests none: check that it reaches the address of --worker-report-url';
const NOT_ACCEPTED = 'the machine does not accept the reply of the operator';
const NO_ADDRESS = 'the operator has no address for reports: set its flag --worker-report-url';

interface Known {
  readonly instanceId: string;
  readonly view: LeaseView;
  /** Monotonic time of the last counted reply. */
  readonly repliedAt: number | undefined;
}

export interface LeaseReportsOptions {
  readonly clock: Clock;
  /** Returns the GpuInstances with this instance id, at most one for each marketplace. */
  readonly instancesById: (id: string) => readonly GpuInstance[];
  readonly identity: () => Identity | undefined;
  /** Only the leader renews: a process that cannot reconcile must not keep machines. */
  readonly isLeading: () => boolean;
  /** Address of the report server as machines reach it; undefined without one. */
  readonly reportUrl: string | undefined;
}

/** Renews the leases of machines that request it, by a reply that only this operator can write. */
export class LeaseReports {
  readonly #options: LeaseReportsOptions;
  readonly #known = new Map<string, Known>();
  readonly #timers = new Map<string, Timer>();
  #onChange: (key: string) => void = () => undefined;

  constructor(options: LeaseReportsOptions) {
    this.#options = options;
  }

  /** Calls `onChange` with the key of each object whose lease changed. */
  listen(onChange: (key: string) => void): void {
    this.#onChange = onChange;
  }

  /** Handles a request with a parsed JSON body. Never throws. */
  take(body: unknown): LeaseReply {
    const { isLeading, instancesById, identity } = this.#options;
    if (!isLeading()) return { status: 503, message: 'another replica is the leader; retry' };
    const id = idIn(body, 'id');
    const shown = textIn(body, 'mtoken');
    if (id === undefined || shown === undefined) return DENIED;
    const keys = identity()?.keys;
    const [found] = instancesById(id).flatMap((object) => {
      const proof = provenLease(keys, object, shown);
      return proof === undefined ? [] : [{ object, proof }];
    });
    if (!found) return DENIED;
    const { object, proof } = found;
    const [count, since] = [wholeIn(body, 'count'), wholeIn(body, 'since')];
    if (count === undefined || count < 0) return { status: 400, message: 'count is not a number of seconds' };
    if (since === undefined) return { status: 400, message: 'since is not a number of seconds' };
    if (object.metadata.deletionTimestamp !== undefined)
      return { status: 409, message: 'the object of this machine is being deleted, so its lease ends' };
    this.#note(objectKey(object.metadata), object, since);
    return { status: 200, message: 'ok', renew: renewalText(proof, count) };
  }

  /**
   * Returns the known state of the lease of the object's present machine, if that requests its renewals. The channel of
   * a recorded lease is that of its machine, whatever the spec says.
   */
  view(key: string, object: GpuInstance): LeaseView | undefined {
    const known = this.#currentOf(key, object);
    if (!isRequesting(object, known !== undefined)) {
      this.forget(key);
      return undefined;
    }
    const view = this.#watched(key, object, known?.view ?? this.#recorded(object));
    return this.#options.reportUrl === undefined ? failing(view, NO_ADDRESS) : view;
  }

  forget(key: string): void {
    this.#known.delete(key);
    this.#timers.get(key)?.cancel();
    this.#timers.delete(key);
  }

  stop(): void {
    for (const key of [...this.#timers.keys()]) this.forget(key);
  }

  #currentOf(key: string, { status }: GpuInstance): Known | undefined {
    const known = this.#known.get(key);
    return known?.instanceId === status?.instanceId ? known : undefined;
  }

  /** Notes a request. `since`: seconds for which the machine has counted no renewal; negative before the first one. */
  #note(key: string, object: GpuInstance, since: number): void {
    const now = this.#options.clock.monotonic();
    const { view, repliedAt } = this.#currentOf(key, object) ?? { view: undefined, repliedAt: undefined };
    if (repliedAt !== undefined && now - repliedAt < SPACING_MS) return;
    const confirmedAt = since < 0 ? undefined : now - since * 1_000;
    const isUnseen =
      repliedAt !== undefined &&
      (confirmedAt === undefined ? now - repliedAt < UNSEEN_MS : confirmedAt < repliedAt - UNSEEN_MS);
    const failures = isUnseen ? (view?.failures ?? 0) + 1 : 0;
    const isRefused = failures >= FAILURES_UNTIL_EVENT;
    // A container that has just started repeats a request, too.
    const renewedAt = isRefused ? confirmedAt : now;
    const next: LeaseView = {
      ...{ by: 'Report', hostKey: undefined, failures },
      ...(renewedAt !== undefined && { renewedAt }),
      ...(isRefused && { detail: NOT_ACCEPTED }),
    };
    this.#known.set(key, { instanceId: object.status?.instanceId ?? '', view: next, repliedAt: now });
    this.#onChange(key);
  }

  /** Returns the recorded lease. A container that started after the last renewal counts from its start. */
  #recorded({ status }: GpuInstance): LeaseView {
    const { clock } = this.#options;
    const renewedAt = parseTime(status?.lease?.renewedAt);
    const from = renewedAt === undefined ? undefined : Math.max(renewedAt, lastRunAt(status) ?? renewedAt);
    const ageMs = from === undefined ? -1 : clock.now() - from;
    return {
      ...{ by: 'Report', failures: 0, hostKey: undefined },
      ...(ageMs >= 0 && { renewedAt: clock.monotonic() - ageMs }),
    };
  }

  /** Returns the view with the silence of its machine, and enqueues the object when that begins. */
  #watched(key: string, object: GpuInstance, view: LeaseView): LeaseView {
    const { clock } = this.#options;
    this.#timers.get(key)?.cancel();
    this.#timers.delete(key);
    const leftMs = this.#silentAfterMs(object, view);
    if (leftMs <= 0) return view.detail === undefined ? failing(view, SILENT) : view;
    const wake = () => this.#onChange(key);
    this.#timers.set(key, clock.setTimer(leftMs, wake, { background: true }));
    return view;
  }

  /** Returns the milliseconds until the silence of the machine is a failure. */
  #silentAfterMs(object: GpuInstance, { renewedAt }: LeaseView): number {
    const { clock } = this.#options;
    if (renewedAt !== undefined) return renewedAt + (leaseMs(object) ?? 0) / 2 - clock.monotonic();
    const { status } = object;
    const from = Math.max(parseTime(status?.lease?.since) ?? clock.now(), lastRunAt(status) ?? 0);
    return from + FIRST_REQUEST_MS - clock.now();
  }
}

/**
 * Returns true if the machine runs, and requests the renewals of its lease. A request alone proves no lease by Report: any
 * program on a machine can send one, and would hide that renewals over SSH fail.
 */
function isRequesting(object: GpuInstance, hasRequested: boolean): boolean {
  const { metadata, spec, status } = object;
  if (metadata.deletionTimestamp !== undefined || status?.instanceId === undefined) return false;
  if (leaseMs(object) === undefined || isAtRest(recordedState(status))) return false;
  if (status.lease !== undefined) return status.lease.by === 'Report';
  // Without a record, the spec decides. If it has no lease any more, no other channel renews the machine's.
  if (spec.lease === undefined) return hasRequested;
  return spec.lease.by === 'Report' && (hasRequested || isUp(status));
}

function failing(view: LeaseView, detail: string): LeaseView {
  return { ...view, failures: Math.max(view.failures, FAILURES_UNTIL_EVENT), detail };
}
