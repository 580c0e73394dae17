import * as z from 'zod';
import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { loadTypeOf } from '../../../api/v1alpha1/load-source.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Secret } from '../../../lib/secret.ts';
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

/** A report as a worker pushed it. */
export interface Pushed {
  readonly record: LoadRecord;
  /** Work for which it asks another worker to wake; 0 where it does not. */
  readonly wakeCost: number;
}

/**
 * Reads a report of the public worker protocol. With `new_load` it holds amounts since the last accepted report;
 * without, it is the older form, whose `cur_load` is a rate. Throws `FigureError` naming the figure that is wrong.
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

import { timingSafeEqual } from 'node:crypto';

/** What a worker's POST is answered with. */
export interface PushReply {
  readonly status: number;
  readonly message: string;
}

export interface PushOptions {
  readonly clock: Clock;
  readonly loadStore: LoadStore;
  readonly times: ScalingTimes;
  /** The GpuInstances that an instance id names: one for each marketplace that has such an id. */
  readonly instancesById: (id: string) => readonly GpuInstance[];
  /** The group that controls a worker, and no other that has its name or is named by its label. */
  readonly groupOf: (worker: GpuInstance) => EndpointGroup | undefined;
  readonly tokenOf: (worker: GpuInstance) => Secret | undefined;
  /** A follower's figures decide nothing: workers are to try again. */
  readonly isLeading: () => boolean;
  /** A worker asks for more of its kind. */
  readonly onWake: (group: EndpointGroup) => void;
}

/** Reports of one worker come further apart than this. */
const MIN_SPACING_MS = 100;

const OK: PushReply = { status: 200, message: 'ok' };
const DENIED: PushReply = { status: 401, message: 'id and mtoken do not belong to a worker of a group' };

/** Takes the reports that workers send by themselves, in the public worker protocol. */
export class PushIntake {
  readonly #options: PushOptions;

  constructor(options: PushOptions) {
    this.#options = options;
  }

  /** `body` is parsed JSON. Never throws: a bad report is answered with what is wrong in it. */
  take(path: string, body: unknown): PushReply {
    if (!this.#options.isLeading()) return { status: 503, message: 'another replica leads; try again' };
    switch (path) {
      case '/worker_status/':
        return this.#workerStatus(body);
      case '/delete_requests/':
        return this.#sender(body) ? OK : DENIED;
      default:
        return { status: 404, message: 'there are /worker_status/ and /delete_requests/' };
    }
  }

  #workerStatus(body: unknown): PushReply {
    const { loadStore, clock, times, onWake } = this.#options;
    const sender = this.#sender(body);
    if (!sender) return DENIED;
    const { group, instance } = sender;
    if (loadTypeOf(group.spec) !== 'Push')
      return { status: 409, message: 'the group of this worker does not take reports; set load.type: Push' };
    const uid = uidOf(group);
    const at = clock.now();
    const { reporter } = workerOf(instance, at);
    const before = loadStore.get(uid).reporters.get(reporter);
    if (before && isTooSoon(at - before.at))
      return { status: 429, message: 'reports come too fast; send one each second at most' };
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

  /** The worker that a body names and whose token it shows. */
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

/** A span that is negative says that our clock was set back. */
function isTooSoon(spanMs: number): boolean {
  return spanMs >= 0 && spanMs < MIN_SPACING_MS;
}

function isSame(shown: string, token: string): boolean {
  const [a, b] = [Buffer.from(shown), Buffer.from(token)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The protocol sends ids as numbers, and as texts where they come out of the environment. */
function idIn(body: unknown, name: string): string | undefined {
  const value = valueIn(body, name);
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  return typeof value === 'string' && /^[0-9]{1,15}$/.test(value) ? String(Number(value)) : undefined;
}

function textIn(body: unknown, name: string): string | undefined {
  const value = valueIn(body, name);
  return typeof value === 'string' ? value : undefined;
}

function valueIn(body: unknown, name: string): unknown {
  if (typeof body !== 'object' || body === null || !Object.hasOwn(body, name)) return undefined;
  return Reflect.get(body, name);
}
