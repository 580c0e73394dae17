import type { AccountSession } from '../../accounts/session.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { leaseMs } from '../../instance/machine-fuses.ts';
import { isAtRest, isUp, recordedState } from '../../instance/machine-state.ts';
import { FUSE_FOLDER, fuseFiles } from '../../instance/self-end.ts';
import { inBackground } from '../../lib/background.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import type { Secret } from '../../lib/secret.ts';
import { fittingText } from '../../lib/text.ts';
import { parseTime } from '../../lib/time.ts';
import { MarketplaceError } from '../../market/errors.ts';
import type { Identity } from '../../ownership/identity.ts';
import { sshKeyOf } from '../../ownership/ssh-key.ts';
import type { SocketAddress } from '../../reach/machine-addresses.ts';
import { type DialOptions, dialName } from './dial-name.ts';
import type { LeaseView } from './types.ts';

/**
 * Changes the content of the file with which the machine's fuse detects a renewed lease. The words are fixed: they
 * contain nothing of the object, its spec or the machine. The command fails if no fuse runs. Its output shows whether
 * the fuse has proved itself.
 */
export const RENEW_COMMAND = [
  `cd ${FUSE_FOLDER}`,
  'n=$(cat renew 2>/dev/null || echo 0)',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell of the machine reads it
  'echo $((${n%%[!0-9]*}+1)) >renew.new',
  'mv renew.new renew',
  'ls',
].join(' && ');

/** Command on a machine. */
export interface SshCommand extends SocketAddress {
  readonly user: string;
  readonly privateKey: Secret;
  /** SHA-256 of the host key that the machine must prove, in hex; undefined at the first connection to it. */
  readonly hostKey: string | undefined;
  readonly command: string;
  /** For the connection and the command together. */
  readonly timeoutMs: number;
}

/** Result of a command by SSH. */
export type SshResult =
  | { readonly type: 'ended'; readonly exitCode: number; readonly output: string; readonly hostKey: string }
  /** The machine does not accept the key. */
  | { readonly type: 'keyRefused'; readonly hostKey: string }
  /** Another machine answers, or the host key changed. The private key was not used. */
  | { readonly type: 'otherHost'; readonly hostKey: string }
  | { readonly type: 'failed'; readonly detail: string };

/** Logs in to a machine by SSH and runs one command. Never rejects. */
export type SshRunner = (command: Omit<SshCommand, 'user'>) => Promise<SshResult>;

const SSH_TIMEOUT_MS = 20_000;
/** Retry interval after a key was attached: the machine needs a few seconds to accept it. */
const ATTACHED_RETRY_MS = 15_000;
const SHORTEST_RETRY_MS = 30_000;
const MAX_DETAIL_LENGTH = 160;

/**
 * Parts of a lease's duration: a renewal each fifth, a retry each sixty-fourth. A silence of three quarters then ends
 * no machine, even with a renewal that was about to start and the timeout of an earlier one.
 */
const RENEWALS = 5;
const RETRIES = 64;
/** Time within which a process that has just begun renews each lease: a clock may have been set since the record. */
const RESTART_MS = 15_000;

interface LeaseTarget extends SocketAddress {
  readonly uid: string;
  readonly instanceId: string;
  readonly durationMs: number;
}

/**
 * Returns the machine whose lease is to be renewed; undefined without a lease by SSH, or before the machine runs. An
 * armed lease is also renewed while lists show the machine as offline or with an unknown state: it may work, and
 * would end itself.
 */
function targetOf(object: GpuInstance): LeaseTarget | undefined {
  const { metadata, spec, status } = object;
  const isDesired = mayBeArmed(object)
    ? status?.lease?.by !== 'Report' && !isAtRest(recordedState(status))
    : spec.lease?.by === 'SSH' && isUp(status);
  if (!isDesired || metadata.deletionTimestamp !== undefined) return undefined;
  const durationMs = leaseMs(object);
  if (!status?.ssh || status.instanceId === undefined || durationMs === undefined) return undefined;
  return { ...status.ssh, uid: metadata.uid ?? '', instanceId: status.instanceId, durationMs };
}

/** Returns true if the machine may count without a renewal: the operator recorded that it would send the first one. */
function mayBeArmed({ status }: GpuInstance): boolean {
  return status?.lease !== undefined;
}

const NOT_RECORDED: LeaseView = { failures: 0, hostKey: undefined };

interface Schedule {
  readonly identity: string;
  readonly target: LeaseTarget;
  timer: Timer | undefined;
  view: LeaseView;
}

export interface LeaseSchedulesOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Undefined: no machine is reached by SSH, and leases are not renewed. */
  readonly runSsh: SshRunner | undefined;
  readonly identity: () => Identity | undefined;
  /** Login of the account of the object; undefined while it is not ready. */
  readonly sessionOf: (object: GpuInstance) => AccountSession | undefined;
  readonly onChange: (key: string) => void;
}

/**
 * Renews the leases of running machines by SSH: each fifth of the duration, a little earlier by chance. A failed
 * renewal is repeated each sixty-fourth, but not more often than every 30 s. A process that begins renews all of them.
 */
export class LeaseSchedules {
  readonly #options: LeaseSchedulesOptions;
  readonly #schedules = new Map<string, Schedule>();

  constructor(options: LeaseSchedulesOptions) {
    this.#options = options;
  }

  /**
   * Returns the known state of the lease of the object's present machine, and renews it when due. It sends nothing
   * before the status records the renewal: an unrecorded armed machine would end itself if the lease were then
   * removed from the spec.
   */
  view(key: string, object: GpuInstance): LeaseView | undefined {
    const target = this.#options.runSsh && targetOf(object);
    if (!target) {
      this.forget(key);
      return undefined;
    }
    if (!mayBeArmed(object)) return NOT_RECORDED;
    const identity = JSON.stringify(target);
    const known = this.#schedules.get(key);
    if (known?.identity === identity) return known.view;
    this.forget(key);
    const view = this.#recorded(object, known?.target.instanceId === target.instanceId ? known : undefined);
    const schedule: Schedule = { identity, target, timer: undefined, view };
    this.#schedules.set(key, schedule);
    this.#arm(key, { schedule, object }, known ? 0 : this.#firstMs(view));
    return view;
  }

  /**
   * Returns the delay of the first renewal by this process, so that renewals of many machines do not start at the
   * same time.
   */
  #firstMs({ renewedAt }: LeaseView): number {
    return renewedAt === undefined ? 0 : RESTART_MS * this.#options.random.next();
  }

  forget(key: string): void {
    this.#schedules.get(key)?.timer?.cancel();
    this.#schedules.delete(key);
  }

  stop(): void {
    for (const key of [...this.#schedules.keys()]) this.forget(key);
  }

  /** Returns the recorded lease. It ignores a renewal in the future. */
  #recorded({ status }: GpuInstance, known: Schedule | undefined): LeaseView {
    if (known) return known.view;
    const { clock } = this.#options;
    const { renewedAt, hostKey } = status?.lease ?? {};
    const ageMs = clock.now() - (parseTime(renewedAt) ?? Number.POSITIVE_INFINITY);
    return { failures: 0, hostKey, ...(ageMs >= 0 && { renewedAt: clock.monotonic() - ageMs }) };
  }

  #arm(key: string, leased: Leased, delayMs: number): void {
    const renew = () =>
      inBackground(
        { task: 'lease renewal', object: key },
        () => this.#renew(key, leased),
        (error) => {
          this.#options.log.error('Lease renewal failed', { object: key, error });
          if (this.#isCurrent(key, leased)) this.#arm(key, leased, retryMs(leased.schedule.target));
        },
      );
    leased.schedule.timer = this.#options.clock.setTimer(delayMs, renew, { background: true });
  }

  #isCurrent(key: string, { schedule }: Leased): boolean {
    return this.#schedules.get(key) === schedule;
  }

  async #renew(key: string, leased: Leased): Promise<void> {
    const sentAt = this.#options.clock.monotonic();
    const renewal = await this.#attempt(leased);
    if (!this.#isCurrent(key, leased)) return;
    const { schedule } = leased;
    const { durationMs } = schedule.target;
    const { renewedAt, hostKey, failures } = schedule.view;
    if (renewal.type === 'renewed') {
      const { hostKey: proven, isProven } = renewal;
      schedule.view = { renewedAt: sentAt, hostKey: proven, failures: 0, ...(isProven && { isProven }) };
      this.#arm(key, leased, (durationMs / RENEWALS) * (0.8 + 0.2 * this.#options.random.next()));
    } else {
      const detail = fittingText(renewal.detail, MAX_DETAIL_LENGTH);
      const isFailure = renewal.type === 'failed';
      schedule.view = {
        ...{ hostKey, failures: isFailure ? failures + 1 : failures },
        ...(detail !== undefined && { detail }),
        ...(renewedAt !== undefined && { renewedAt }),
      };
      this.#arm(key, leased, isFailure ? retryMs(schedule.target) : ATTACHED_RETRY_MS);
    }
    this.#options.onChange(key);
  }

  async #attempt({ schedule: { target, view }, object }: Leased): Promise<Renewal> {
    const { runSsh, identity } = this.#options;
    const keys = identity()?.keys;
    if (!runSsh || !keys) return failed('the identity of the operator is not known yet');
    const { privateKey, publicKey } = sshKeyOf(keys);
    const result = await runSsh({
      ...{ host: target.host, port: target.port, privateKey, hostKey: view.hostKey },
      ...{ command: RENEW_COMMAND, timeoutMs: SSH_TIMEOUT_MS },
    });
    if (result.type === 'keyRefused') return this.#attachKey(object, target, publicKey);
    return renewalOf(result);
  }

  /** Adds the operator's key to the machine: it may have been rented before the lease, or by another identity. */
  async #attachKey(object: GpuInstance, { instanceId }: LeaseTarget, publicKey: string): Promise<Renewal> {
    const market = this.#options.sessionOf(object)?.market;
    if (!market) return failed('the machine refuses the key, and the account is not ready to add it');
    if (!market.attachSshKey) return failed(`the market ${market.about.name} adds no SSH keys to machines`);
    try {
      await market.attachSshKey(instanceId, publicKey);
      return { type: 'attached', detail: 'the SSH key of the operator was just added to the machine' };
    } catch (error) {
      if (!(error instanceof MarketplaceError)) throw error;
      return failed(`the machine refuses the key, and the market did not add it: ${error.message}`);
    }
  }
}

interface Leased {
  readonly schedule: Schedule;
  readonly object: GpuInstance;
}

type Renewal =
  | { readonly type: 'renewed'; readonly hostKey: string; readonly isProven: boolean }
  /** The next try, in a moment, may succeed. */
  | { readonly type: 'attached'; readonly detail: string }
  | { readonly type: 'failed'; readonly detail: string };

function renewalOf(result: Exclude<SshResult, { type: 'keyRefused' }>): Renewal {
  switch (result.type) {
    case 'ended':
      return result.exitCode === 0
        ? { type: 'renewed', hostKey: result.hostKey, isProven: fuseFiles(result.output) === 'proof' }
        : failed('no fuse runs on the machine: its start script has not begun, or removed it');
    case 'otherHost':
      return failed('another SSH host key answers at the address of the machine');
    case 'failed':
      return failed(result.detail);
  }
}

function failed(detail: string): Renewal {
  return { type: 'failed', detail };
}

function retryMs({ durationMs }: LeaseTarget): number {
  return Math.max(SHORTEST_RETRY_MS, durationMs / RETRIES);
}

/** Returns the SSH runner of a process. It connects only to addresses that the rules for machines allow. */
export function createSshRunner(
  options: DialOptions & { readonly run: (command: SshCommand) => Promise<SshResult> },
): SshRunner {
  return async (command) => {
    const found = await dialName(command, options);
    if ('problem' in found) return { type: 'failed', detail: `the machine is not reached: ${found.problem}` };
    return options.run({ ...command, host: found.host, user: 'root' });
  };
}
