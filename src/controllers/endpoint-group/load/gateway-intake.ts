import { type GatewayReply, type GatewayReport, gatewayReport } from '../../../api/gateway-report.ts';
import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { loadTypeOf } from '../../../api/v1alpha1/load-source.ts';
import type { Clock } from '../../../lib/clock.ts';
import { objectKey, uidOf } from '../../../runtime/kube/kube-object.ts';
import { hasGateway } from '../publish/endpoints.ts';
import type { ScalingTimes } from '../times.ts';
import { gatewayWorkers, PICKER_SILENT_MS } from './pickers.ts';
import type { LoadStore } from './state.ts';

/** Response to the POST of a picker. */
export type GatewayAnswer =
  | { readonly status: 200; readonly reply: GatewayReply }
  | { readonly status: 400 | 429 | 503; readonly message: string };

export interface GatewayIntakeOptions {
  readonly clock: Clock;
  readonly loadStore: LoadStore;
  readonly times: ScalingTimes;
  /** Returns the group of this key: namespace and name. */
  readonly groupOf: (key: string) => EndpointGroup | undefined;
  /** Only the leader accepts reports. A follower asks the picker to retry. */
  readonly isLeading: () => boolean;
  /** Called when requests of this group wait. */
  readonly onHeld: (group: EndpointGroup) => void;
}

/** Maximum number of pickers of one cluster. */
const MAX_PICKERS = 64;

/** Accepts the reports of `gpu-rent endpoint-picker`. */
export class GatewayIntake {
  readonly #options: GatewayIntakeOptions;
  /** Time of each picker's last report, on the monotonic clock. */
  readonly #lastAt = new Map<string, number>();

  constructor(options: GatewayIntakeOptions) {
    this.#options = options;
  }

  /** Handles a parsed JSON body. Never throws: the response names the error of an invalid report. */
  take(body: unknown): GatewayAnswer {
    if (!this.#options.isLeading()) return { status: 503, message: 'another replica is the leader; retry' };
    const parsed = gatewayReport.safeParse(body);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return {
        status: 400,
        message: `${issue?.path.join('.') || 'the body'}: ${issue?.message ?? 'invalid'}`,
      };
    }
    const { picker } = parsed.data;
    if (!this.#admits(picker))
      return { status: 429, message: `too many pickers: ${MAX_PICKERS} report already` };
    const groups = parsed.data.groups.flatMap((report) => this.#takeGroup(parsed.data, report));
    return { status: 200, reply: { pickers: this.#lastAt.size, groups } };
  }

  /** Returns false for one picker too many. Invented names displace no picker that reports. */
  #admits(picker: string): boolean {
    const now = this.#options.clock.monotonic();
    for (const [name, at] of this.#lastAt) if (now - at >= PICKER_SILENT_MS) this.#lastAt.delete(name);
    if (!this.#lastAt.has(picker) && this.#lastAt.size >= MAX_PICKERS) return false;
    this.#lastAt.set(picker, now);
    return true;
  }

  /** Adds the report of one group and returns its entry of the reply; empty without the group or its gateway. */
  #takeGroup(
    { picker, first = false }: GatewayReport,
    report: GatewayReport['groups'][number],
  ): GatewayReply['groups'] {
    const { loadStore, clock, times, groupOf, onHeld } = this.#options;
    const { namespace, name } = report;
    const group = groupOf(objectKey({ namespace, name }));
    if (!group || !hasGateway(group)) return [];
    const uid = uidOf(group);
    const at = clock.now();
    const isSource = loadTypeOf(group.spec) === 'Gateway';
    loadStore.gatewayReport(uid, { picker, isFirst: first, report, at, isSource, times });
    if (report.heldRequests > 0) onHeld(group);
    const others = [...gatewayWorkers(loadStore.get(uid).pickers, at, picker)];
    const workers = others.flatMap(([worker, { requests, work, perf }]) =>
      requests + work > 0 || perf !== undefined
        ? [{ name: worker, requests, work, ...(perf !== undefined && { perf }) }]
        : [],
    );
    return [{ namespace, name, workers }];
  }
}
