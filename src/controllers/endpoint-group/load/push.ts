import * as z from 'zod';
import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { loadTypeOf } from '../../../api/v1alpha1/load-source.ts';
import { idIn, textIn } from '../../../lib/body-fields.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Secret } from '../../../lib/secret.ts';
import { isSame } from '../../../ownership/worker-token.ts';
import { uidOf } from '../../../runtime/kube/kube-object.ts';
import type { ScalingTimes } from '../times.ts';
import { workerOf } from '../workers/worker.ts';
import {
  type Arrived,
  believable,
  believableIfGiven,
  FigureError,
  type LoadRecord,
  type LoadStore,
  measuredPerf,
} from './state.ts';

const report = z.looseObject({
  new_load: z.unknown().optional(),
  rej_load: z.unknown().optional(),
  cur_load: z.unknown().optional(),
  max_perf: z.unknown().optional(),
  num_requests_working: z.unknown().optional(),
  error_msg: z.string().nullish(),
  wake: z.object({ cost: z.unknown() }).nullish(),
});

/** Report that a worker pushed. */
export interface Pushed {
  readonly record: LoadRecord;
  /** Work for which the worker requests another one to wake; 0 without a request. */
  readonly wakeCost: number;
}

/**
 * Reads a report of the public worker protocol. With `new_load` it contains amounts since the last accepted report.
 * Without it, in the older form, `cur_load` is a rate. Throws a {@link FigureError} that names the wrong figure.
 */
export function readPushed(body: unknown): Pushed {
  const parsed = report.safeParse(body);
  if (!parsed.success) throw new FigureError('the body is not a worker report');
  const { data } = parsed;
  const isNewer = data.new_load !== undefined && data.new_load !== null;
  const cost = believableIfGiven('wake.cost', data.wake?.cost) ?? 0;
  return {
    record: {
      arrived: arrivedOf(data, isNewer),
      currentLoad: isNewer ? (believableIfGiven('cur_load', data.cur_load) ?? 0) : 0,
      waitingLoad: undefined,
      maxPerf: measuredPerf('max_perf', data.max_perf),
      inFlight: believableIfGiven('num_requests_working', data.num_requests_working),
      error: (data.error_msg ?? '').slice(0, 256),
    },
    wakeCost: cost,
  };
}

function arrivedOf(data: z.output<typeof report>, isNewer: boolean): Arrived {
  if (!isNewer) return { type: 'rate', load: believableIfGiven('cur_load', data.cur_load) ?? 0 };
  return {
    type: 'amount',
    newLoad: believable('new_load', data.new_load),
    rejectedLoad: believableIfGiven('rej_load', data.rej_load) ?? 0,
  };
}

/** Response to the POST of a worker. */
export interface PushReply {
  readonly status: number;
  readonly message: string;
}

export interface PushOptions {
  readonly clock: Clock;
  readonly loadStore: LoadStore;
  readonly times: ScalingTimes;
  /** Returns the GpuInstances with this instance id, at most one for each marketplace. */
  readonly instancesById: (id: string) => readonly GpuInstance[];
  /** Returns the group that controls a worker. Its label and a name alone prove nothing. */
  readonly groupOf: (worker: GpuInstance) => EndpointGroup | undefined;
  readonly tokenOf: (worker: GpuInstance) => Secret | undefined;
  /** Only the leader accepts reports. A follower asks the worker to retry. */
  readonly isLeading: () => boolean;
  /** Called when a worker requests a wake. */
  readonly onWake: (group: EndpointGroup) => void;
}

/** Minimum interval between two reports of one worker. */
const MIN_SPACING_MS = 100;

const OK: PushReply = { status: 200, message: 'ok' };
const DENIED: PushReply = { status: 401, message: 'id and mtoken do not belong to a worker of a group' };

/** Accepts the reports that workers push, in the public worker protocol. */
export class PushIntake {
  readonly #options: PushOptions;

  constructor(options: PushOptions) {
    this.#options = options;
  }

  /** Handles a request with a parsed JSON body. Never throws: the response names the error of an invalid report. */
  take(path: string, body: unknown): PushReply {
    if (!this.#options.isLeading()) return { status: 503, message: 'another replica is the leader; retry' };
    switch (path) {
      case '/worker_status/':
        return this.#workerStatus(body);
      case '/delete_requests/':
        return this.#sender(body) ? OK : DENIED;
      default:
        return { status: 404, message: 'unknown path; use /worker_status/ or /delete_requests/' };
    }
  }

  #workerStatus(body: unknown): PushReply {
    const { loadStore, clock, times, onWake } = this.#options;
    const sender = this.#sender(body);
    if (!sender) return DENIED;
    const { group, instance } = sender;
    if (loadTypeOf(group.spec) !== 'Push')
      return {
        status: 409,
        message: 'the group of this worker does not accept reports; set load.type: Push',
      };
    const uid = uidOf(group);
    const at = clock.now();
    const { reporter } = workerOf(instance, at);
    const before = loadStore.get(uid).reporters.get(reporter);
    if (before && isTooSoon(at - before.at))
      return { status: 429, message: 'too many reports; send at most one per second' };
    try {
      const pushed = readPushed(body);
      loadStore.report(uid, { reporter, record: pushed.record, at, times });
      if (pushed.wakeCost > 0) onWake(group);
      return OK;
    } catch (error) {
      if (!(error instanceof FigureError)) throw error;
      const detail = `worker ${instance.metadata.name}: ${error.message}`;
      loadStore.problem(uid, reporter, { kind: 'invalid', detail, at });
      return { status: 400, message: error.message };
    }
  }

  /** Returns the worker with the id and the token of the body. */
  #sender(body: unknown): { group: EndpointGroup; instance: GpuInstance } | undefined {
    const id = idIn(body, 'id') ?? idIn(body, 'worker_id');
    const shown = textIn(body, 'mtoken');
    if (id === undefined || shown === undefined) return undefined;
    const instance = this.#options.instancesById(id).find((one) => this.#isTokenOf(one, shown));
    const group = instance && this.#options.groupOf(instance);
    return group && { group, instance };
  }

  #isTokenOf(instance: GpuInstance, shown: string): boolean {
    const token = this.#options.tokenOf(instance);
    return token !== undefined && isSame(shown, token.reveal());
  }
}

/** Returns true if the report came too soon. A negative span means that the clock went back. */
function isTooSoon(spanMs: number): boolean {
  return spanMs >= 0 && spanMs < MIN_SPACING_MS;
}
