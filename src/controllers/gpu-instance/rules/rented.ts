import { listsAgree, type Machine } from '../../../accounts/beliefs/machine.ts';
import { beginCost, maxPrice, withAssumedPrice } from '../../../instance/cost.ts';
import { withRental } from '../../../instance/rentals.ts';
import { maxLifetimeOf, runAfterRental } from '../../../instance/run.ts';
import { omitUndefined } from '../../../lib/json.ts';
import { formatDollars } from '../../../lib/money.ts';
import { fittingText } from '../../../lib/text.ts';
import { formatTime } from '../../../lib/time.ts';
import type { Fuses } from '../../../market/self-end.ts';
import { makeClaim } from '../../../ownership/claim.ts';
import type { RentalIntent } from '../../../ownership/intent.ts';
import type { EventNote } from '../../../runtime/events.ts';
import { assumedPrice, beganAt } from '../billing.ts';
import { decision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { ONLY_OPERATOR } from '../fuse.ts';
import { carriedFields, withoutMachine } from '../machine-fields.ts';
import { foundConfirmation, mustBeListed } from '../record-proof.ts';
import type { Stage } from '../stage.ts';
import type { Decision, OwnedMachine, RentedFacts, StatusFields, Step } from '../types.ts';
import { keepsNoLabels } from '../unlabelled-proof.ts';
import { awaitSecondLabel, confirmDisowned, noteDisowned } from './disowned.ts';

/** Records the result of a rental: ID, attempt and claim in one status write, before any other action. */
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
      ...(mustBeListed(facts) && { unconfirmed: true }),
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
      ...withoutFuse(rented),
    ],
    // Once a list shows its label, rentals of the account may run in parallel.
    requeue: { onList: true, ...(facts.account.facts?.labelEcho === 'unknown' && { asksForList: 'atOnce' }) },
  });
}

/** Returns the event that only the operator ends this machine at `maxLifetime`. */
function withoutFuse({ fuse }: RentedFacts): readonly EventNote[] {
  if (fuse?.type !== 'none') return [];
  return [{ type: 'Warning', reason: fuse.reason, action: 'Renting', note: fuse.detail }];
}

/** Records a machine that was found instead of answered: after a crash, a lost reply or a restored cluster. */
export function saveFound(facts: Facts, stage: Extract<Stage, { type: 'found' }>): Step {
  const row = foundRow(facts, stage);
  // A single list may show the label of one machine at another machine.
  if (row && !listsAgree(row, 'label')) return awaitSecondLabel();
  if (facts.machine.disowned && row) return moveRecord(facts, facts.machine.disowned, row);
  return unconfirmed(facts, row) ?? recordFound(facts, stage);
}

/** Returns the missing read before a machine is recorded, or a wait if it does not agree. */
function unconfirmed(facts: Pick<Facts, 'machine' | 'account'>, row: Machine | undefined): Step | undefined {
  const label = row ? foundConfirmation(facts, row) : 'confirmed';
  if (label === 'confirmed') return undefined;
  return label === 'unconfirmed' ? awaitSecondLabel() : label;
}

/** Facts about a found machine: this process remembers nothing of its rental. */
type FoundFacts = Omit<Facts, 'memory' | 'budgetStop'>;

function recordFound(facts: FoundFacts, stage: Extract<Stage, { type: 'found' }>): Decision {
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
      ...foundWithoutFuse(facts, stage),
    ],
    requeue: { afterMs: 0 },
  });
}

/**
 * Moves the record from the machine that the reply to the rental named to the machine with the label of the purchase.
 * The cost of the purchase stays unchanged, and so does the machine that was named.
 */
function moveRecord(facts: Facts, wrong: OwnedMachine, row: Machine): Step {
  const { attempt } = wrong;
  const missing = confirmDisowned(facts, wrong) ?? unconfirmed(facts, row);
  if (missing) return missing;
  const machine = { instanceId: row.id, attempt };
  const { status } = facts.object;
  const { offerId, offerIndex, offerPricePerHour, specHash, gpu, image, rentals, cost, selfEnd } =
    status ?? {};
  return decision({
    rule: 'move-record',
    because: 'Lists show that the purchase created another machine than the recorded one.',
    record: { type: 'status' },
    fields: {
      ...rentedFields(facts, machine, facts.clock.believedNow),
      ...omitUndefined({ offerId, offerIndex, offerPricePerHour, specHash, gpu, image, rentals, cost }),
      ...omitUndefined({ selfEnd }),
      ...omitUndefined({ facts: status?.facts, machineId: row.machineId, hostId: row.hostId }),
    },
    finding: {
      phase: 'Provisioning',
      reason: 'Provisioning',
      machine: { type: 'booting', origin: 'Rented', reason: 'Provisioning' },
    },
    events: [
      noteDisowned(
        facts,
        wrong,
        `Machine ${row.id} ${keepsNoLabels(facts) ? 'is new' : 'carries it'} and is recorded instead.`,
      ),
    ],
    requeue: { afterMs: 0 },
  });
}

/** Returns the status fields of a found machine from its row and the intent: cost, address, and the purchase. */
function foundFields(facts: FoundFacts, stage: Extract<Stage, { type: 'found' }>): StatusFields {
  const row = foundRow(facts, stage);
  const from = (row && beganAt(facts, row)) ?? facts.clock.believedNow;
  const fields = rentedFields(facts, stage, from);
  const { machineId, hostId, image } = row ?? {};
  const pricePerHour = agreedPrice(facts, row);
  const bought = intentOf(facts, stage);
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
    ...(bought?.fuses && { selfEnd: unprovenEnd(bought.fuses) }),
  });
}

/**
 * Returns the intent of the purchase of a found machine; undefined if the object's intent names another one.
 */
function intentOf(
  { purchase: { intent } }: Pick<Facts, 'purchase'>,
  { attempt }: Pick<OwnedMachine, 'attempt'>,
): RentalIntent | undefined {
  return intent.type === 'intent' && intent.intent.attempt === attempt ? intent.intent : undefined;
}

/** Returns the event of {@link withoutFuse} for a machine whose rental brought no answer. */
function foundWithoutFuse(
  facts: Pick<Facts, 'object' | 'purchase'>,
  machine: Extract<Stage, { type: 'found' }>,
): readonly EventNote[] {
  const { spec } = facts.object;
  const isDesired = maxLifetimeOf(spec) !== undefined && spec.deletionPolicy === 'Destroy';
  if (!isDesired || intentOf(facts, machine)?.fuses !== undefined) return [];
  const note = `${ONLY_OPERATOR}: no record shows a fuse of machine ${machine.instanceId}.`;
  return [{ type: 'Warning', reason: 'NoFuse', action: 'Renting', note }];
}

function unprovenEnd(fuses: Fuses): StatusFields['selfEnd'] {
  return { ...fuses, proof: 'Unproven' };
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

/** Returns the fields with an assumed price, the maximum of the spec, if the machine's price is unknown. */
export function unlessPriced(facts: Pick<Facts, 'object' | 'account'>, fields: StatusFields): StatusFields {
  if (fields.cost === undefined || fields.offerPricePerHour !== undefined) return fields;
  return { ...fields, cost: withAssumedPrice(fields.cost, assumedPrice(facts, fields)) };
}

/** Returns the fields of a newly acquired machine: its claim, and the rental for the rate limit. */
export function rentedFields(
  facts: Pick<Facts, 'object' | 'account' | 'purchase' | 'clock'>,
  { instanceId, attempt }: OwnedMachine,
  from: number,
): StatusFields {
  const fields = withoutMachine(carriedFields(facts));
  const account = facts.account.facts;
  const run = runAfterRental(facts.object, fields.attempt !== attempt);
  return {
    ...fields,
    ...(run && { run }),
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

/** Returns the status fields from the offer and the response. */
function offerFields({
  offer,
  offerIndex,
  pricePerHour,
  specHash,
  facts,
  fuse,
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
    selfEnd: fuse?.type === 'fuse' ? unprovenEnd(fuse.fuses) : undefined,
    image,
    sealedKey,
  });
}
