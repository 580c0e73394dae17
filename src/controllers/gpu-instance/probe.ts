import {
  request as httpRequest,
  type OutgoingHttpHeaders,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { CONNECTION_HEADERS } from '../../api/v1alpha1/core.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { isUp } from '../../instance/machine-state.ts';
import { inBackground } from '../../lib/background.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { DeadlineError, withDeadline } from '../../lib/deadline.ts';
import type { Logger } from '../../lib/logger.ts';
import { type CallerTls, type MutualTls, nodeTlsOptions, tlsProblemOf } from '../../lib/mutual-tls.ts';
import { fittingText } from '../../lib/text.ts';
import { parseTime } from '../../lib/time.ts';
import { portAddress } from '../../reach/machine-addresses.ts';
import { type DialOptions, dialName } from './dial-name.ts';
import type { ProbeView } from './types.ts';

/** Request of a probe to a machine. */
export interface ProbeTarget {
  /** Host in the marketplace's words; the caller maps it if a map is configured. */
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
  readonly http:
    | {
        readonly scheme: 'HTTP' | 'HTTPS';
        readonly path: string;
        readonly headers: readonly { readonly name: string; readonly value: string }[];
      }
    | undefined;
  /** If set, HTTP uses TLS, whatever the scheme, and connects only to a machine that proves this name. */
  readonly tls?: MutualTls | undefined;
}

/**
 * Probes a machine once: undefined if it answers, else the problem in the operator's words. Rejects if no probe can
 * be sent.
 */
export type Prober = (target: ProbeTarget) => Promise<string | undefined>;

/** Failure of one probe; undefined if the machine answered. */
interface Failure {
  readonly detail: string;
}

interface Schedule {
  /** Identifies the machine and the probe. */
  readonly identity: string;
  timer: Timer | undefined;
  successes: number;
  failures: number;
  view: ProbeView | undefined;
}

/** Returns the target of an object's probe; undefined without a probe, or while its address is unknown. */
export function probeTarget({ spec, status }: GpuInstance): ProbeTarget | undefined {
  const { readinessProbe: probe } = spec;
  const action = probe?.httpGet ?? probe?.tcpSocket;
  if (!probe || !action || status?.runningAt === undefined) return undefined;
  const address = portAddress({ spec, status }, action.port);
  const { httpGet, timeoutSeconds } = probe;
  const http = httpGet && { scheme: httpGet.scheme, path: httpGet.path, headers: httpGet.httpHeaders ?? [] };
  return address && { ...address, timeoutMs: timeoutSeconds * 1000, http };
}

/** Time after the probe's timeout at which a prober that has not settled is abandoned. */
const WATCHDOG_MS = 5_000;
/** Longest text of an error in a condition. */
const MAX_ERROR_LENGTH = 120;

/** Resolves to undefined for an object without mutual TLS. */
export type CallerOf = (object: GpuInstance) => Promise<CallerTls | undefined>;

interface ProbeScheduleOptions {
  readonly clock: Clock;
  readonly prober: Prober;
  /** TLS identity that probes present to a worker of a gateway; undefined for every other object. */
  readonly callerOf?: CallerOf | undefined;
  readonly log: Logger;
  readonly onChange: (key: string) => void;
}

/**
 * Runs readiness probes on their own timers, and reports a changed result. The next probe of an object is always
 * scheduled: a prober that throws or never settles is a failed probe of that object.
 */
export class ProbeSchedules {
  readonly #options: ProbeScheduleOptions;
  readonly #clock: Clock;
  readonly #schedules = new Map<string, Schedule>();

  constructor(options: ProbeScheduleOptions) {
    this.#options = options;
    this.#clock = options.clock;
  }

  /** Returns the latest probe result of the object's present machine; starts probing it if needed. */
  view(key: string, object: GpuInstance): ProbeView | undefined {
    const target = isUp(object.status) ? probeTarget(object) : undefined;
    if (!target) {
      this.forget(key);
      return undefined;
    }
    const identity = JSON.stringify([
      object.metadata.uid,
      object.status?.instanceId,
      target,
      object.spec.readinessProbe,
    ]);
    const known = this.#schedules.get(key);
    if (known?.identity === identity) return known.view;
    this.forget(key);
    const schedule: Schedule = { identity, timer: undefined, successes: 0, failures: 0, view: undefined };
    this.#schedules.set(key, schedule);
    const now = this.#clock.now();
    const delayMs = (object.spec.readinessProbe?.initialDelaySeconds ?? 0) * 1000;
    const dueAt = (parseTime(object.status?.runningAt) ?? now) + delayMs;
    this.#arm(key, { schedule, target, object }, Math.max(0, dueAt - now));
    return undefined;
  }

  forget(key: string): void {
    this.#schedules.get(key)?.timer?.cancel();
    this.#schedules.delete(key);
  }

  stop(): void {
    for (const key of [...this.#schedules.keys()]) this.forget(key);
  }

  #arm(key: string, probed: Probed, delayMs: number): void {
    const ask = () =>
      inBackground(
        { task: 'readiness probe', object: key },
        () => this.#ask(key, probed),
        (error) => {
          this.#options.log.error('Readiness probe failed', { object: key, error });
          if (this.#isCurrent(key, probed)) this.#armNext(key, probed);
        },
      );
    probed.schedule.timer = this.#clock.setTimer(delayMs, ask, { background: true });
  }

  #armNext(key: string, probed: Probed): void {
    this.#arm(key, probed, (probed.object.spec.readinessProbe?.periodSeconds ?? 10) * 1000);
  }

  #isCurrent(key: string, { schedule }: Probed): boolean {
    return this.#schedules.get(key) === schedule;
  }

  async #ask(key: string, probed: Probed): Promise<void> {
    const failure = await this.#failureOf(probed);
    if (!this.#isCurrent(key, probed)) return;
    const { schedule, object } = probed;
    const { successThreshold = 1, failureThreshold = 3 } = object.spec.readinessProbe ?? {};
    const before = schedule.view;
    // Thresholds as in a Pod: so many in a row change the state.
    schedule.successes = failure === undefined ? schedule.successes + 1 : 0;
    schedule.failures = failure === undefined ? 0 : schedule.failures + 1;
    if (failure === undefined) {
      if (schedule.successes >= successThreshold) schedule.view = { ready: true, detail: '' };
    } else if (schedule.failures >= failureThreshold || !schedule.view) {
      schedule.view = { ready: false, ...failure };
    }
    const after = schedule.view;
    if (before?.ready !== after?.ready || before?.detail !== after?.detail) this.#options.onChange(key);
    this.#armNext(key, probed);
  }

  async #failureOf({ target, object }: Probed): Promise<Failure | undefined> {
    try {
      const limit = { clock: this.#clock, limitMs: target.timeoutMs + WATCHDOG_MS };
      const problem = await withDeadline(limit, async () => {
        const caller = target.http && (await this.#options.callerOf?.(object));
        if (caller?.type === 'problem') throw new Error(caller.detail);
        return this.#options.prober(caller ? { ...target, tls: caller.tls } : target);
      });
      return problem === undefined ? undefined : { detail: problem };
    } catch (error) {
      if (error instanceof DeadlineError) return { detail: 'The probe did not answer.' };
      const text = error instanceof Error ? error.message : 'unknown error';
      return {
        detail: `The readiness probe cannot be sent: ${fittingText(text, MAX_ERROR_LENGTH)}`,
      };
    }
  }
}

interface Probed {
  readonly schedule: Schedule;
  readonly target: ProbeTarget;
  readonly object: GpuInstance;
}

/**
 * Creates the network prober. The address comes from the marketplace and the request from the tenant; neither is
 * trusted. It resolves a name first, checks every address with {@link dialName}, and connects to the checked address,
 * so that a changed name has no effect.
 */
export function createProber(options: DialOptions): Prober {
  return async (target) => {
    const found = await dialName(target, options);
    if ('problem' in found) return `The machine is not probed: ${found.problem}.`;
    const { host } = found;
    return target.http ? askHttp({ ...target, host }, target.http) : askTcp({ ...target, host });
  };
}

/** Connects by TCP; ready if a connection opens. */
function askTcp({ host, port, timeoutMs }: ProbeTarget): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const end = (problem: string | undefined) => {
      socket.destroy();
      resolve(problem);
    };
    socket.once('connect', () => end(undefined));
    socket.once('timeout', () => end('The connection did not open in time.'));
    socket.once('error', () => end('The connection was refused.'));
  });
}

/**
 * Sends a GET; ready if the answer is 200 to 399. A machine's certificate is verified only if the machine must prove
 * a name, as with the kubelet. Rejects, before anything is sent, if Node refuses the path or a header.
 */
function askHttp(
  { host, port, timeoutMs, tls }: ProbeTarget,
  { scheme, path, headers }: NonNullable<ProbeTarget['http']>,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = {
      host,
      port,
      path,
      headers: sendable(headers),
      // oxlint-disable-next-line no-restricted-properties -- a socket of Node, which no simulation drives
      signal: AbortSignal.timeout(timeoutMs),
      agent: false as const,
    };
    const secured = tls ? nodeTlsOptions(tls) : { rejectUnauthorized: false };
    const request =
      tls || scheme === 'HTTPS' ? httpsRequest({ ...options, ...secured }) : httpRequest(options);
    const end = (problem: string | undefined) => {
      resolve(problem);
      request.destroy();
    };
    // A destroyed request can still emit an error, which would crash the process without a listener.
    request.on('error', (error) => {
      const problem = tls && tlsProblemOf(error);
      end(problem === undefined ? 'The probe did not answer.' : `The machine ${problem}.`);
    });
    request.once('close', () => end('The probe did not answer.'));
    request.once('response', ({ statusCode = 0 }) => end(judged(statusCode)));
    // Without a listener Node destroys the connection and reports nothing.
    request.once('upgrade', ({ statusCode = 101 }, socket) => {
      socket.destroy();
      end(judged(statusCode));
    });
    request.end();
  });
}

/** Throws if Node would refuse one of them, or if one would change where the message ends. */
function sendable(
  headers: readonly { readonly name: string; readonly value: string }[],
): OutgoingHttpHeaders {
  for (const { name, value } of headers) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    if (CONNECTION_HEADERS.includes(name.toLowerCase()))
      throw new Error(`header ${name} belongs to the connection`);
  }
  return Object.fromEntries(headers.map(({ name, value }) => [name, value]));
}

function judged(statusCode: number): string | undefined {
  return statusCode >= 200 && statusCode < 400 ? undefined : `The probe answered ${statusCode}.`;
}
