import { listsAgree, type Machine } from '../../../accounts/beliefs/machine.ts';
import { beginCost, maxPrice, withAssumedPrice } from '../../../instance/cost.ts';
import { withRental } from '../../../instance/rentals.ts';
import { omitUndefined } from '../../../lib/json.ts';
import { formatDollars } from '../../../lib/money.ts';
import { fittingText } from '../../../lib/text.ts';
import { formatTime } from '../../../lib/time.ts';
import { makeClaim } from '../../../ownership/claim.ts';
import { decision } from '../decision.ts';
import type { Facts, OwnedMachine } from '../facts.ts';
import { foundConfirmation } from '../record-proof.ts';
import type { Stage } from '../stage.ts';
import { assumedPrice, beganAt, carriedFields, withoutMachine } from '../status.ts';
import type { Decision, RentedFacts, StatusFields, Step } from '../types.ts';
import { awaitSecondLabel, confirmDisowned, noteDisowned } from './disowned.ts';

/** Saves what a rental answered: id, attempt and claim in one status write, before anything else happens. */
export function saveRented(
  facts: Pick<Facts, 'object' | 'account' | 'purchase' | 'clock'>,
  rented: RentedFacts,
): Decision {
  const machine = { instanceId: rented.instanceId, attempt: rented.attempt };
  const price = rented.pricePerHour === undefined ? '' : ` at $${formatDollars(rented.pricePerHour)}/h`;
  return decision({
    rule: 'save-result',
    because: 'The marketplace answered the rental: its machine is recorded before anything else.',
    record: { type: 'status' },
    savesRental: true,
    fields: unlessPriced(facts, {
      ...rentedFields(facts, machine, rented.answeredAt),
      ...offerFields(rented),
      ...(facts.account.facts?.labelEcho !== 'notEchoed' && { unconfirmed: true }),
    }),
    finding: {
      phase: 'Provisioning',
      reason: 'Provisioning',
      machine: { type: 'booting', origin: 'Rented', reason: 'Provisioning' },
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
    requeue: { onList: true, ...(facts.account.facts?.labelEcho === 'unknown' && { asksForList: 'atOnce' }) },
  });
}

/** Records a machine that was found instead of answered: after a crash, a lost reply or a restored cluster. */
export function saveFound(facts: Facts, stage: Extract<Stage, { type: 'found' }>): Step {
  const row = foundRow(facts, stage);
  // One list may show the label of one machine on another.
  if (row && !listsAgree(row, 'label')) return awaitSecondLabel();
  if (facts.machine.disowned && row) return moveRecord(facts, facts.machine.disowned, row);
  return unconfirmed(facts, row) ?? recordFound(facts, stage);
}

/** Returns the missing read before a machine is recorded, or a wait if it does not agree. */
function unconfirmed(facts: Pick<Facts, 'machine'>, row: Machine | undefined): Step | undefined {
  const label = row ? foundConfirmation(facts, row) : 'confirmed';
  if (label === 'confirmed') return undefined;
  return label === 'unconfirmed' ? awaitSecondLabel() : label;
}

function recordFound(facts: Facts, stage: Extract<Stage, { type: 'found' }>): Decision {
  const { instanceId, attempt } = stage;
  return decision({
    rule: 'record-found-machine',
    because: 'A machine with the label of this object was found, and no record names it.',
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

/**
 * Moves the record from a machine that the reply to the rental named to the one that carries the label of the purchase. The
 * money of the purchase stays as it is; the machine that was named is not touched.
 */
function moveRecord(facts: Facts, wrong: OwnedMachine, row: Machine): Step {
  const { attempt } = wrong;
  const missing = confirmDisowned(facts, wrong) ?? unconfirmed(facts, row);
  if (missing) return missing;
  const machine = { instanceId: row.id, attempt };
  const { status } = facts.object;
  const { offerId, offerIndex, offerPricePerHour, specHash, gpu, image, rentals, cost } = status ?? {};
  return decision({
    rule: 'move-record',
    because: 'Another machine than the recorded one carries the label of the purchase.',
    record: { type: 'status' },
    fields: {
      ...rentedFields(facts, machine, facts.clock.now),
      ...omitUndefined({ offerId, offerIndex, offerPricePerHour, specHash, gpu, image, rentals, cost }),
      ...omitUndefined({ facts: status?.facts, machineId: row.machineId, hostId: row.hostId }),
    },
    finding: {
      phase: 'Provisioning',
      reason: 'Provisioning',
      machine: { type: 'booting', origin: 'Rented', reason: 'Provisioning' },
    },
    events: [noteDisowned(wrong, `Machine ${row.id} carries it and is recorded instead.`)],
    requeue: { afterMs: 0 },
  });
}

/** Status fields of a found machine from row and intent: cost, address, and the purchase. */
function foundFields(facts: Facts, stage: Extract<Stage, { type: 'found' }>): StatusFields {
  const {
    purchase: { intent },
  } = facts;
  const row = foundRow(facts, stage);
  const from = (row && beganAt(facts, row)) ?? facts.clock.serviceNow ?? facts.clock.now;
  const fields = rentedFields(facts, stage, from);
  const { machineId, hostId, image } = row ?? {};
  const pricePerHour = agreedPrice(facts, row);
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

function foundRow(
  { machine: { list } }: Pick<Facts, 'machine'>,
  { instanceId }: { readonly instanceId: string },
): Machine | undefined {
  const rows = [...(list?.labelled ?? []).map(({ row }) => row), ...(list?.unowned ?? [])];
  return rows.find(({ id }) => id === instanceId);
}

/** Returns the price of a found machine if two lists and the read of its label agree on it, and its spec allows it. */
function agreedPrice(
  { object, machine: { labelReads } }: Pick<Facts, 'object' | 'machine'>,
  row: Machine | undefined,
): number | undefined {
  const read = row && labelReads.get(row.id);
  if (!row || read === undefined || typeof read === 'string' || row.unsettled.has('pricePerHour'))
    return undefined;
  const most = maxPrice(object) ?? Number.POSITIVE_INFINITY;
  const price = read.pricePerHour === row.pricePerHour ? row.pricePerHour : undefined;
  return price !== undefined && price <= most ? price : undefined;
}

/** Fields in which a machine without a price counts at the maximum of the spec, also before a list shows it. */
export function unlessPriced(facts: Pick<Facts, 'object' | 'account'>, fields: StatusFields): StatusFields {
  if (fields.cost === undefined || fields.offerPricePerHour !== undefined) return fields;
  return { ...fields, cost: withAssumedPrice(fields.cost, assumedPrice(facts, fields)) };
}

/** Returns the fields of a newly held machine: proof of ownership, and the rental for the brake. */
export function rentedFields(
  facts: Pick<Facts, 'object' | 'account' | 'purchase' | 'clock'>,
  { instanceId, attempt }: OwnedMachine,
  from: number,
): StatusFields {
  const fields = withoutMachine(carriedFields(facts));
  const account = facts.account.facts;
  return {
    ...fields,
    attempt,
    instanceId,
    ...(account === undefined
      ? {}
      : {
          claim: makeClaim(facts.purchase.identity.keys, {
            login: account.login,
            uid: facts.purchase.uid,
            attempt,
            instanceId,
          }),
        }),
    firstRentedAt: fields.firstRentedAt ?? formatTime(from),
    rentals: withRental(fields.rentals, facts.clock.now),
    cost: beginCost(fields.cost, from, undefined),
  };
}

const MAX_GPU_NAME = 128;

/** Status fields from the offer and the answer. */
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
