import * as z from 'zod';
import {
  type Arrived,
  believable,
  believableIfGiven,
  FigureError,
  type LoadRecord,
  measuredPerf,
} from './record.ts';

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
