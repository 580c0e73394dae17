import type { Machine } from '../../accounts/beliefs/machine.ts';
import { currentHash, machineFacts } from '../../api/v1alpha1/machine-drift.ts';
import { annotations } from '../../api/v1alpha1/names.ts';
import { requestToken } from '../../api/v1alpha1/object.ts';
import { SHOWN_FACTS } from '../../api/v1alpha1/offer-fields.ts';
import { isPriceOfDisk } from '../../instance/cost.ts';
import { isRecorded, isStopped, stateFields } from '../../instance/machine-state.ts';
import { omitUndefined } from '../../lib/json.ts';
import { formatTime, parseTime } from '../../lib/time.ts';
import { machineAddresses } from '../../reach/machine-addresses.ts';
import { beganAt, costFields } from './billing.ts';
import type { Facts, HeldFacts } from './facts.ts';
import { CONTRACT_NOTICE_MS } from './limits.ts';
import type { StatusFields } from './types.ts';

const MACHINE_FIELDS = [
  'instanceId',
  'claim',
  'unconfirmed',
  'sealedKey',
  'offerId',
  'offerIndex',
  'offerPricePerHour',
  'machineId',
  'hostId',
  'actualStatus',
  'machineState',
  'actualStatusSince',
  'rentedAt',
  'contractEnd',
  'runningAt',
  'lastRunAt',
  'readyAt',
  'startRequestedAt',
  'answered',
  'missingSince',
  'progressAt',
  'specHash',
  'facts',
  'selfEnd',
  'image',
  'endpoint',
  'ssh',
  'publicAddress',
  'ports',
  'gpu',
  'lease',
  'idle',
] as const satisfies readonly (keyof StatusFields)[];

/** Returns the present fields, with the echo of the handled reconcile request. */
export function carriedFields(facts: Pick<Facts, 'object'>): StatusFields {
  const {
    conditions: _conditions,
    phase: _phase,
    observedGeneration: _seen,
    ...fields
  } = facts.object.status ?? {};
  // Failures of an older spec do not count for this one.
  if (fields.repeatedFailure?.generation !== facts.object.metadata.generation) delete fields.repeatedFailure;
  const requestedAt = requestToken(facts.object.metadata, annotations.requestedAt);
  return requestedAt === undefined ? fields : { ...fields, requestedAt };
}

/** Returns the fields without the fields of one machine. */
export function withoutMachine(fields: StatusFields): StatusFields {
  const rest: Record<string, unknown> = { ...fields };
  for (const field of MACHINE_FIELDS) delete rest[field];
  return rest;
}

/**
 * Returns the time since which the service has shown its present status: by the operator's record, or by the list that
 * first showed it.
 */
export function statusSince(facts: Pick<Facts, 'object' | 'machine' | 'clock'>, row: Machine): number {
  const { status } = facts.object;
  if (isRecorded(row, status)) return parseTime(status?.actualStatusSince) ?? facts.clock.now;
  return facts.machine.list?.begunAt ?? facts.clock.now;
}

/** Returns the fields with all facts of the listed machine, without figures that change by themselves. */
export function withRow(facts: HeldFacts, row: Machine): StatusFields {
  const carried = carriedFields(facts);
  const {
    unconfirmed: _confirmed,
    machineState: _before,
    missingSince: _listed,
    answered,
    ...fields
  } = carried;
  const startedAt = beganAt(facts, row);
  const memory = row.gpuMemoryMB === undefined ? fields.gpu?.memory : `${row.gpuMemoryMB}M`;
  const gpu = {
    name: row.gpuName ?? '',
    count: row.gpuCount ?? fields.gpu?.count ?? 1,
    ...omitUndefined({ memory }),
  };
  return {
    ...fields,
    ...(answered && isAnswerOpen(facts, row, answered) && { answered }),
    ...(facts.machine.recordProof !== 'confirmed' && { unconfirmed: true }),
    ...stateFields(row),
    actualStatusSince: formatTime(statusSince(facts, row)),
    ...omitUndefined({ machineId: row.machineId, hostId: row.hostId }),
    ...driftFields(fields, facts, row),
    ...machineAddresses(row, facts.object.spec),
    ...contractFields(fields, facts, row),
    ...(row.gpuName !== undefined && { gpu }),
    ...(startedAt === undefined ? {} : { rentedAt: formatTime(startedAt) }),
    ...costFields(fields, facts, row),
  };
}

type Answered = NonNullable<StatusFields['answered']>;

/**
 * Returns false if a list shows the effect of an answered call, or that it had none: then the call dates nothing any
 * more. A list begun before the answer proves nothing, and one may lag behind a destroy.
 */
function isAnswerOpen(
  facts: Pick<Facts, 'object' | 'machine' | 'clock' | 'memory'>,
  row: Machine,
  { action, at }: Answered,
): boolean {
  const { list } = facts.machine;
  const { clock, object } = facts;
  const answeredAt = parseTime(at) ?? 0;
  const begunAt = clock.believedNow - Math.max(0, clock.steadyNow - (list?.begunSteady ?? clock.steadyNow));
  switch (action) {
    case 'Destroy':
      return begunAt < answeredAt + clock.constants.listLagMs;
    case 'Stop':
      return !isPriceOfDisk(object.status?.cost);
    case 'Start':
      // The reply has the second of its answer.
      return isStopped(row) ? begunAt < answeredAt + 1000 : isPriceOfDisk(object.status?.cost);
  }
}

const FACT_FIELDS = [...SHOWN_FACTS, 'interruptible'] as const;

/**
 * Returns the fields of the contract. Its end is reported once, a day before, if lists agree on it; an extended
 * contract has a new end.
 */
function contractFields(
  fields: StatusFields,
  facts: Pick<Facts, 'clock'>,
  { endsAt, unsettled }: Machine,
): Pick<StatusFields, 'contractEnd'> {
  if (endsAt === undefined) return {};
  const at = formatTime(endsAt);
  const isReported =
    (!unsettled.has('endsAt') && isContractEnding(facts, endsAt)) ||
    (fields.contractEnd?.at === at && fields.contractEnd.isReported === true);
  return { contractEnd: { at, ...(isReported && { isReported }) } };
}

/** Returns true if the contract ends within a day, by a clock that more than one reply dates. */
function isContractEnding({ clock: { confirmedNow } }: Pick<Facts, 'clock'>, endsAt: number): boolean {
  return confirmedNow !== undefined && endsAt - confirmedNow <= CONTRACT_NOTICE_MS;
}

/** Fields that drift compares with: the row's, for a machine that was found, adopted or rented by an older operator. */
function driftFields(
  fields: StatusFields,
  { object: { spec } }: Pick<Facts, 'object'>,
  row: Machine,
): Pick<StatusFields, 'specHash' | 'facts'> {
  if (spec.adopt?.policy === 'Observe') return {};
  const { interruptible } = row;
  const pricing = interruptible === undefined ? undefined : interruptible ? 'Interruptible' : 'OnDemand';
  const shown = Object.fromEntries(SHOWN_FACTS.map((fact) => [fact, row[fact]]));
  // A machine that was found or adopted has no offer: two lists define it.
  const isSettled = FACT_FIELDS.every((field) => !row.unsettled.has(field));
  return {
    specHash: currentHash(fields.specHash, spec),
    ...omitUndefined({
      facts: fields.facts ?? (isSettled ? machineFacts({ ...shown, pricing }, []) : undefined),
    }),
  };
}
