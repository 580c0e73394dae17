import {
  type ConditionType,
  endpointGroupConditions,
  gpuInstanceConditions,
  marketplaceAccountConditions,
} from '../api/v1alpha1/conditions.ts';
import type { EndpointGroup } from '../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../api/v1alpha1/marketplace-account.ts';
import {
  endpointGroupResource,
  gpuInstanceResource,
  labels,
  marketplaceAccountResource,
} from '../api/v1alpha1/names.ts';
import type { Condition } from '../api/v1alpha1/object.ts';
import { accountKey, accountRefOf } from '../instance/account-ref.ts';
import { monthName, spentThisMonth } from '../instance/cost.ts';
import { isStopped, recordedState } from '../instance/machine-state.ts';
import { type MicroDollars, parseDollars } from '../lib/money.ts';
import { parseTime } from '../lib/time.ts';
import { ageText } from './amounts.ts';
import { roleOf } from './group-figures.ts';
import { pressingReasons } from './next-steps.ts';
import { plannedSteps } from './planned-steps.ts';
import { since } from './report.ts';

/** Objects of a fleet: all of the kinds that the caller may list. */
export interface FleetObjects {
  readonly instances: readonly GpuInstance[];
  readonly groups: readonly EndpointGroup[];
  readonly accounts: readonly MarketplaceAccount[];
}

/** Kinds of rows by the short name with which commands name them. */
export type FleetKind = 'gpui' | 'epg' | 'gpuacct';

/**
 * Tone of a state. `good`: as desired. `busy`: the operator is at work. `waits`: it continues when a cause ends, or
 * bills although nothing more is desired of it. `stuck`: it needs a person. `off`: nothing runs, as desired.
 */
export type Tone = 'good' | 'busy' | 'waits' | 'stuck' | 'off';

/** State of an object in one term, as its phase if it has one. */
export interface FleetState {
  readonly phase: string;
  readonly tone: Tone;
}

/** Next event of an object. */
export interface NextAction {
  /** In a few words, without the time. */
  readonly title: string;
  /** Epoch milliseconds; undefined if no time is known. */
  readonly at?: number;
  /** True if nothing continues without a person. */
  readonly needsPerson: boolean;
}

/** Row of the fleet. */
export interface FleetRow {
  readonly kind: FleetKind;
  /** Unique among all rows: `gpui/namespace/name`. */
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly state: FleetState;
  /** GPU model or models, such as `2 × RTX 4090`. */
  readonly gpu: string | undefined;
  /** Hourly price; for a group that of its workers, for an account that of its machines. */
  readonly perHour: MicroDollars | undefined;
  /**
   * Cost in the present UTC month. Of a group: of the workers that exist. Of an account: also of deleted objects; undefined
   * if some of its objects are not known.
   */
  readonly month: MicroDollars | undefined;
  /** Epoch milliseconds of the creation. */
  readonly bornAt: number | undefined;
  readonly endpoint: string | undefined;
  /** `namespace/name` of the account. */
  readonly account: string | undefined;
  /** Name of the EndpointGroup of a worker, or of the group itself. */
  readonly group: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly next: NextAction | undefined;
}

/** Facts for rows that one object does not have. */
export interface FleetView {
  /** Epoch milliseconds. */
  readonly now: number;
  /** True if `instances` has every GpuInstance of every namespace: only then the month of an account is known. */
  readonly isWhole: boolean;
}

/** Returns a row for each object, in no particular order. */
export function fleetRows(objects: FleetObjects, view: FleetView): readonly FleetRow[] {
  const { instances, groups, accounts } = objects;
  const workers = Map.groupBy(instances, groupOf);
  const users = Map.groupBy(instances, (instance) => accountKey(accountRefOf(instance)));
  return [
    ...instances.map((instance) => instanceRow(instance, view)),
    ...groups.map((group) => groupRow(group, workers.get(keyOf(group)) ?? [], view)),
    ...accounts.map((account) => accountRow(account, users.get(keyOf(account)) ?? [], view)),
  ];
}

/** Returns the row of a GpuInstance. */
export function instanceRow(instance: GpuInstance, { now }: Pick<FleetView, 'now'>): FleetRow {
  const { metadata, spec, status } = instance;
  const { gpu, cost, instanceId } = status ?? {};
  // The addresses of a stopped machine stay on record, but they do not answer.
  const answers = status?.phase !== 'Stopped' && instanceId !== undefined;
  return {
    ...identity('gpui', instance),
    state: stateOf({ object: instance, types: gpuInstanceConditions, rest: instanceRest(instance) }),
    gpu: gpu ? gpuText(gpu) : desiredGpu(spec),
    perHour: parseDollars(cost?.pricePerHour),
    month: spentThisMonth(instance, now),
    endpoint: answers ? status?.endpoint : undefined,
    account: accountKey(accountRefOf(instance)),
    group: metadata.labels?.[labels.endpointGroup],
    next: instanceNext(instance, now),
  };
}

function groupRow(group: EndpointGroup, workers: readonly GpuInstance[], { now }: FleetView): FleetRow {
  const { metadata, spec, status } = group;
  const { namespace = '' } = metadata;
  const gpus = new Set(workers.flatMap(({ status: seen }) => (seen?.gpu ? [gpuText(seen.gpu)] : [])));
  const accountRef = spec.template.spec.accountRef ?? { name: 'default' };
  return {
    ...identity('epg', group),
    state: stateOf({ object: group, types: endpointGroupConditions, rest: groupRest(group) }),
    gpu: gpus.size > 0 ? [...gpus].sort().join(', ') : desiredGpu(spec.template.spec),
    perHour: parseDollars(status?.pricePerHour),
    month: workers.reduce((sum, worker) => sum + spentThisMonth(worker, now), 0),
    endpoint: status?.gateway?.url ?? status?.endpoint,
    account: accountKey({ namespace: accountRef.namespace ?? namespace, name: accountRef.name }),
    group: metadata.name,
    next: groupNext(group, workers),
  };
}

function accountRow(
  account: MarketplaceAccount,
  users: readonly GpuInstance[],
  { now, isWhole }: FleetView,
): FleetRow {
  const { status, spec } = account;
  return {
    ...identity('gpuacct', account),
    state: stateOf({ object: account, types: marketplaceAccountConditions, rest: accountRest(account) }),
    gpu: undefined,
    perHour: parseDollars(status?.pricePerHour),
    month: isWhole ? accountMonth(account, users, now) : undefined,
    endpoint: status?.login?.url ?? spec.url,
    account: keyOf(account),
    group: undefined,
    next: accountNext(account),
  };
}

/**
 * Returns the cost of an account in the UTC month of `now`: of the objects that name it, which must be all of them, and of
 * deleted objects by its status.
 */
export function accountMonth(
  { status }: MarketplaceAccount,
  users: readonly GpuInstance[],
  now: number,
): MicroDollars {
  const deleted = status?.deletedObjects;
  const past = deleted?.month === monthName(now) ? (parseDollars(deleted.spent) ?? 0) : 0;
  return users.reduce((sum, instance) => sum + spentThisMonth(instance, now), past);
}

type FleetObject = GpuInstance | EndpointGroup | MarketplaceAccount;

/** Names of the kinds of rows at the API server. */
export const FLEET_KINDS = {
  gpui: gpuInstanceResource,
  epg: endpointGroupResource,
  gpuacct: marketplaceAccountResource,
} as const;

function identity(kind: FleetKind, { metadata }: FleetObject) {
  const { namespace = '', name, labels: own = {} } = metadata;
  const bornAt = parseTime(metadata.creationTimestamp);
  return { kind, id: `${kind}/${namespace}/${name}`, namespace, name, bornAt, labels: own };
}

function keyOf({ metadata: { namespace = '', name } }: FleetObject): string {
  return `${namespace}/${name}`;
}

function groupOf({ metadata }: GpuInstance): string {
  return `${metadata.namespace ?? ''}/${metadata.labels?.[labels.endpointGroup] ?? ''}`;
}

function gpuText({ count, name }: { readonly count: number; readonly name: string }): string {
  return count === 1 ? name : `${count} × ${name}`;
}

/** Returns the GPU models that the spec allows, while no machine is known. */
function desiredGpu({ offers = [] }: Pick<GpuInstance['spec'], 'offers'>): string | undefined {
  const names = [...new Set(offers.flatMap(({ gpuNames = [] }) => gpuNames))];
  return names.length === 0 ? undefined : names.join(' or ');
}

/** Tones of the severities of reasons. */
const TONES = { terminal: 'stuck', retryable: 'waits', progress: 'busy', good: 'good' } as const;

/** Tone of an object that a person paused or that is finished: `waits` while its machines bill. */
type Rest = Extract<Tone, 'off' | 'waits'>;

interface StateInput {
  readonly object: FleetObject;
  readonly types: Readonly<Record<string, ConditionType>>;
  /** Undefined if it is at work. */
  readonly rest: Rest | undefined;
}

function stateOf({ object, types, rest }: StateInput): FleetState {
  const { metadata, status } = object;
  if (metadata.deletionTimestamp) return { phase: 'Deleting', tone: 'busy' };
  const conditions = status?.conditions ?? [];
  if (conditions.length === 0) return { phase: 'New', tone: 'busy' };
  const kind = pressingReasons(conditions, types)[0]?.kind ?? 'good';
  const ready = isReady(conditions);
  const phase = phaseOf(object) ?? (ready ? 'Ready' : (readyReason(conditions) ?? 'Unknown'));
  const isFine = kind === 'good' || kind === 'progress';
  if (rest && isFine) return { phase, tone: rest };
  // The object does what its spec asks: the reason is a warning, and nothing is stuck.
  return { phase, tone: ready && kind === 'terminal' ? 'waits' : TONES[kind] };
}

function phaseOf({ kind, spec, status }: FleetObject): string | undefined {
  if (kind === 'MarketplaceAccount') return spec.suspend === true ? 'Suspended' : undefined;
  return status?.phase;
}

function isReady(conditions: readonly Condition[]): boolean {
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}

function readyReason(conditions: readonly Condition[]): string | undefined {
  return conditions.find(({ type }) => type === 'Ready')?.reason;
}

function instanceRest({ spec, status }: GpuInstance): Rest | undefined {
  if (status?.phase === 'Stopped') return 'off';
  if (!spec.paused && status?.phase !== 'Succeeded') return undefined;
  return status?.instanceId === undefined || isStopped(recordedState(status)) ? 'off' : 'waits';
}

function groupRest({ status }: EndpointGroup): Rest | undefined {
  if (status?.phase !== 'Zero' && status?.phase !== 'Paused') return undefined;
  return (status.replicas ?? 0) === 0 ? 'off' : 'waits';
}

function accountRest({ spec, status }: MarketplaceAccount): Rest | undefined {
  if (spec.suspend !== true) return undefined;
  return (status?.machines?.billing ?? 0) === 0 ? 'off' : 'waits';
}

function instanceNext(instance: GpuInstance, now: number): NextAction | undefined {
  const { conditions = [] } = instance.status ?? {};
  const isNew = conditions.length === 0 && instance.metadata.deletionTimestamp === undefined;
  if (isNew) return { title: 'Waits for the operator to see it', needsPerson: false };
  const reason = reasonNext(conditions, gpuInstanceConditions);
  if (reason?.needsPerson) return reason;
  const [first] = plannedSteps(instance, now);
  if (first === undefined) return reason;
  return { title: first.title, needsPerson: false, ...(first.at !== undefined && { at: first.at }) };
}

function groupNext(group: EndpointGroup, workers: readonly GpuInstance[]): NextAction | undefined {
  if (group.metadata.deletionTimestamp)
    return { title: 'Deleted when its workers are gone', needsPerson: false };
  const reason = reasonNext(group.status?.conditions ?? [], endpointGroupConditions);
  if (reason) return reason;
  const draining = workers.filter((worker) => roleOf(worker) === 'Draining').length;
  if (draining === 0) return undefined;
  return { title: `${draining} draining before they stop`, needsPerson: false };
}

function accountNext({ metadata, status }: MarketplaceAccount): NextAction | undefined {
  if (metadata.deletionTimestamp)
    return { title: 'Deleted when no object needs its key', needsPerson: false };
  const reason = reasonNext(status?.conditions ?? [], marketplaceAccountConditions);
  if (reason) return reason;
  const { runway } = status ?? {};
  return runway === undefined ? undefined : { title: `Credit lasts ${runway}`, needsPerson: false };
}

/** Returns the next step by the conditions: the first remedy for a person, else the state that ends by itself. */
function reasonNext(
  conditions: readonly Condition[],
  types: Readonly<Record<string, ConditionType>>,
): NextAction | undefined {
  const [first] = pressingReasons(conditions, types);
  if (first === undefined || first.kind === 'good') return undefined;
  const needsPerson = first.kind === 'terminal' && !isReady(conditions);
  return { title: needsPerson ? (first.remedy ?? first.sentence) : first.sentence, needsPerson };
}

/** Returns the time until an action, or since it was due: `in 3h`, `due`; undefined without a time. */
export function untilText({ at }: Pick<NextAction, 'at'>, now: number): string | undefined {
  if (at === undefined) return undefined;
  return at <= now ? 'due' : `in ${ageText(at - now)}`;
}

/** Returns the age of a row as kubectl shows it. */
export function rowAge({ bornAt }: FleetRow, now: number): string {
  return bornAt === undefined ? '' : since(new Date(bornAt).toISOString(), now);
}
