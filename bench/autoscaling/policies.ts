import { autoscale } from '../../src/controllers/endpoint-group/autoscale/autoscale.ts';
import type { ScalingInput } from '../../src/controllers/endpoint-group/autoscale/bounds.ts';
import { hotOf } from '../../src/controllers/endpoint-group/autoscale/cover.ts';
import { loadOver } from '../../src/controllers/endpoint-group/load/state.ts';
import type { Policy } from '../../src/replay/replay.ts';

/** A rule for the number of workers, in words, with the numbers that it was tuned to. */
export interface Contender {
  readonly name: string;
  readonly settings: string;
  readonly policy: Policy;
  /** Fields of the EndpointGroup that differ from the defaults. */
  readonly group?: {
    readonly coldWorkers?: number;
    readonly coldMultiplier?: string;
    readonly targetUtilizationPercent?: number;
  };
}

/** Down window of the reference policies: 300 s, as for an EndpointGroup and common autoscalers. */
const DOWN_MS = 300_000;

/** Returns a policy with a constant number of workers. */
export function fixedSize(count: number): Contender {
  const policy: Policy = ({ memory }) => ({ hot: count, total: count, hotCapacity: 0, memory });
  return { name: 'fixed size', settings: `${count} workers`, policy };
}

/**
 * Returns the policy of a horizontal autoscaler with a load metric: capacity for the last minute's load at a
 * utilization (maximum over the down window), and a pool of stopped workers of a fixed size.
 */
export function utilizationOnly(utilization: number, pool: number): Contender {
  const policy: Policy = (input) => {
    const hot = loadOver(input.history, input.now, input.times.shortMs) / utilization;
    const recent = [...kept(input), { at: input.now, hot, total: hot }];
    const capacity = Math.max(...recent.map((sample) => sample.hot));
    return sized(input, { hot: count(input, capacity), pool, recent, panicUntil: 0 });
  };
  return {
    name: 'utilisation only',
    settings: settingsOf(`${Math.round(utilization * 100)} % of capacity`, pool),
    policy,
  };
}

/**
 * Returns step scaling by queue length: adds the workers that would clear the queue in the target time, and removes
 * one each time the queue has been empty for a while.
 */
export function queueOnly(targetSeconds: number, downSeconds: number, pool: number): Contender {
  const policy: Policy = (input) => {
    const present = hotOf(input.workers).length;
    const { panicUntil } = input.memory;
    const later = input.now + downSeconds * 1000;
    const ready = hotOf(input.workers).filter(({ isReady }) => isReady);
    if (input.waiting > 0) {
      const more = count(input, input.waiting / targetSeconds);
      // Workers that boot are the answer to a queue already.
      return sized(input, {
        hot: Math.max(present, ready.length + more),
        pool,
        recent: [],
        panicUntil: later,
      });
    }
    const isDue = input.now >= panicUntil;
    const hot = isDue ? present - 1 : present;
    return sized(input, { hot, pool, recent: [], panicUntil: isDue ? later : panicUntil });
  };
  return {
    name: 'queue only',
    settings: settingsOf(`gone in ${targetSeconds} s, one less after ${downSeconds} s without`, pool),
    policy,
  };
}

/** Returns the operator's own rules with options of a group. */
export function endpointGroup(name: string, group: NonNullable<Contender['group']>): Contender {
  const given = Object.entries(group).map(([option, value]) => `${option} ${value}`);
  return { name, settings: given.length === 0 ? 'defaults' : given.join(', '), policy: autoscale, group };
}

interface Sizes {
  readonly hot: number;
  /** Hot and cold workers together are filled up to this. */
  readonly pool: number;
  readonly recent: ScalingInput['memory']['recent'];
  readonly panicUntil: number;
}

function sized({ options }: ScalingInput, { hot, pool, recent, panicUntil }: Sizes): ReturnType<Policy> {
  const bounded = Math.min(Math.max(0, hot), options.maxWorkers);
  return {
    hot: bounded,
    total: Math.max(bounded, pool),
    hotCapacity: 0,
    memory: { recent, panicUntil, hot: bounded },
  };
}

function kept({ memory, now }: ScalingInput): ScalingInput['memory']['recent'] {
  return memory.recent.filter(({ at }) => now - at < DOWN_MS);
}

function count({ perf }: ScalingInput, capacity: number): number {
  return Math.ceil(capacity / (perf ?? Number.POSITIVE_INFINITY) - 1e-9);
}

function settingsOf(rule: string, pool: number): string {
  return pool === 0 ? rule : `${rule}, stopped workers up to ${pool} in all`;
}
