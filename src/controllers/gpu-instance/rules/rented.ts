import { beginCost, withAssumedPrice } from '../../../instance/cost.ts';
import { withRental } from '../../../instance/rentals.ts';
import { omitUndefined } from '../../../lib/json.ts';
import { formatDollars } from '../../../lib/money.ts';
import { fittingText } from '../../../lib/text.ts';
import { formatTime } from '../../../lib/time.ts';
import { makeClaim } from '../../../ownership/claim.ts';
import { decision } from '../decision.ts';
import type { Facts, OwnedMachine } from '../facts.ts';
import type { Stage } from '../stage.ts';
import { assumedPrice, beganAt, carriedFields, withoutMachine } from '../status.ts';
import type { Decision, RentedFacts, StatusFields, Step } from '../types.ts';
import { bootReason } from './machine-finding.ts';

/** Saves what a rental answered: id, attempt and claim in one status write, before anything else happens. */
export function saveRented(facts: Facts, rented: RentedFacts): Decision {
  const machine = { instanceId: rented.instanceId, attempt: rented.attempt };
  const price = rented.pricePerHour === undefined ? '' : ` at $${formatDollars(rented.pricePerHour)}/h`;
  return decision({
    rule: 'save-result',
    record: { type: 'status' },
    fields: unlessPriced(facts, {
      ...rentedFields(facts, machine, rented.answeredAt),
      ...offerFields(rented),
    }),
    finding: {
      phase: 'Provisioning',
      reason: 'Provisioning',
      machine: { type: 'booting', origin: 'Rented', reason: bootReason('provisioning') },
    },
    events: [
      {
        type: 'Normal',
        reason: 'InstanceRented',
        action: 'Renting',
        note: `Machine ${rented.instanceId} is rented${price} (offer ${rented.offer?.id ?? 'unknown'}).`,
      },
    ],
    // The first list that shows its label lets rentals of the account go beside each other.
    requeue: { onList: true, ...(facts.accountFacts?.labelEcho === 'unknown' && { asksForList: true }) },
  });
}

/** Records a machine that was found instead of answered: after a crash, a lost reply or a restored cluster. */
export function saveFound(facts: Facts, stage: Extract<Stage, { type: 'found' }>): Step {
  const { instanceId, attempt } = stage;
  return decision({
    rule: 'record-found-machine',
    record: { type: 'status' },
    fields: foundFields(facts, stage),
    finding: {
      phase: 'Provisioning',
      reason: 'Provisioning',
      machine: { type: 'booting', origin: 'Rented', reason: 'Provisioning' },
    },
    events: [
      {
        type: 'Normal',
        reason: 'InstanceFound',
        action: 'Renting',
        note: `Machine ${instanceId} of purchase ${attempt} was found at the marketplace and recorded.`,
      },
    ],
    requeue: { afterMs: 0 },
  });
}

/** What row and intent tell of a found machine: its money, its place, and what it was bought by. */
function foundFields(facts: Facts, stage: Extract<Stage, { type: 'found' }>): StatusFields {
  const { intent, list } = facts;
  const rows = [...(list?.labelled ?? []).map(({ row }) => row), ...(list?.unowned ?? [])];
  const row = rows.find(({ id }) => id === stage.instanceId);
  const from = (row && beganAt(facts, row)) ?? facts.serviceNow ?? facts.now;
  const fields = rentedFields(facts, stage, from);
  const { pricePerHour, machineId, hostId, image } = row ?? {};
  const bought =
    intent.type === 'intent' && intent.intent.attempt === stage.attempt ? intent.intent : undefined;
  return unlessPriced(facts, {
    ...fields,
    cost: beginCost(fields.cost, from, pricePerHour),
    ...omitUndefined({
      offerPricePerHour: pricePerHour === undefined ? undefined : formatDollars(pricePerHour),
      machineId,
      hostId,
      image: fittingText(image, 512),
    }),
    ...(bought && { offerId: bought.offer, specHash: bought.spec }),
  });
}

/** What has no price from the beginning counts at the most that it may cost, also before a list shows it. */
export function unlessPriced(facts: Facts, fields: StatusFields): StatusFields {
  if (fields.cost === undefined || fields.offerPricePerHour !== undefined) return fields;
  return { ...fields, cost: withAssumedPrice(fields.cost, assumedPrice(facts, fields)) };
}

/** The fields of a newly held machine: proof of ownership, and the rental for the brake. */
export function rentedFields(
  facts: Facts,
  { instanceId, attempt }: OwnedMachine,
  from: number,
): StatusFields {
  const fields = withoutMachine(carriedFields(facts));
  const account = facts.accountFacts;
  return {
    ...fields,
    attempt,
    instanceId,
    ...(account === undefined
      ? {}
      : {
          claim: makeClaim(facts.identity.keys, {
            login: account.login,
            uid: facts.uid,
            attempt,
            instanceId,
          }),
        }),
    firstRentedAt: fields.firstRentedAt ?? formatTime(from),
    rentals: withRental(fields.rentals, facts.now),
    cost: beginCost(fields.cost, from, undefined),
  };
}

const MAX_GPU_NAME = 128;

/** What the status has of the offer and the answer. */
function offerFields({
  offer,
  offerIndex,
  pricePerHour,
  specHash,
  facts,
  image,
  sealedKey,
}: RentedFacts): StatusFields {
  const gpuName = fittingText(offer?.gpuName, MAX_GPU_NAME);
  return omitUndefined({
    offerId: offer?.id,
    offerIndex,
    offerPricePerHour: pricePerHour === undefined ? undefined : formatDollars(pricePerHour),
    machineId: offer?.machineId,
    hostId: offer?.hostId,
    gpu: gpuName === undefined ? undefined : { name: gpuName, count: offer?.gpuCount ?? 1 },
    specHash,
    facts,
    image,
    sealedKey,
  });
}
