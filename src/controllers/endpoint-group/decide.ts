import { parseDuration } from '../../lib/time.ts';
import { cheapestFirst } from './actions.ts';
import { type Counts, countWorkers } from './counts.ts';
import { decideDeletion } from './deletion.ts';
import { RULES } from './explain.ts';
import { type Known, know } from './known.ts';
import type { Endpoint } from './publish/endpoints.ts';
import { isRefusedIn, standing } from './refusals.ts';
import { doneNow } from './room-to-rent.ts';
import { scalingOptions } from './scaling/options.ts';
import type { ScalingDecision } from './scaling/scaling-decision.ts';
import { hotOf } from './scaling/worker-counts.ts';
import { statusOf } from './status.ts';
import type { Action, Decision, GroupMemory, Observed } from './types.ts';
import { choose, scalingDecision } from './wanted-workers.ts';
import { actionsFor, afterDraining, type OrdersInput } from './workers/orders.ts';
import { isToUpdate, workerName } from './workers/template.ts';

/** From what was seen to what is recorded, published and done. Pure. */
export function decide(observed: Observed): Decision {
  if (observed.group.metadata.deletionTimestamp !== undefined) return decideDeletion(observed);
  const known = know(observed);
  const decision = scalingDecision(known);
  const choice = choose(known, decision);
  const changes = doneNow(choice, observed);
  const orders = ordersInput(known);
  const decided = cheapestFirst([
    ...observed.orphans.map((object): Action => ({ type: 'adopt', object })),
    ...actionsFor(changes, orders),
    ...afterDraining(orders, changes),
    ...updatesOf(known),
  ]);
  const refused = standing(observed.refused, decided);
  const isRefused = (action: Action) => isRefusedIn(refused, action);
  const memory = memoryOf(known, decision);
  const isSlow = observed.now - (memory.slowSince ?? observed.now) >= SLOW_FOR_MS;
  const counts = countsOf(known);
  return {
    needsFinalizer: true,
    status: statusOf({
      ...{ observed, decision, choice, counts, refused, isSlow },
      load: known.load,
      failing: known.failing,
      pace: known.pace,
      changes,
      problems: known.endpoints.problems,
      templateHash: known.input.templateHash,
      lastActivity: known.lastActivity,
      mustRecord: known.wakeAsked || decided.some((action) => action.type !== 'adopt' && !isRefused(action)),
    }),
    endpoints: staying(known, decided),
    endpointProblems: known.endpoints.problems,
    actions: observed.isTick ? decided : decided.filter((action) => !isRefused(action)),
    waiting: observed.isTick ? [] : refused,
    changes,
    because: because(decision),
    memory,
    requeueAfterMs: nextLook(known, memory),
  };
}

/** Workers whose machine fits the present template take over its text, unless the group leaves them as they are. */
function updatesOf({ observed: { workers }, input }: Known): readonly Action[] {
  if (input.spec.updateStrategy.type === 'OnDelete') return [];
  const staying = workers.filter(({ isDeleting, wanted }) => !isDeleting && wanted !== 'Gone');
  return staying
    .filter((worker) => isToUpdate(worker, input))
    .map((worker): Action => ({ type: 'update', worker }));
}

/** Workers that are told to go leave the Service before anything else happens to them. */
function staying({ endpoints }: Known, actions: readonly Action[]): readonly Endpoint[] {
  const going = new Set(actions.flatMap((action) => (isGoing(action) ? [action.worker.name] : [])));
  return endpoints.endpoints.filter(({ worker }) => !going.has(worker.metadata.name));
}

function isGoing(action: Action): action is Extract<Action, { type: 'order' | 'delete' }> {
  return action.type === 'delete' || (action.type === 'order' && action.order.wanted !== 'Hot');
}

/** How long work must look like a queue before the target is called too short. */
const SLOW_FOR_MS = 300_000;

function ordersInput({ observed, load }: Known): OrdersInput {
  const { workers, orphans, takenNames, now, times, group } = observed;
  const maxQueueMs = parseDuration(group.spec.maxQueueTime) ?? 0;
  const drainMs = parseDuration(group.spec.drainTimeout) ?? maxQueueMs;
  const names = new Set(
    [...workers.map(({ object }) => object), ...orphans].map(({ metadata }) => metadata.name),
  );
  const isTaken = (ordinal: number) => {
    const name = workerName(group, ordinal);
    return names.has(name) || takenNames.has(name);
  };
  const limits = { maxQueueMs, drainMs, silentMs: times.missingMs };
  return { workers, load, now, isTaken, ...limits, settleMs: times.tickMs / 2 };
}

function countsOf({ observed, scaling, endpoints }: Known): Counts {
  const portless = (observed.group.spec.template.spec.ports ?? []).length === 0;
  const names = portless
    ? observed.workers.filter((worker) => worker.isServing).map(({ name }) => name)
    : endpoints.endpoints.map(({ worker }) => worker.metadata.name);
  return countWorkers({
    workers: observed.workers,
    scaling,
    published: new Set(names),
    options: scalingOptions(observed.group.spec),
  });
}

function memoryOf(known: Known, decision: ScalingDecision): GroupMemory {
  const { observed, load } = known;
  const { now, memory, group } = observed;
  const { waiting, readyCapacity, load: rate } = decision.terms;
  const targetSeconds = (parseDuration(group.spec.targetQueueTime) ?? 0) / 1000;
  const looksSlow = !load.tellsWaiting && readyCapacity > rate && waiting > targetSeconds * readyCapacity;
  return {
    scaling: decision.memory,
    decision,
    ...tickOf(known),
    slowSince: looksSlow ? Math.min(memory?.slowSince ?? now, now) : undefined,
  };
}

/** Of the tick that begins with this pass, else of the last one. */
function tickOf({ observed, scaling }: Known): Pick<GroupMemory, 'nextTickAt' | 'hotAtTick'> {
  const { isTick, memory, beganAt, times } = observed;
  if (!isTick && memory) return { nextTickAt: memory.nextTickAt, hotAtTick: memory.hotAtTick };
  return { nextTickAt: beganAt + times.tickMs, hotAtTick: hotOf(scaling).length };
}

/** At the next tick, or when a wake or a drain is over, whichever comes first. */
function nextLook({ observed, input }: Known, memory: GroupMemory): number {
  const { now, workers } = observed;
  const wakeMs = parseDuration(input.spec.wakeTimeout) ?? 0;
  const limits = [input.spec.maxQueueTime, input.spec.drainTimeout].map((span) => parseDuration(span) ?? 0);
  const due = workers.flatMap((worker) => [
    ...(worker.wakeSince !== undefined && !worker.ranSinceWoken ? [worker.wakeSince + wakeMs] : []),
    ...limits.flatMap((limitMs) =>
      worker.drainSince !== undefined && worker.isUp ? [worker.drainSince + limitMs] : [],
    ),
  ]);
  const next = Math.min(memory.nextTickAt, ...due.filter((at) => at > now));
  return Math.max(LEAST_LOOK_MS, next - now);
}

const LEAST_LOOK_MS = 10;

function because({ rule, hot, total }: ScalingDecision): string {
  return `Wanted are ${hot} hot and ${total} in all: ${RULES[rule]}.`;
}
