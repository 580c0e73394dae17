import type { EndpointGroup, EndpointGroupStatus } from '../../api/v1alpha1/endpoint-group.ts';
import { annotations, labels } from '../../api/v1alpha1/names.ts';
import { requestToken } from '../../api/v1alpha1/object.ts';
import { withPage } from '../../api/v1alpha1/reasons.ts';
import { formatDollars } from '../../lib/money.ts';
import { counted } from '../../lib/plural.ts';
import { formatTime, parseTime } from '../../lib/time.ts';
import { type DesiredCondition, setConditions } from '../../runtime/conditions.ts';
import { lastReplacement } from './autoscale/failing.ts';
import type { Change } from './autoscale/plan.ts';
import { conditionsOf, type Situation } from './conditions.ts';
import { explanationOf } from './explain.ts';
import { gatewayHeld, gatewayWorkers, livePickers } from './load/pickers.ts';
import { isOfLongWindow } from './load/state.ts';
import { endpointFileName, publishesFile } from './publish/endpoint-file.ts';
import { endpointNameOf, hasGateway, servicePorts } from './publish/endpoints.ts';
import { outageOfWorkers } from './service-events.ts';
import type { Observed } from './types.ts';

export interface StatusInput extends Situation {
  /** Changes of this reconcile. */
  readonly changes: readonly Change[];
  /** True if an action must be recorded before it is carried out. */
  readonly mustRecord: boolean;
}

/** Relative change above which a term is written, at most once a minute (`maximumMs`). */
const MIN_WRITTEN_SHARE = 0.05;

/**
 * Returns the status to write. Figures that follow the load keep their written values until a decision changes, or
 * until they have changed by 5 % and a minute has passed. A steady load causes no write.
 */
export function statusOf(input: StatusInput): EndpointGroupStatus {
  const previous = input.group.status;
  const next = freshStatus(input);
  if (!previous?.autoscaling || input.mustRecord || needsWrite(previous, next, input.clock.times.maximumMs))
    return { ...next, loadMaxima: maximaOf(input) };
  // These figures follow the load.
  const { load, utilizationPercent, autoscaling, loadMaxima, lastActivity, panicUntil } = previous;
  const gateway = quietGateway(previous.gateway, next.gateway);
  const moving = { load, utilizationPercent, autoscaling, loadMaxima, lastActivity, panicUntil };
  return { ...next, ...moving, ...(gateway && { gateway }) };
}

type GatewayStatus = EndpointGroupStatus['gateway'];

/** Returns the written gateway status unless its URL or number of pickers changed: held requests follow the load. */
function quietGateway(previous: GatewayStatus, next: GatewayStatus): GatewayStatus {
  const isSame = previous && next && previous.url === next.url && previous.pickers === next.pickers;
  return isSame ? previous : next;
}

/** Returns the last reports of pickers about the group. */
function gatewayStatus(input: StatusInput): GatewayStatus {
  const { group } = input;
  const { pickers } = input.load.state;
  const { gatewayUrl } = input.publication;
  const { now } = input.clock;
  if (!hasGateway(group)) return undefined;
  const { namespace, name } = group.metadata;
  const live = livePickers(pickers, now);
  const last = Math.max(0, ...[...pickers.byName.values()].map(({ at }) => at));
  return {
    ...(gatewayUrl !== undefined && { url: `${gatewayUrl.replace(/\/$/, '')}/${namespace}/${name}` }),
    pickers: live.length,
    heldRequests: gatewayHeld(pickers, now).requests,
    ...requestsInWorkers(input),
    ...(last > 0 && { reportedAt: formatTime(Math.min(now, last)) }),
  };
}

/** Returns the name of the list until its ConfigMap is deleted: only this record finds it. */
function fileStatus({
  group,
  publication: { file },
}: StatusInput): Pick<EndpointGroupStatus, 'endpointsConfigMap'> {
  const recorded = group.status?.endpointsConfigMap;
  if (publishesFile(group)) return { endpointsConfigMap: endpointFileName(group) };
  return recorded === undefined || file?.type === 'none' ? {} : { endpointsConfigMap: recorded };
}

/** Maximum number of workers in the schema. */
const MAX_WORKERS_SHOWN = 128;

/** Returns the requests that pickers report for existing workers, the busiest first; empty without such reports. */
function requestsInWorkers({ workers, load, clock: { now } }: StatusInput): Partial<GatewayStatus> {
  const reported = gatewayWorkers(load.state.pickers, now);
  const known = workers.all.flatMap(({ name }) => {
    const figures = reported.get(name);
    return figures ? [{ name, ...figures }] : [];
  });
  if (known.length === 0) return {};
  const busiest = known.toSorted((a, b) => b.requests - a.requests || (a.name < b.name ? -1 : 1));
  return {
    inFlightRequests: known.reduce((sum, { requests }) => sum + requests, 0),
    workers: busiest.slice(0, MAX_WORKERS_SHOWN).map(({ name, requests, work, perf }) => ({
      ...{ name, requests, work: decimal(work) },
      ...(perf !== undefined && { perf: decimal(perf) }),
    })),
  };
}

function needsWrite(previous: EndpointGroupStatus, next: EndpointGroupStatus, everyMs: number): boolean {
  const before = previous.autoscaling;
  const now = next.autoscaling;
  if (!before || !now) return true;
  if (before.hot !== now.hot || before.total !== now.total) return true;
  const ageMs = (parseTime(now.at) ?? 0) - (parseTime(before.at) ?? 0);
  // A clock that was ahead wrote the status; without a write its figures would stay until that time.
  if (ageMs < 0) return true;
  if (ageMs < everyMs) return false;
  // After a restart the idle rule counts from the recorded time of the last work.
  const idleMs = (parseTime(now.at) ?? 0) - (parseTime(next.lastActivity) ?? 0);
  if (previous.lastActivity !== next.lastActivity && idleMs >= everyMs / 2) return true;
  const terms = ['load', 'longLoad', 'queue', 'capacity', 'perf'] as const;
  return terms.some((term) => differs(before[term], now[term]));
}

function differs(before: string | undefined, now: string | undefined): boolean {
  const [a, b] = [Number(before ?? 0), Number(now ?? 0)];
  return Math.abs(a - b) > MIN_WRITTEN_SHARE * Math.max(Math.abs(a), Math.abs(b));
}

/** Returns the status without the load maxima, which cause no write. */
function freshStatus(input: StatusInput): Omit<EndpointGroupStatus, 'loadMaxima'> {
  const { group, decision, counts, changes } = input;
  const { failing, pace } = input.workers;
  const { lastActivity } = input.load;
  const { service } = input.publication;
  const { now } = input.clock;
  const { load, readyCapacity } = decision.terms;
  const { panicUntil } = decision.memory;
  const hasService = servicePorts(group).length > 0;
  // While the Service with a new name cannot be written, the former one still leads to the workers.
  const former = service.type === 'problem' ? group.status?.endpoint : undefined;
  const replacement = lastReplacement(input, pace, changes);
  const requestedAt = requestToken(group.metadata, annotations.requestedAt);
  const wokenAt = requestToken(group.metadata, annotations.wakeAt);
  const gateway = gatewayStatus(input);
  const outage = outageOfWorkers(input.workers.all);
  return {
    observedGeneration: group.metadata.generation ?? -1,
    conditions: conditionList(input),
    ...(outage && { outage }),
    ...workerFigures(input),
    load: decimal(load),
    ...(readyCapacity > 0 && {
      utilizationPercent: Math.min(100_000, Math.round((load / readyCapacity) * 100)),
    }),
    pricePerHour: formatDollars(counts.pricePerHour),
    ...(hasService && { endpoint: former ?? `${endpointNameOf(group)}.${group.metadata.namespace}.svc` }),
    templateHash: input.workers.input.templateHash,
    everReady: group.status?.everReady === true || counts.ready > 0,
    ...(lastActivity !== undefined && { lastActivity: formatTime(lastActivity) }),
    ...(panicUntil > now && { panicUntil: formatTime(panicUntil) }),
    // The next process continues from these records of broken workers.
    ...(failing.length > 0 && { failingWorkers: [...failing] }),
    ...(replacement !== undefined && { lastReplacement: replacement }),
    ...(gateway && { gateway }),
    ...fileStatus(input),
    autoscaling: termsOf(input),
    // The status confirms requests by annotation once they are handled.
    ...(requestedAt !== undefined && { requestedAt }),
    ...(wokenAt !== undefined && { wokenAt }),
    phase: PHASES.find(([, holds]) => holds(input))?.[0] ?? 'Scaling',
  };
}

/** Returns the numbers of workers, and the fields of the scale subresource. */
function workerFigures({
  group,
  counts,
}: Pick<StatusInput, 'group' | 'counts'>): Partial<EndpointGroupStatus> {
  const { hot, cold, ready, starting, draining, total, updated } = counts;
  const selector = `${labels.endpointGroup}=${group.metadata.name}`;
  return { replicas: hot, selector, cold, ready, starting, draining, total, updated };
}

function conditionList(situation: Situation): EndpointGroupStatus['conditions'] {
  const { group } = situation;
  const { now } = situation.clock;
  const { desired, absent } = conditionsOf(situation);
  const conditions = setConditions({
    previous: group.status?.conditions,
    desired: desired.map(withPage),
    absent,
    generation: group.metadata.generation,
    now: formatTime(now),
  });
  return [...conditions];
}

function maximaOf({ load, clock: { now, times } }: StatusInput): EndpointGroupStatus['loadMaxima'] {
  return load.view.history.maxima
    .filter((max) => isOfLongWindow(max, now, times))
    .slice(-61)
    .map((max) => ({ at: formatTime(max.at), load: decimal(max.load) }));
}

function termsOf({ clock: { now }, decision }: StatusInput): EndpointGroupStatus['autoscaling'] {
  const { terms } = decision;
  const shown = {
    at: formatTime(now),
    load: decimal(terms.load),
    burstLoad: decimal(terms.burstLoad),
    longLoad: decimal(terms.longLoad),
    queue: decimal(terms.waiting),
    capacity: decimal(terms.readyCapacity),
    ...(terms.perf !== undefined && { perf: decimal(terms.perf) }),
    rateCapacity: decimal(terms.capacities.rate),
    queueCapacity: decimal(terms.capacities.queue),
    hotCapacity: decimal(terms.capacities.hot),
    totalCapacity: decimal(terms.capacities.total),
    stabilizedHotCapacity: decimal(terms.windowMax.hot),
    stabilizedTotalCapacity: decimal(terms.windowMax.total),
    hotNeed: terms.hotNeed,
    totalNeed: terms.totalNeed,
    hot: decision.hot,
    total: decision.total,
    rule: decision.rule,
  };
  return { ...shown, explanation: explanationOf(shown).slice(0, 512) };
}

type Phase = NonNullable<EndpointGroupStatus['phase']>;

/** Phases with their conditions; the first match is the phase. */
const PHASES: readonly (readonly [Phase, (input: StatusInput) => boolean])[] = [
  ['Failed', ({ counts, decision }) => counts.stalled > 0 && counts.ready === 0 && decision.hot > 0],
  ['Paused', ({ group }) => group.spec.pause.scaleUp && group.spec.pause.scaleDown],
  ['Updating', ({ group, counts }) => counts.old > 0 && group.spec.updateStrategy.type === 'RollingUpdate'],
  ['Zero', ({ decision }) => decision.hot === 0],
  ['Waking', ({ counts }) => counts.ready === 0 && counts.waking > 0],
  ['Pending', ({ counts }) => counts.ready === 0],
  [
    'Ready',
    ({ counts, decision, refusals }) =>
      counts.ready === decision.hot && counts.starting === 0 && refusals.length === 0,
  ],
];

/** Maximum of the schema: twelve digits. */
const MAX_DECIMAL = 999_999_999_999;

/** Returns a number in the form of the schema: at most three decimals, no exponent. */
function decimal(value: number): string {
  const text = Math.min(value, MAX_DECIMAL).toFixed(3);
  return text.replace(/\.?0+$/, '');
}

/** Figures of a group that is being deleted. */
const NO_WORKERS = { replicas: 0, cold: 0, ready: 0, starting: 0, draining: 0, updated: 0 } as const;

/** Returns the status of a group that is being deleted. */
export function deletingStatus(
  { group, clock: { now }, refused }: Pick<Observed, 'group' | 'clock' | 'refused'>,
  left: number,
): EndpointGroupStatus {
  const state = left === 0 ? 'All workers are deleted.' : `Deleting ${counted(left, 'worker')}.`;
  const [refusal] = refused;
  const message = refusal ? `${state} ${refusal.detail}.` : state;
  const cause = { reason: 'Deleting', message } as const;
  return {
    ...group.status,
    ...NO_WORKERS,
    total: left,
    ...onlyConditions(group, now, [
      { type: 'Ready', status: 'False', ...cause },
      { type: 'Reconciling', status: 'True', ...cause },
    ]),
    phase: 'Deleting',
  };
}

/** Returns the status of a group whose record is of a newer operator: the figures of its workers, all unchanged. */
export function heldStatus(
  { group, counts, clock: { now } }: Pick<StatusInput, 'group' | 'counts' | 'clock'>,
  version: number,
): EndpointGroupStatus {
  const cause = {
    reason: 'RecordUnreadable',
    message: `status.record has version ${version} of a newer operator: workers stay unchanged. Install the newer operator again.`,
  } as const;
  const isBlocked = hasGateway(group) && counts.ready === 0;
  return {
    ...group.status,
    ...workerFigures({ group, counts }),
    pricePerHour: formatDollars(counts.pricePerHour),
    ...onlyConditions(group, now, [
      { type: 'Ready', status: 'False', ...cause },
      { type: 'Stalled', status: 'True', ...cause },
      ...(isBlocked ? [{ type: 'WorkersBlocked', status: 'True', ...cause } as const] : []),
    ]),
    phase: 'Failed',
  };
}

/** Returns only the conditions: scaling for an earlier generation no longer applies. */
function onlyConditions(
  { metadata, status }: EndpointGroup,
  now: number,
  desired: readonly DesiredCondition[],
): Pick<EndpointGroupStatus, 'observedGeneration' | 'conditions'> {
  const types = new Set(desired.map(({ type }) => type));
  const conditions = setConditions({
    previous: status?.conditions,
    desired: desired.map(withPage),
    absent: (status?.conditions ?? []).map(({ type }) => type).filter((type) => !types.has(type)),
    generation: metadata.generation,
    now: formatTime(now),
  });
  return { observedGeneration: metadata.generation ?? -1, conditions: [...conditions] };
}
