import { parseDollars } from '../../lib/money.ts';
import { parseDuration, parseTime } from '../../lib/time.ts';
import { autoscale, betweenTicks } from './autoscale.ts';
import { chooseWorkers } from './choose-workers.ts';
import { isHot, type Known } from './known.ts';
import type { BoundsInput } from './scaling/bounds.ts';
import { maxUnavailable, scalingOptions } from './scaling/options.ts';
import type { Choice } from './scaling/plan.ts';
import type { ScalingDecision, ScalingMemory } from './scaling/scaling-decision.ts';
import { expectedPerf, priceOfNew, usualPrice } from './scaling/scaling-workers.ts';
import type { Observed } from './types.ts';

/** The decision of this tick, or that of the last one between ticks. */
export function scalingDecision(known: Known): ScalingDecision {
  const { observed, load, input, scaling } = known;
  const { memory, group, now, times, isTick, hasLateFigures } = observed;
  const bounds: BoundsInput = {
    options: scalingOptions(group.spec),
    metrics: load.metrics,
    workers: scaling,
    wakeAsked: known.wakeAsked,
    replicas: group.spec.replicas,
    memory: memory?.scaling ?? afterRestart(observed),
    hotAtTick: isTick ? undefined : memory?.hotAtTick,
  };
  if (!isTick && !hasLateFigures && !known.wakeAsked && memory?.decision)
    return betweenTicks(memory.decision, now, bounds);
  return autoscale({
    ...bounds,
    ...{ now, times },
    history: load.history,
    waiting: load.waiting,
    perf: expectedPerf(input),
    lastActivity: known.lastActivity,
    mayReachZero: mayReachZero(observed),
  });
}

/** Before it was ready once, neither the group nor a worker that boots for it is given up within its time to boot. */
function mayReachZero({ group, workers, now }: Observed): boolean {
  if (group.status?.everReady === true) return true;
  if (workers.some((worker) => isHot(worker) && !worker.isServing && !worker.isOverdue)) return false;
  const { timeouts } = group.spec.template.spec;
  const bootMs = (parseDuration(timeouts.provisioning) ?? 0) + (parseDuration(timeouts.loading) ?? 0);
  return now > (parseTime(group.metadata.creationTimestamp) ?? now) + bootMs;
}

/** As if in panic, with the workers that there are: what was needed before the restart is known by its record alone. */
export function afterRestart({ group, workers, now, times }: Observed): ScalingMemory {
  const present = workers.filter(isHot);
  const hot = present.length;
  // Whether a wake was asked for is not known: what is on its way, and alone, has its time to boot.
  const isWake = hot > 0 && !present.some(({ isServing }) => isServing);
  const replicas = group.spec.replicas === undefined ? undefined : hot;
  const { panicUntil, autoscaling } = group.status ?? {};
  const recorded = parseTime(panicUntil) ?? 0;
  const total = Number(autoscaling?.heldTotalCapacity ?? autoscaling?.totalCapacity ?? 0);
  return {
    // Whether fewer replicas are wanted since a moment ago is not known: they wait out the window from now on.
    recent: [{ at: now, hot: 0, total, replicas, isWake }],
    panicUntil: hot > 0 ? Math.max(recorded, now + times.panicMs) : recorded,
    hot,
  };
}

/** Which workers come, go, wake and stop for that. */
export function choose({ observed, input, scaling }: Known, decision: ScalingDecision): Choice {
  const { spec } = observed.group;
  const { hot, total, hotCapacity } = decision;
  return chooseWorkers({
    ...{ hot, total, hotCapacity },
    workers: scaling,
    maxWorkers: spec.maxWorkers,
    ceiling: parseDollars(spec.maxSpendPerHour),
    priceOfNew: priceOfNew(input),
    usualPrice: usualPrice(input),
    pause: spec.pause,
    // New workers would serve nobody, while those that are published serve on.
    maxUnavailable: observed.published.type === 'problem' ? undefined : maxUnavailable(spec, hot),
  });
}
