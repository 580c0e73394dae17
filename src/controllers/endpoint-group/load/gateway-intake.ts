import { type GatewayReply, type GatewayReport, gatewayReport } from '../../../api/gateway-report.ts';
import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import { loadTypeOf } from '../../../api/v1alpha1/load-source.ts';
import type { Clock } from '../../../lib/clock.ts';
import { objectKey, uidOf } from '../../../runtime/kube/kube-object.ts';
import { hasGateway } from '../publish/endpoints.ts';
import type { ScalingTimes } from '../times.ts';
import { gatewayWorkers, PICKER_SILENT_MS } from './pickers.ts';
import type { LoadStore } from './state.ts';

/** What a picker's POST is answered with. */
export type GatewayAnswer =
  | { readonly status: 200; readonly reply: GatewayReply }
  | { readonly status: 400 | 429 | 503; readonly message: string };

export interface GatewayIntakeOptions {
  readonly clock: Clock;
  readonly loadStore: LoadStore;
  readonly times: ScalingTimes;
  /** The group of this key, which is its namespace and name. */
  readonly groupOf: (key: string) => EndpointGroup | undefined;
  /** A follower's figures decide nothing: pickers are to try again. */
  readonly isLeading: () => boolean;
  /** Requests wait for this group. */
  readonly onHeld: (group: EndpointGroup) => void;
}

/** So many processes serve one cluster at most. */
const MAX_PICKERS = 64;

/** Takes the reports of `gpu-rent endpoint-picker`. */
export class GatewayIntake {
  readonly #options: GatewayIntakeOptions;
  /** When each picker last reported, by our clock that never goes back. */
  readonly #lastAt = new Map<string, number>();

  constructor(options: GatewayIntakeOptions) {
    this.#options = options;
  }

  /** `body` is parsed JSON. Never throws: a bad report is answered with what is wrong in it. */
  take(body: unknown): GatewayAnswer {
    if (!this.#options.isLeading()) return { status: 503, message: 'another replica leads; try again' };
    const parsed = gatewayReport.safeParse(body);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return { status: 400, message: `${issue?.path.join('.') || 'the body'}: ${issue?.message ?? 'wrong'}` };
    }
    const { picker } = parsed.data;
    if (!this.#admits(picker)) return { status: 429, message: `there are ${MAX_PICKERS} pickers already` };
    const groups = parsed.data.groups.flatMap((report) => this.#takeGroup(parsed.data, report));
    return { status: 200, reply: { pickers: this.#lastAt.size, groups } };
  }

  /** False where it is one too many: whoever invents names pushes out none that reports. */
  #admits(picker: string): boolean {
    const now = this.#options.clock.monotonic();
    for (const [name, at] of this.#lastAt) if (now - at >= PICKER_SILENT_MS) this.#lastAt.delete(name);
    if (!this.#lastAt.has(picker) && this.#lastAt.size >= MAX_PICKERS) return false;
    this.#lastAt.set(picker, now);
    return true;
  }

  /** A group that is gone, or has no gateway any more, is left out. */
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
