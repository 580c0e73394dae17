import type { JsonObject } from '../memory-kube/json.ts';
import type { Stage } from './stage.ts';

/**
 * One stretch of an object's life that is written for one step of the protocol: what people do, and what strikes
 * which call. The operator is the one that ships, and the promises are those of every schedule.
 */
export interface Story {
  /** What happens, in a sentence. */
  readonly name: string;
  /** What the operator is started with beside its defaults. */
  readonly flags?: { readonly maxRentalsPerHour?: number; readonly pacing?: 'off' };
  /** With a sweeper that destroys, and two machines may overlap for a while. */
  readonly sweeps?: boolean;
  /** So many objects instead of `a` alone: `a`, `m-2`, `m-3` and so on, in a market of twice as many machines. */
  readonly fleet?: number;
  /** The life of a group instead of an object called `a`: its first load, and what differs from the usual spec. */
  readonly group?: { readonly load: number; readonly spec?: JsonObject };
  /** Load comes through a gateway that a Prometheus behind a prom-label-proxy watches. */
  readonly hasGateway?: boolean;
  /** Workers of the group answer when they are asked for their load. */
  readonly hasReports?: boolean;
  /** Of two things that are due in one moment, such as a reply and its deadline after a freeze, it says which comes first. */
  readonly seed?: number;
  /** When it begins, in epoch milliseconds, if it needs a date of its own. */
  readonly startsAt?: number;
  /** By this second everything wanted has to be there, and nothing else. */
  readonly seconds: number;
  /** A machine that nobody claims may be left at the end: a policy says so. */
  readonly mayLeave?: boolean;
  /** At the end the heap is asked what it still holds of objects that are gone. */
  readonly asksMemory?: boolean;
  readonly plot: (stage: Stage) => void;
}
