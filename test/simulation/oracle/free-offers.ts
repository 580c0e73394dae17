import { parseDollars } from '../../../src/lib/money.ts';
import type { Machine, Offer } from '../../../src/simulator/tables/market.ts';
import { idAt, type JsonObject, listAt, metadataOf, objectAt, objectsAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import { conditionOf, type Scene } from './scene.ts';

/** Requirements that the oracle can judge. */
const JUDGED: ReadonlySet<string> = new Set([
  ...['gpuNames', 'gpuCount', 'maxPricePerHour', 'verified', 'pricing', 'allowUnknownPrice', 'order'],
]);
/** The disk costs something beside the GPU. */
const PRICE_MARGIN = 1.1;

/**
 * Returns true if an offer of the ledger's catalogue is free, on a running host, not avoided, and certainly matches.
 */
export function hasOffer(scene: Scene, object: JsonObject): boolean {
  const free = freeOffers(scene).filter(isAllowed(scene, object));
  return alternativesOf(object).some(
    (requirements) => isJudged(requirements) && free.some(satisfies(requirements)),
  );
}

/**
 * Returns true if an object says that it found no offer, and the ledger has none that could match and that neither the
 * object nor its account avoids: a host that failed is avoided for a day. Requirements that the oracle cannot judge
 * count as satisfied: in doubt the object should have found one.
 */
export function waitsForOffers(scene: Scene, object: JsonObject): boolean {
  const { deletionTimestamp } = metadataOf(object);
  const { instanceId } = statusAt(object);
  if (deletionTimestamp !== undefined || instanceId !== undefined) return false;
  if (conditionOf(object, 'Ready')?.['reason'] !== 'NoOffers') return false;
  const free = freeOffers(scene).filter(isAllowed(scene, object));
  return !alternativesOf(object).some((requirements) => free.some(satisfies(requirements)));
}

function alternativesOf(object: JsonObject): readonly JsonObject[] {
  return objectsAt(objectAt(object, 'spec'), 'offers');
}

function freeOffers(scene: Scene): readonly Offer[] {
  const { offers, machines } = scene.world.market.store.current().tables;
  return Object.values(offers).filter((offer) => offer.rentedBy === null && isUp(machines[offer.machineId]));
}

/** Returns a test for offers that neither the object nor its account avoids, by offer, machine or host. */
function isAllowed(scene: Scene, object: JsonObject): (offer: Offer) => boolean {
  const avoided = [object, scene.accountOf(object)].flatMap((each) => objectsAt(statusAt(each), 'avoid'));
  const avoids = (kind: string, id: number) =>
    avoided.some((entry) => entry['kind'] === kind && idAt(entry, 'id') === id);
  return ({ id, machineId, hostId }) =>
    !avoids('Offer', id) && !avoids('Machine', machineId) && !avoids('Host', hostId);
}

const isUp = (machine: Machine | undefined): boolean => machine?.state === 'up' && machine.listed;

function isJudged(requirements: JsonObject): boolean {
  const { maxPricePerHour, pricing } = requirements;
  return (
    maxPricePerHour !== undefined &&
    pricing !== 'Interruptible' &&
    Object.keys(requirements).every((key) => JUDGED.has(key))
  );
}

/**
 * Returns a test by the requirements that the oracle can evaluate; a price that only the account limits is not among
 * them.
 */
function satisfies(requirements: JsonObject): (offer: Offer) => boolean {
  const names = listAt(requirements, 'gpuNames');
  const cap = parseDollars(String(requirements['maxPricePerHour'])) ?? Number.POSITIVE_INFINITY;
  return ({ columns, gpuPricePerHour }) =>
    gpuPricePerHour * PRICE_MARGIN <= cap &&
    (names.length === 0 || names.includes(String(columns['gpu_name']))) &&
    columns['num_gpus'] === (requirements['gpuCount'] ?? 1) &&
    (requirements['verified'] === false || columns['verification'] === 'verified');
}
