import { formatDollars } from '../../../lib/money.ts';
import { formatTime, parseTime } from '../../../lib/rfc3339.ts';
import { makeClaim } from '../../../ownership/claim.ts';
import { beginCost } from '../cost.ts';
import { decision } from '../decision.ts';
import { carriedFields, withoutMachine } from '../machine-fields.ts';
import type { Recorded } from '../recorded.ts';
import { factsOf } from '../recorded.ts';
import type { Stage } from '../stage.ts';
import type { Decision, Observed, RentedFacts, StatusFields, Step } from '../types.ts';
import { bootReason } from './machine-finding.ts';

const HOUR_MS = 3_600_000;
const MOST_RENTALS = 128;

/** Saves what a rental answered: id, attempt and claim in one status write, before anything else happens. */
export function saveRented(observed: Observed, rented: RentedFacts): Decision {
  const machine = { instanceId: rented.instanceId, attempt: rented.attempt };
  const price = rented.pricePerHour === undefined ? '' : ` at $${formatDollars(rented.pricePerHour)}/h`;
  return decision({
    rule: 'save-result',
    record: { type: 'status' },
    fields: {
      ...rentedFields(observed, machine, rented.answeredAt),
      ...offerFields(rented),
    },
    finding: {
      phase: 'Provisioning',
      reason: 'Provisioning',
      machine: { type: 'booting', held: 'Rented', reason: bootReason('provisioning') },
    },
    events: [
      {
        type: 'Normal',
        reason: 'InstanceRented',
        action: 'Renting',
        note: `Machine ${rented.instanceId} is rented${price} (offer ${rented.offer?.id ?? 'unknown'}).`,
      },
    ],
  });
}

/** Records a machine that was found instead of answered: after a crash, a lost reply or a restored cluster. */
export function saveFound(observed: Observed, stage: Extract<Stage, { type: 'found' }>): Step {
  const { instanceId, attempt } = stage;
  const row = [
    ...(observed.list?.labelled ?? []).map((each) => each.row),
    ...(observed.list?.unowned ?? []),
  ].find((each) => each.id === instanceId);
  const from = row?.startedAt ?? observed.now;
  const fields = rentedFields(observed, { instanceId, attempt }, from);
  const { intent } = observed;
  const bought = intent.type === 'intent' && intent.intent.attempt === attempt ? intent.intent : undefined;
  return decision({
    rule: 'record-found-machine',
    record: { type: 'status' },
    fields: {
      ...fields,
      ...(row?.pricePerHour === undefined
        ? {}
        : {
            cost: beginCost(fields.cost, from, row.pricePerHour),
            offerPricePerHour: formatDollars(row.pricePerHour),
          }),
      ...(row?.machineId === undefined ? {} : { machineId: row.machineId }),
      ...(row?.hostId === undefined ? {} : { hostId: row.hostId }),
      ...(bought === undefined || bought.offer === 0 ? {} : { offerId: bought.offer }),
      ...(bought === undefined ? {} : { specHash: bought.spec }),
      ...(row?.image === undefined ? {} : { image: row.image.slice(0, 512) }),
    },
    finding: {
      phase: 'Provisioning',
      reason: 'Provisioning',
      machine: { type: 'booting', held: 'Rented', reason: 'Provisioning' },
    },
    events: [
      {
        type: 'Normal',
        reason: 'InstanceFound',
        action: 'Renting',
        note: `Machine ${instanceId} of purchase ${attempt} was found at the marketplace and recorded.`,
      },
    ],
    look: { afterMs: 0 },
  });
}

/** The fields of a newly held machine: proof of ownership, and the rental for the brake. */
export function rentedFields(observed: Observed, machine: Recorded, from: number): StatusFields {
  const fields = withoutMachine(carriedFields(observed));
  const facts = factsOf(observed);
  const rentals = (fields.rentals ?? []).filter((time) => (parseTime(time) ?? 0) > observed.now - HOUR_MS);
  return {
    ...fields,
    attempt: machine.attempt,
    instanceId: machine.instanceId,
    ...(facts === undefined
      ? {}
      : { claim: makeClaim(observed.identity.keys, { login: facts.login, uid: observed.uid, ...machine }) }),
    firstRentedAt: fields.firstRentedAt ?? formatTime(from),
    rentals: [...rentals, formatTime(observed.now)].slice(-MOST_RENTALS),
    cost: beginCost(fields.cost, from, undefined),
  };
}

function offerFields(rented: RentedFacts): StatusFields {
  const { offer, pricePerHour } = rented;
  return {
    ...(offer === undefined ? {} : { offerId: offer.id }),
    ...(rented.offerIndex === undefined ? {} : { offerIndex: rented.offerIndex }),
    ...(pricePerHour === undefined ? {} : { offerPricePerHour: formatDollars(pricePerHour) }),
    ...(offer?.machineId === undefined ? {} : { machineId: offer.machineId }),
    ...(offer?.hostId === undefined ? {} : { hostId: offer.hostId }),
    ...(offer?.gpuName === undefined ? {} : { gpu: { name: offer.gpuName, count: offer.gpuCount ?? 1 } }),
    ...(rented.specHash === undefined ? {} : { specHash: rented.specHash }),
    ...(rented.image === undefined ? {} : { image: rented.image }),
  };
}
