import { type GpuInstanceCondition, gpuInstanceConditions } from '../../api/v1alpha1/conditions.ts';
import type {
  GpuInstance,
  GpuInstancePhase,
  GpuInstanceSpec,
  GpuInstanceStatus,
} from '../../api/v1alpha1/gpu-instance.ts';
import { currentHash, machineFacts, satisfiedOffers } from '../../api/v1alpha1/machine-drift.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { requestToken } from '../../api/v1alpha1/object.ts';
import { type Reason, reasons, withPage } from '../../api/v1alpha1/reasons.ts';
import { type AvoidTarget, withAvoided } from '../../instance/avoidance.ts';
import {
  beginCost,
  corrected,
  endCost,
  HISTORY_LENGTH,
  machineCost,
  repriced,
  withAssumedPrice,
} from '../../instance/cost.ts';
import { isStopped } from '../../instance/status-class.ts';
import { omitUndefined } from '../../lib/json.ts';
import { formatDollars, parseDollars } from '../../lib/money.ts';
import { fittingText } from '../../lib/text.ts';
import { formatTime, parseTime } from '../../lib/time.ts';
import type { Instance } from '../../marketplace/instances/instance.ts';
import { setConditions } from '../../runtime/conditions.ts';
import type { Facts, OwnedMachine } from './facts.ts';
import { unknownPrice } from './offers.ts';
import type { ConditionState, Decision, StatusFields, Verdict } from './types.ts';

/** What a rule found, in as few words as it takes; {@link verdict} makes the conditions of it. */
export interface Finding {
  readonly phase: GpuInstancePhase;
  /** Why the object is as it is. */
  readonly reason: Reason;
  /** Instead of the catalogue's sentence. Never a figure that moves by itself. */
  readonly detail?: string | undefined;
  readonly machine: MachineFinding;
  /** Whether everything that is wanted holds. */
  readonly ready?: boolean;
  /** Set where price, lifetime or total cost are not within their limits and that is not the `reason`. */
  readonly budget?: { readonly reason: Reason; readonly detail: string } | undefined;
  /** What is being done, where that is not the same as why Ready is as it is. */
  readonly atWork?: { readonly reason: Reason; readonly detail?: string | undefined } | undefined;
}

/** What is known of the machine. */
export type MachineFinding =
  | { readonly type: 'none' }
  | {
      readonly type: 'booting' | 'failing' | 'stopped' | 'silent';
      readonly origin: Reason;
      readonly reason: Reason;
    }
  | { readonly type: 'running'; readonly origin: Reason; readonly reachable: ConditionState };

/** One statement: the given detail or the catalogue's sentence, and what a person can do. */
export function conditionState(
  status: ConditionState['status'],
  reason: Reason,
  detail?: string,
): ConditionState {
  const entry: { sentence: string; remedy?: string } = reasons[reason];
  const sentence = detail ?? entry.sentence;
  return { status, reason, message: entry.remedy === undefined ? sentence : `${sentence} ${entry.remedy}` };
}

/** The conditions that follow from a finding. Reconciling and Stalled stand only while they are true. */
export function verdict(finding: Finding): Verdict {
  const { phase, reason, detail, machine, ready = false } = finding;
  // What the object is stalled or replaced for is also what it exceeds; a price only while its machine is there.
  const exceeds = reason === 'LimitReached' || (reason === 'PriceRaised' && machine.type !== 'none');
  const exceeded = finding.budget ?? (exceeds ? { reason, detail } : undefined);
  return {
    phase,
    Ready: conditionState(ready ? 'True' : 'False', reason, detail),
    ...machineConditions(finding),
    WithinBudget: exceeded
      ? conditionState('False', exceeded.reason, exceeded.detail)
      : conditionState('True', 'WithinLimits'),
    ...workConditions(finding),
  };
}

/** Reconciling while something is done or waited for, Stalled where only a person gets on; neither where all is well. */
function workConditions({
  reason,
  detail,
  ready,
  atWork,
}: Finding): Pick<Verdict, 'Reconciling' | 'Stalled'> {
  if (ready) return {};
  if (atWork) return { Reconciling: conditionState('True', atWork.reason, atWork.detail) };
  const state = conditionState('True', reason, detail);
  return reasons[reason].kind === 'terminal' ? { Stalled: state } : { Reconciling: state };
}

function machineConditions({
  machine,
  reason,
  detail,
}: Finding): Pick<Verdict, 'Rented' | 'Booted' | 'Reachable'> {
  switch (machine.type) {
    case 'none':
      return {
        Rented: conditionState('False', reason, detail),
        Booted: conditionState('False', 'NotRented'),
        Reachable: conditionState('False', 'NotRented'),
      };
    case 'running':
      return {
        Rented: conditionState('True', machine.origin),
        Booted: conditionState('True', 'Running'),
        Reachable: machine.reachable,
      };
    case 'silent':
      return {
        Rented: conditionState('True', machine.origin),
        Booted: conditionState('Unknown', machine.reason),
        Reachable: conditionState('False', 'NotRunning'),
      };
    case 'booting':
    case 'failing':
    case 'stopped':
      return {
        Rented: conditionState('True', machine.origin),
        Booted: conditionState('False', machine.reason),
        Reachable: conditionState('False', 'NotRunning'),
      };
  }
}

/** The status that a decision wants: its fields, and its verdict as conditions of the object's generation. */
export function statusOf(
  object: GpuInstance,
  desired: NonNullable<Decision['status']>,
  now: number,
): GpuInstanceStatus {
  const { phase, ...states } = desired.verdict;
  const types = Object.keys(gpuInstanceConditions) as GpuInstanceCondition[];
  const conditions = setConditions({
    previous: object.status?.conditions,
    desired: types.flatMap((type) => {
      const state = states[type];
      return state ? [withPage({ type, ...state })] : [];
    }),
    absent: types.filter((type) => states[type] === undefined),
    generation: object.metadata.generation,
    now: formatTime(now),
  });
  return {
    ...desired.fields,
    observedGeneration: object.metadata.generation,
    // A pause is otherwise not to be seen on a machine that runs.
    phase: object.spec.paused && phase === 'Running' ? 'Paused' : phase,
    conditions: conditions.map((condition) => ({ ...condition })),
  };
}

const MACHINE_FIELDS = [
  'instanceId',
  'claim',
  'sealedKey',
  'offerId',
  'offerIndex',
  'offerPricePerHour',
  'machineId',
  'hostId',
  'actualStatus',
  'actualStatusSince',
  'rentedAt',
  'runningAt',
  'startRequestedAt',
  'progressAt',
  'specHash',
  'facts',
  'image',
  'endpoint',
  'ssh',
  'publicAddress',
  'ports',
  'gpu',
] as const satisfies readonly (keyof StatusFields)[];

/** The fields as they stand, with the request that is handled by looking echoed. */
export function carriedFields(facts: Facts): StatusFields {
  const {
    conditions: _conditions,
    phase: _phase,
    observedGeneration: _seen,
    ...fields
  } = facts.object.status ?? {};
  const requestedAt = requestToken(facts.object.metadata, annotations.requestedAt);
  return requestedAt === undefined ? fields : { ...fields, requestedAt };
}

/** The fields without anything that belongs to one machine. */
export function withoutMachine(fields: StatusFields): StatusFields {
  const rest: Record<string, unknown> = { ...fields };
  for (const field of MACHINE_FIELDS) delete rest[field];
  return rest;
}

/** Since when the service has shown its present status: by ours, or by the list that first showed it. */
export function statusSince(facts: Facts, row: Instance): number {
  const { status } = facts.object;
  const actualStatus = actualStatusOf(row);
  if (status?.actualStatus === actualStatus) return parseTime(status.actualStatusSince) ?? facts.now;
  return facts.list?.begunAt ?? facts.now;
}

/** Since when the service has said so, in steady time: what this process saw, else what is on record. */
export function statusSeenSince(facts: Facts, row: Instance): number {
  const { status } = facts.object;
  const actualStatus = actualStatusOf(row);
  if (facts.memory.seenStatus?.actualStatus === actualStatus) return facts.memory.seenStatus.since;
  const onRecord = status?.actualStatus === actualStatus ? parseTime(status.actualStatusSince) : undefined;
  return onRecord ?? facts.list?.begunSteady ?? facts.steadyNow;
}

/** A machine is watched by this very process for so long before a timeout that began earlier may end it. */
const MIN_WATCH_MS = 60_000;

/** When a timeout strikes at the earliest: a restart with a wrong wall clock must not make it look long over. */
export function deadlineAfter(facts: Facts, since: number, timeoutMs: number): number {
  const watched = facts.memory.watchedSince ?? Number.NEGATIVE_INFINITY;
  return Math.max(since + timeoutMs, watched + Math.min(timeoutMs, MIN_WATCH_MS));
}

/** Since when the present machine is rented, in steady time. */
export function rentedSince({ memory, object, steadyNow }: Facts, startedAt: number | undefined): number {
  return memory.rentedSince ?? startedAt ?? parseTime(object.status?.cost?.since) ?? steadyNow;
}

/** The status that the service shows, and `provisioning` while it shows none yet. */
export function actualStatusOf({ actualStatusText }: Instance): string {
  return fittingText(actualStatusText ?? undefined, 64) ?? 'provisioning';
}

/** The fields with everything that the listed machine tells. Figures that move by themselves are not among them. */
export function withRow(facts: Facts, row: Instance): StatusFields {
  const fields = carriedFields(facts);
  const startedAt = beganAt(facts, row);
  const memory = row.gpuMemoryMB === undefined ? fields.gpu?.memory : `${row.gpuMemoryMB}M`;
  const gpu = {
    name: row.gpuName ?? '',
    count: row.gpuCount ?? fields.gpu?.count ?? 1,
    ...omitUndefined({ memory }),
  };
  return {
    ...fields,
    actualStatus: actualStatusOf(row),
    actualStatusSince: formatTime(statusSince(facts, row)),
    ...omitUndefined({ machineId: row.machineId, hostId: row.hostId }),
    ...driftFields(fields, facts, row),
    ...addressFields(row, facts.object.spec),
    ...(row.gpuName !== undefined && { gpu }),
    ...(startedAt === undefined ? {} : { rentedAt: formatTime(startedAt) }),
    ...costFields(fields, facts, row),
  };
}

/** What drift is judged by: of a machine that was found, taken over or rented by an older operator, what its row tells. */
function driftFields(
  fields: StatusFields,
  { object: { spec } }: Facts,
  row: Instance,
): Pick<StatusFields, 'specHash' | 'facts'> {
  if (spec.adopt?.policy === 'Observe') return {};
  const { interruptible, gpuName, gpuCount, gpuMemoryMB, region } = row;
  const pricing = interruptible === undefined ? undefined : interruptible ? 'Interruptible' : 'OnDemand';
  const shown = { gpuName, gpuCount, gpuMemoryMB, region };
  return {
    specHash: currentHash(fields.specHash, spec),
    facts: fields.facts ?? machineFacts(shown, { pricing, fields: [] }),
  };
}

/** A stopped machine costs its disk, any other its whole price. */
export function currentPrice(row: Instance): number | undefined {
  return isStopped(row.actualStatus) ? row.storagePricePerHour : row.pricePerHour;
}

/** A machine that is listed has begun: a date beyond tomorrow says nothing. */
const LATEST_START_MS = 86_400_000;

/** When the machine began, by the clock of the service; undefined where that is not told. */
export function beganAt(facts: Facts, { startedAt }: Instance): number | undefined {
  const latest = (facts.serviceNow ?? facts.now) + LATEST_START_MS;
  return startedAt === undefined || startedAt > latest ? undefined : startedAt;
}

function costFields(fields: StatusFields, facts: Facts, row: Instance): Pick<StatusFields, 'cost'> {
  const price = currentPrice(row);
  const storage =
    row.storagePricePerHour === undefined
      ? {}
      : { storagePricePerHour: formatDollars(row.storagePricePerHour) };
  const startedAt = beganAt(facts, row);
  const cost = fields.cost ?? beginCost(undefined, startedAt ?? facts.serviceNow ?? facts.now, price);
  const from = pricedFrom(facts, row);
  const present = price === undefined || from === undefined ? cost : repriced(cost, from, price);
  const isFirstStart = fields.rentedAt === undefined && startedAt !== undefined;
  const updated = isFirstStart ? corrected(cost, startedAt, price) : present;
  return { cost: { ...withAssumedPrice(updated, assumedPrice(facts, fields)), ...storage } };
}

/** What a machine counts as whose row tells no price: its offer's, else the most that it may cost. One that is only watched costs us nothing. */
export function assumedPrice(facts: Facts, fields: StatusFields): number | undefined {
  const { spec } = facts.object;
  if (spec.adopt?.policy === 'Observe') return undefined;
  const limits = facts.accountFacts?.limits ?? {};
  return parseDollars(fields.offerPricePerHour) ?? unknownPrice(satisfiedOffers(fields, spec), limits);
}

/**
 * From when a new price counts, by the clock that dates machines: from the change of state that made it, else from
 * now. Our own clock may be wrong by an hour, and what has accrued is never counted anew. Undefined while no clock can
 * be trusted; the next list tells.
 */
function pricedFrom(facts: Facts, row: Instance): number | undefined {
  const { object, list, memory, steadyNow } = facts;
  const { status } = object;
  const now = facts.serviceNow;
  if (now === undefined || status?.actualStatus === actualStatusOf(row)) return now;
  const stoppedAt = isStopped(row.actualStatus) ? memory.stopAnsweredAt : undefined;
  const listAgeMs = steadyNow - (list?.begunSteady ?? steadyNow);
  const listedAt = Number.isFinite(listAgeMs) ? now - Math.max(0, listAgeMs) : now;
  return Math.max(stoppedAt ?? listedAt, parseTime(status?.cost?.since) ?? 0);
}

type MappedPort = NonNullable<GpuInstanceStatus['ports']>[number];

const MAX_PORTS = 64;

/** Where a listed machine is reached. */
function addressFields(
  row: Instance,
  spec: GpuInstanceSpec,
): Pick<StatusFields, 'publicAddress' | 'endpoint' | 'ssh' | 'ports'> {
  const { publicAddress, sshHost, sshPort } = row;
  const ports = mappedPorts(row, spec);
  const ssh = sshHost !== undefined && sshPort !== undefined ? { host: sshHost, port: sshPort } : undefined;
  const [first] = ports;
  const direct = first && publicAddress !== undefined ? `${publicAddress}:${first.publicPort}` : undefined;
  return {
    ...omitUndefined({ publicAddress, endpoint: ssh ? `${ssh.host}:${ssh.port}` : direct, ssh }),
    ...(ports.length > 0 && { ports }),
  };
}

function mappedPorts(row: Instance, spec: GpuInstanceSpec): MappedPort[] {
  const names = new Map(
    (spec.ports ?? []).map((port) => [`${port.containerPort}/${port.protocol}`, port.name]),
  );
  return Object.entries(row.ports)
    .flatMap(([key, publicPort]) => {
      const [port = '', transport = ''] = key.split('/');
      const protocol: MappedPort['protocol'] = transport === 'udp' ? 'UDP' : 'TCP';
      const name = names.get(`${port}/${protocol}`);
      return [{ containerPort: Number(port), protocol, publicPort, ...omitUndefined({ name }) }];
    })
    .filter((port) => Number.isInteger(port.containerPort))
    .sort(
      (left, right) => left.containerPort - right.containerPort || (left.protocol < right.protocol ? -1 : 1),
    )
    .slice(0, MAX_PORTS);
}

/** How a machine came to its end. */
interface Ending {
  readonly machine: OwnedMachine;
  readonly reason: Reason;
  /** The service's clock where billing ended. */
  readonly endedAt: number;
}

const AVOID_KIND: Partial<Readonly<Record<Reason, 'machine' | 'host'>>> = {
  HostOffline: 'host',
  HostSilent: 'host',
  Exited: 'machine',
  ProvisioningTimedOut: 'machine',
  LoadingTimedOut: 'machine',
  CannotStart: 'machine',
  Outbid: 'machine',
};

/** What the account should keep off after such an end; undefined if the machine is not to blame, or many failed together. */
export function avoidTarget(facts: Facts, reason: Reason): AvoidTarget | undefined {
  if (facts.accountFacts?.countsHostFailures === false) return undefined;
  const { status } = facts.object;
  const kind = AVOID_KIND[reason];
  if (kind === 'host' && status?.hostId !== undefined) return { type: 'host', id: status.hostId };
  if (kind !== undefined && status?.machineId !== undefined) return { type: 'machine', id: status.machineId };
  return undefined;
}

type PastMachine = NonNullable<GpuInstanceStatus['history']>[number];

/** The fields after a machine has ended: it moves into the history, its money into what has accrued. */
export function endedFields(facts: Facts, ending: Ending): StatusFields {
  const { machine, reason, endedAt } = ending;
  const { status = {} } = facts.object;
  const { machineId, hostId, gpu, rentedAt } = status;
  const fields = withoutMachine(carriedFields(facts));
  const cost = endCost(status.cost, endedAt);
  const avoid = withAvoided(status.avoid, avoidTarget(facts, reason), facts.now);
  const begun = parseTime(rentedAt) ?? parseTime(status.cost?.since) ?? endedAt;
  const past: PastMachine = {
    attempt: machine.attempt,
    instanceId: machine.instanceId,
    ...omitUndefined({ machineId, hostId, gpuName: gpu?.name }),
    reason,
    endedAt: formatTime(endedAt),
    rentedMinutes: Math.max(0, Math.round((endedAt - begun) / 60_000)),
    cost: formatDollars(machineCost(status, endedAt)),
  };
  return {
    ...fields,
    attempt: machine.attempt,
    ...(cost && { cost }),
    history: [...(fields.history ?? []), past].slice(-HISTORY_LENGTH),
    ...(avoid.length > 0 && { avoid }),
  };
}
