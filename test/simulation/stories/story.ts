import type { JsonObject } from '../memory-kube/json.ts';
import type { Program } from '../programs.ts';
import type { ContainerOptions } from '../world.ts';
import type { Stage } from './stage.ts';

/**
 * Part of an object's life written for one step of the protocol: what people do, and which faults affect which call.
 * Operator and promises are those of every schedule.
 */
export interface Story {
  /** Description in one sentence. */
  readonly name: string;
  /** Flags of the operator beside its defaults. */
  readonly flags?: { readonly maxRentalsPerHour?: number; readonly pacing?: 'off' };
  /** With a sweeper that destroys, and two machines may overlap for a while. */
  readonly sweeps?: boolean;
  /** Number of objects instead of `a` alone: `a`, `m-2`, `m-3` and so on, in a market of twice as many machines. */
  readonly fleet?: number;
  /** The life of a group instead of an object called `a`: its first load, and what differs from the usual spec. */
  readonly group?: { readonly load: number; readonly spec?: JsonObject };
  /** Load comes through a gateway that a Prometheus behind a prom-label-proxy watches. */
  readonly hasGateway?: boolean;
  /** True if workers of the group answer load requests. */
  readonly hasReports?: boolean;
  /** Seed that orders events of the same moment, such as a response and its deadline after a freeze. */
  readonly seed?: number;
  /** When it begins, in epoch milliseconds, if it needs a date of its own. */
  readonly startsAt?: number;
  /** Second by which exactly the desired machines must exist. */
  readonly seconds: number;
  /** True if a policy allows an orphaned machine at the end. */
  readonly mayLeave?: boolean;
  /** True if the heap is searched at the end for objects that are gone. */
  readonly asksMemory?: boolean;
  /** The object `a` is a run with this `spec.completion`. */
  readonly run?: JsonObject;
  /** Program of each machine of a run, by the number of the machine from 1. */
  readonly programOf?: (rental: number) => Program;
  /** Undocumented properties of containers at the marketplace. */
  readonly containers?: ContainerOptions;
  readonly plot: (stage: Stage) => void;
}
