import {
  GATEWAY_REPORTS_PATH,
  type GatewayGroupReport,
  type GatewayReply,
  type GatewayReport,
  gatewayReply,
  MAX_GATEWAY_REPORT_BYTES,
} from '../api/gateway-report.ts';
import { inBackground } from '../lib/background.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import { sameJson } from '../lib/json.ts';
import type { Logger } from '../lib/logger.ts';
import type { Transport } from '../lib/transport.ts';
import { readText } from '../runtime/kube/json-stream.ts';

export interface ReportClientOptions {
  /** URL of the operator's metrics, such as `http://gpu-rental-operator-metrics:8080`. */
  readonly operatorUrl: URL;
  /** Unique name of this process, never used again. */
  readonly picker: string;
  readonly transport: Transport;
  /** Header fields that authenticate the picker. */
  readonly credentials: () => Promise<Readonly<Record<string, string>>>;
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the present reports. */
  readonly groups: () => GatewayGroupReport[];
  readonly onReply: (reply: GatewayReply) => void;
}

/** Milliseconds between reports while figures change. */
export const REPORT_MS = 1_000;
/** Milliseconds between reports without changes: the operator drops a picker after 15 s of silence. */
export const SAME_REPORT_MS = 5_000;
/** Timeout of one report. */
const DEADLINE_MS = 2_000;
/**
 * Maximum number of attempts for a report. The Service routes to any replica, and only the leader accepts reports, so
 * a new connection may reach another replica.
 */
const ATTEMPTS = 5;
const UNAVAILABLE = 503;

/**
 * Reports arriving, waiting and running requests to the operator: each second while figures change, every 5 s
 * otherwise, and immediately when a request waits for a worker that must be started. Reports consist of counters, so
 * the next report also covers an undelivered one. It never rejects: failures are logged when they begin and when they
 * end.
 */
export class ReportClient {
  readonly #options: ReportClientOptions;
  #timer: Timer | undefined;
  /** The running report; at most one. */
  #sending: Promise<void> | undefined;
  #isDueAtOnce = false;
  #wasAccepted = false;
  #reported: readonly GatewayGroupReport[] | undefined;
  #reportedAt = Number.NEGATIVE_INFINITY;
  /** Monotonic time since which every report has failed. */
  #outage: { readonly cause: string; readonly since: number } | undefined;
  #isEnded = false;

  constructor(options: ReportClientOptions) {
    this.#options = options;
  }

  start(): void {
    this.#arm();
  }

  /** Returns the seconds since a report last reached the operator; 0 while reports arrive. */
  get unreachableSeconds(): number {
    const since = this.#outage?.since;
    return since === undefined ? 0 : Math.round((this.#options.clock.monotonic() - since) / 1_000);
  }

  /** Sends a report now, or as soon as the running one is answered. */
  reportNow(): void {
    this.#isDueAtOnce = true;
    this.#report();
  }

  /** Resolves when the last report was sent: without it the operator would keep workers for finished requests. */
  async end(): Promise<void> {
    this.#isEnded = true;
    this.#timer?.cancel();
    await this.#sending;
    await this.#send(this.#options.groups());
  }

  #arm(): void {
    if (this.#isEnded) return;
    this.#timer?.cancel();
    this.#timer = this.#options.clock.setTimer(REPORT_MS, () => this.#report(), { background: true });
  }

  #report(): void {
    if (this.#isEnded || this.#sending) return;
    const groups = this.#options.groups();
    const isDue =
      this.#isDueAtOnce ||
      !sameJson(groups, this.#reported) ||
      this.#options.clock.monotonic() - this.#reportedAt >= SAME_REPORT_MS;
    this.#isDueAtOnce = false;
    if (!isDue) {
      this.#arm();
      return;
    }
    this.#sending = this.#send(groups);
    const sent = async (): Promise<void> => {
      await this.#sending;
      this.#sending = undefined;
      if (this.#isDueAtOnce) this.#report();
      else this.#arm();
    };
    inBackground({ task: 'gateway report' }, sent, (error) =>
      this.#options.log.error('Cannot create a report', { error }),
    );
  }

  async #send(groups: GatewayGroupReport[]): Promise<void> {
    const { picker, clock, onReply } = this.#options;
    const report: GatewayReport = { picker, ...(!this.#wasAccepted && { first: true }), groups };
    this.#reportedAt = clock.monotonic();
    const outcome = await this.#deliver(JSON.stringify(report));
    if (typeof outcome === 'string') {
      this.#notice(outcome);
      return;
    }
    this.#wasAccepted = true;
    this.#reported = groups;
    this.#notice(undefined);
    onReply(outcome);
  }

  /** Returns the reply of the leader, or the reason for its absence. */
  async #deliver(body: string): Promise<GatewayReply | string> {
    let problem = '';
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const outcome = await this.#attempt(body);
      if (typeof outcome !== 'string') return outcome;
      problem = outcome;
      if (!problem.startsWith(String(UNAVAILABLE))) break;
    }
    return problem;
  }

  async #attempt(body: string): Promise<GatewayReply | string> {
    const { operatorUrl, transport, credentials } = this.#options;
    try {
      const response = await transport({
        method: 'POST',
        origin: operatorUrl.origin,
        path: `${operatorUrl.pathname.replace(/\/$/, '')}${GATEWAY_REPORTS_PATH}`,
        headers: { ...(await credentials()), 'content-type': 'application/json' },
        body,
        // oxlint-disable-next-line no-restricted-properties -- ends within the deadline, and the process has no simulation
        signal: AbortSignal.timeout(DEADLINE_MS),
      });
      const text = await readText(response.body, MAX_GATEWAY_REPORT_BYTES);
      return response.status === 200
        ? gatewayReply.parse(JSON.parse(text))
        : `${response.status} ${text.slice(0, 200)}`;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  #notice(problem: string | undefined): void {
    const { log, operatorUrl, clock } = this.#options;
    if (problem === undefined) {
      const outage = this.#outage;
      if (outage)
        log.info('Reports reach the operator again', {
          cause: outage.cause,
          seconds: this.unreachableSeconds,
        });
      this.#outage = undefined;
      return;
    }
    if (this.#outage) return;
    this.#outage = { cause: problem, since: clock.monotonic() };
    log.warn('Reports do not reach the operator: groups that follow their gateway keep their workers', {
      operatorUrl: operatorUrl.href,
      cause: problem,
    });
  }
}
